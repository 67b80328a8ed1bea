"""What a run is: calls, transcripts, results, summaries, gates, a comparison, the document.

These types are the record from the scorer to the last byte of a report: history, JSON, reports, the page
and pytest-xdist carry them, and `docs/results.schema.json` is generated from them. Nothing here computes
a score or a verdict.
"""
