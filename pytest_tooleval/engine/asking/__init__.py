"""Queries one model, with recording, retries, limits and fallbacks."""
