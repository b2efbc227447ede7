"""Rates over another mix of cells: decomposition of a gap, weights, and errors by linearisation."""
