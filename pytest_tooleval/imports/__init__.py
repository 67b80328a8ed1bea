"""Suites out of what users have elsewhere: names, drafts of cases, updates, and writing files."""
