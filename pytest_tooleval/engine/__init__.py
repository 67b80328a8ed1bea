"""The asyncio engine: asks models, keeps limits, returns transcripts. Knows no pytest."""
