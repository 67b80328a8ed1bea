"""The asyncio engine: asks models within limits and returns transcripts. Does not know pytest."""
