"""The asyncio engine: queries models within limits, and returns transcripts. Does not know pytest."""
