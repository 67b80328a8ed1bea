"""Sources of suites for `tooleval import`, other than files."""
