"""From scores to verdicts: of a case, over many cases, against a baseline."""
