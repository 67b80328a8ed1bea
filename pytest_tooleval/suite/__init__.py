"""The suite file format: text in, `Suite` out. Independent of models, the network and pytest."""
