"""Where a command runs: the project's root and settings, pytest as a child."""
