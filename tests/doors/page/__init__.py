"""Pages opened in a real browser."""
