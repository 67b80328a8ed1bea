"""The suite file format: text in, `Suite` out. Knows no model, no network and no pytest."""
