"""Small published figures that ship with the package, each with its source, and stored simulations of our own."""

from evalstats.datasets.arena_sampling import load_arena_sampling
from evalstats.datasets.published_claims import load_published_claims
from evalstats.datasets.tables import LiveMix, load, names, rutbench_live_mix, tau_airline, tenacious_held_out
from evalstats.datasets.tenacious import load_tenacious
from evalstats.datasets.validation import load_validation, validation_names

__all__ = [
    "LiveMix",
    "load",
    "load_arena_sampling",
    "load_published_claims",
    "load_tenacious",
    "load_validation",
    "names",
    "rutbench_live_mix",
    "tau_airline",
    "tenacious_held_out",
    "validation_names",
]
