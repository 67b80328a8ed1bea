"""Conversations that ran elsewhere: a module for each format, and how cases find their runs."""
