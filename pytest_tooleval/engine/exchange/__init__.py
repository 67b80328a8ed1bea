"""What a model is asked, what comes back, and what can go wrong."""
