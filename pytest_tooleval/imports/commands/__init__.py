"""What `tooleval import` makes suites of that is no file."""
