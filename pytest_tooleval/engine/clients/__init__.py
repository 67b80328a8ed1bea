"""What asks a model: one module per protocol or library, and what they share."""
