"""Limits on requests: concurrency, pace, retries, money."""
