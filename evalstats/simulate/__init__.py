"""Known truths written in real formats: for demonstrations, for power, for validation."""

from evalstats.simulate.pairs import SimulatedPairs, simulate_pairs
from evalstats.simulate.published import write_tau_airline, write_tenacious_traces
from evalstats.simulate.rut_models import RutModel, published_models
from evalstats.simulate.rut_truth import RutEffects
from evalstats.simulate.rutbench import rutbench_truth, simulate_rutbench, write_rutbench

__all__ = [
    "RutEffects",
    "RutModel",
    "SimulatedPairs",
    "published_models",
    "rutbench_truth",
    "simulate_pairs",
    "simulate_rutbench",
    "write_rutbench",
    "write_tau_airline",
    "write_tenacious_traces",
]
