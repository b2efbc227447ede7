"""Ratings from votes between two models: strengths, ties, what is certain, and whether the votes can be trusted."""
