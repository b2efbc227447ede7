"""Small published figures that ship with the package, each with its source."""

from evalstats.datasets.tables import LiveMix, load, names, rutbench_live_mix, tau_airline, tenacious_held_out

__all__ = ["LiveMix", "load", "names", "rutbench_live_mix", "tau_airline", "tenacious_held_out"]
