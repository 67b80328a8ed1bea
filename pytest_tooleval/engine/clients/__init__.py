"""The clients that query models: one module per protocol or library, and shared code."""
