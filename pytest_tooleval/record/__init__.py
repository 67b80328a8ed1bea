"""The record of a run: calls, transcripts, results, summaries, gates, comparison, document.

The scorers, pytest-xdist, the history, the reports and the web UI all use these types, and
`docs/results.schema.json` is generated from them. Nothing here computes a score or a verdict.
"""
