"""How all models stand: scores, pairs, rank sets, tiers, and which models can be compared with which."""
