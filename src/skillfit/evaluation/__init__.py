"""Suites: where metrics meet models, one suite a file."""
