"""Faults put into `evalstats/stats` on purpose, to see whether its tests notice: `python -m dev.mutation`."""
