"""How a value from a model compares with the one that a case expects."""
