"""How often evalstats is wrong, by simulation. `make validate` runs all; `python -m dev.validation NAME` runs one question.

Each module holds one question: how data are made, which methods are tried on them, what is promised. Every cell has a
seed of its own, so that one cell run alone gives the numbers it gives among the others, on any number of processors.
"""
