"""Queries one model. Recording, retries, limits and fallbacks wrap each other."""
