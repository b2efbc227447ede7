"""How many items, trials or clusters: from numbers, or from a pilot."""
