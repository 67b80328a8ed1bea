"""The checkout in which a command runs: the state of git, and the job of a CI service."""
