"""Where a command runs: the project's root and settings, the job of a CI service, pytest as a child."""
