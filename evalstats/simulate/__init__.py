"""Known truths written in real formats: for demonstrations, for power, for validation."""

from evalstats.simulate.arena import arena_truth, simulate_arena, write_arena
from evalstats.simulate.arena_events import ArenaAttack
from evalstats.simulate.arena_sampling import SamplingRule
from evalstats.simulate.arena_world import ArenaDesign, ArenaEffects
from evalstats.simulate.devicerepair import (
    RepairEffects,
    RepairModel,
    devicerepair_truth,
    simulate_devicerepair,
    simulated_repair_models,
    write_devicerepair,
)
from evalstats.simulate.harmamp import (
    HarmEffects,
    HarmModel,
    harmamp_truth,
    simulate_harmamp,
    simulated_harm_models,
    write_harmamp,
)
from evalstats.simulate.lab_live import LabLive, simulate_lab_live, write_lab_live
from evalstats.simulate.lab_live_truth import LabLiveTruth
from evalstats.simulate.lab_live_world import LabLiveDesign
from evalstats.simulate.pairs import SimulatedPairs, simulate_pairs
from evalstats.simulate.published import write_tau_airline, write_tenacious_traces
from evalstats.simulate.rutbench import rutbench_truth, simulate_rutbench, write_rutbench
from evalstats.simulate.rutbench_truth import RutEffects, RutModel, published_models

__all__ = [
    "ArenaAttack",
    "ArenaDesign",
    "ArenaEffects",
    "HarmEffects",
    "HarmModel",
    "LabLive",
    "LabLiveDesign",
    "LabLiveTruth",
    "RepairEffects",
    "RepairModel",
    "RutEffects",
    "RutModel",
    "SamplingRule",
    "SimulatedPairs",
    "arena_truth",
    "devicerepair_truth",
    "harmamp_truth",
    "published_models",
    "rutbench_truth",
    "simulate_arena",
    "simulate_devicerepair",
    "simulate_harmamp",
    "simulate_lab_live",
    "simulate_pairs",
    "simulate_rutbench",
    "simulated_harm_models",
    "simulated_repair_models",
    "write_arena",
    "write_devicerepair",
    "write_harmamp",
    "write_lab_live",
    "write_rutbench",
    "write_tau_airline",
    "write_tenacious_traces",
]
