"""Whom do live users prefer: ratings from votes, what is certain of them, and whether the votes can be trusted."""
