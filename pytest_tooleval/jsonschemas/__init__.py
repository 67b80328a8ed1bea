"""JSON Schema: what providers take, what an argument must be, an example value."""
