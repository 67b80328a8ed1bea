"""Conversations that ran elsewhere: a module for each format, and the search for their cases."""
