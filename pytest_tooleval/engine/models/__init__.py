"""Models and their prices."""
