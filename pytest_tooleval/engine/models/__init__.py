"""Which models there are, and what they cost."""
