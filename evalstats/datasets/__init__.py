"""Small published figures that ship with the package, each with its source."""

from evalstats.datasets.tables import load, names, tau_airline, tenacious_held_out

__all__ = ["load", "names", "tau_airline", "tenacious_held_out"]
