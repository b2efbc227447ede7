"""Known truths written in real formats: for demonstrations, for power, for validation.

What is drawn says that it is simulated; the same numbers and seed give the same rows.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstats.simulate.arena import ArenaAttack, arena_truth, simulate_arena
    from evalstats.simulate.arena_world import ArenaDesign, ArenaEffects
    from evalstats.simulate.draws import simulate_pairs
    from evalstats.simulate.lab_live import simulate_lab_live
    from evalstats.simulate.rutbench import rutbench_truth, simulate_rutbench, write_rutbench

_WHERE = {
    **dict.fromkeys(("ArenaAttack", "arena_truth", "simulate_arena"), "arena"),
    **dict.fromkeys(("ArenaDesign", "ArenaEffects"), "arena_world"),
    "simulate_pairs": "draws",
    "simulate_lab_live": "lab_live",
    **dict.fromkeys(("rutbench_truth", "simulate_rutbench", "write_rutbench"), "rutbench"),
}

__all__ = [
    "ArenaAttack",
    "ArenaDesign",
    "ArenaEffects",
    "arena_truth",
    "rutbench_truth",
    "simulate_arena",
    "simulate_lab_live",
    "simulate_pairs",
    "simulate_rutbench",
    "write_rutbench",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
