"""Asking one model: recording, retries, limits and fallbacks, one around the other."""
