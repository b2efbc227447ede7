"""Which systems score the most for their cost, time or tokens."""
