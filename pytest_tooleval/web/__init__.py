"""`tooleval ui`: the web page and its API, over the same engine, files and history as pytest's runs."""
