"""What answers the tool calls of a model."""
