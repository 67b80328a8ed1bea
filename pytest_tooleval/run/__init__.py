"""A run without pytest: its jobs, how they are asked, and what their answers are worth."""
