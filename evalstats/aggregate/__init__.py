"""Rows in, the small table of counts and sums out: the only step that touches all rows."""
