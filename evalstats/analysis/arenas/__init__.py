"""Whom do live users prefer? Ratings from votes, with what is certain, what is not, and whether the votes can be trusted."""
