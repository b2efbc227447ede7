"""How reliable a set of scores is: intraclass correlations, generalizability theory, and what more of each facet buys."""
