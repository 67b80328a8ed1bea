"""Compute scores with explanations from a case and a transcript, without pytest or asyncio."""
