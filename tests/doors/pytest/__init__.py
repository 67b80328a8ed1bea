"""Acceptance tests: whole pytest runs over suites, with a scripted agent as the model."""
