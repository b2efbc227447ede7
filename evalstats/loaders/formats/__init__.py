"""Formats of result files, each a declaration in a module of its own."""
