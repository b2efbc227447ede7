"""Who scores the most for the money, the time, the tokens."""
