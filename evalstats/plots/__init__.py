"""Figures: tidy rows in, a matplotlib figure out.

Each takes any frame (Polars, pandas, Arrow, a dict of columns) whose columns have the glossary's names, returns a
`matplotlib.figure.Figure`, and has `ax=` (axes to draw in) and `size=` (inches: the width, or width and height).
"""
