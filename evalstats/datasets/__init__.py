"""Small published figures that ship with the package, each with its source."""

from evalstats.datasets.live_mix import LiveMix, rutbench_live_mix
from evalstats.datasets.tables import load, names, tau_airline, tenacious_held_out

__all__ = ["LiveMix", "load", "names", "rutbench_live_mix", "tau_airline", "tenacious_held_out"]
