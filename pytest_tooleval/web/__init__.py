"""`tooleval ui`: a web page and its API, for the same files and history as pytest."""
