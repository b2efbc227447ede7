"""The tables that every question is asked of: counts and sums of scores, and of votes, made from the rows once."""
