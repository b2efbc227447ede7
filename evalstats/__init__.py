"""evalstats turns LLM-evaluation results into conclusions one can defend.

The whole public interface is listed here; nothing heavy is imported until it is used.
"""

from importlib import import_module
from os import environ
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstats import datasets, plots
    from evalstats.analysis.arena.arena import arena
    from evalstats.analysis.arena.result import ArenaRanking
    from evalstats.analysis.audit.audit import audit
    from evalstats.analysis.audit.result import Audit
    from evalstats.analysis.compare.compare import compare
    from evalstats.analysis.compare.result import Comparison, Comparisons
    from evalstats.analysis.contamination.contamination import contamination
    from evalstats.analysis.contamination.result import ContaminationCheck
    from evalstats.analysis.dashboard.dashboard import dashboard
    from evalstats.analysis.dashboard.result import Dashboard
    from evalstats.analysis.frontier.frontier import frontier
    from evalstats.analysis.frontier.result import Frontier
    from evalstats.analysis.gap.gap import gap
    from evalstats.analysis.gap.result import LabLiveGap
    from evalstats.analysis.judges.judges import judges
    from evalstats.analysis.judges.result import JudgeReport
    from evalstats.analysis.leaderboard.leaderboard import leaderboard
    from evalstats.analysis.leaderboard.result import Leaderboard
    from evalstats.analysis.mixed.means import Means
    from evalstats.analysis.mixed.mixed import mixed
    from evalstats.analysis.mixed.result import MixedModel
    from evalstats.analysis.overview.overview import overview
    from evalstats.analysis.overview.result import Overview
    from evalstats.analysis.power.power import power
    from evalstats.analysis.power.result import PowerPlan
    from evalstats.analysis.result import load_result
    from evalstats.analysis.scenarios.result import ScenarioModel
    from evalstats.analysis.scenarios.scenarios import scenarios
    from evalstats.analysis.score.result import Score
    from evalstats.analysis.score.score import score
    from evalstats.errors import (
        CannotAnswerError,
        EvalStatsError,
        EvalStatsWarning,
        InputError,
        RenderError,
        StoreError,
        UnreadableFileError,
    )
    from evalstats.exporters.export import export
    from evalstats.loaders.column_map import ColumnMap
    from evalstats.loaders.declarations import read_plan
    from evalstats.loaders.frames import from_frame, from_votes
    from evalstats.loaders.ratings import from_ratings
    from evalstats.loaders.registry import read
    from evalstats.loaders.scan import scan
    from evalstats.report.render import report
    from evalstats.schema.columns import glossary
    from evalstats.schema.data import EvalData
    from evalstats.schema.plan import Plan
    from evalstats.simulate.arena import simulate_arena
    from evalstats.simulate.rutbench import simulate_rutbench
    from evalstats.store.read import open_store

_WHERE = {
    "ArenaRanking": "evalstats.analysis.arena.result",
    "Audit": "evalstats.analysis.audit.result",
    "CannotAnswerError": "evalstats.errors",
    "ColumnMap": "evalstats.loaders.column_map",
    "Comparison": "evalstats.analysis.compare.result",
    "Comparisons": "evalstats.analysis.compare.result",
    "ContaminationCheck": "evalstats.analysis.contamination.result",
    "Dashboard": "evalstats.analysis.dashboard.result",
    "EvalData": "evalstats.schema.data",
    "EvalStatsError": "evalstats.errors",
    "EvalStatsWarning": "evalstats.errors",
    "Frontier": "evalstats.analysis.frontier.result",
    "InputError": "evalstats.errors",
    "JudgeReport": "evalstats.analysis.judges.result",
    "LabLiveGap": "evalstats.analysis.gap.result",
    "Leaderboard": "evalstats.analysis.leaderboard.result",
    "Means": "evalstats.analysis.mixed.means",
    "MixedModel": "evalstats.analysis.mixed.result",
    "Overview": "evalstats.analysis.overview.result",
    "Plan": "evalstats.schema.plan",
    "PowerPlan": "evalstats.analysis.power.result",
    "RenderError": "evalstats.errors",
    "ScenarioModel": "evalstats.analysis.scenarios.result",
    "Score": "evalstats.analysis.score.result",
    "StoreError": "evalstats.errors",
    "UnreadableFileError": "evalstats.errors",
    "arena": "evalstats.analysis.arena.arena",
    "audit": "evalstats.analysis.audit.audit",
    "compare": "evalstats.analysis.compare.compare",
    "contamination": "evalstats.analysis.contamination.contamination",
    "dashboard": "evalstats.analysis.dashboard.dashboard",
    "export": "evalstats.exporters.export",
    "from_frame": "evalstats.loaders.frames",
    "from_ratings": "evalstats.loaders.ratings",
    "from_votes": "evalstats.loaders.frames",
    "frontier": "evalstats.analysis.frontier.frontier",
    "gap": "evalstats.analysis.gap.gap",
    "glossary": "evalstats.schema.columns",
    "judges": "evalstats.analysis.judges.judges",
    "leaderboard": "evalstats.analysis.leaderboard.leaderboard",
    "load_result": "evalstats.analysis.result",
    "mixed": "evalstats.analysis.mixed.mixed",
    "open_store": "evalstats.store.read",
    "overview": "evalstats.analysis.overview.overview",
    "power": "evalstats.analysis.power.power",
    "read": "evalstats.loaders.registry",
    "read_plan": "evalstats.loaders.declarations",
    "scan": "evalstats.loaders.scan",
    "scenarios": "evalstats.analysis.scenarios.scenarios",
    "score": "evalstats.analysis.score.score",
    "simulate_arena": "evalstats.simulate.arena",
    "simulate_rutbench": "evalstats.simulate.rutbench",
}

__all__ = [
    "ArenaRanking",
    "Audit",
    "CannotAnswerError",
    "ColumnMap",
    "Comparison",
    "Comparisons",
    "ContaminationCheck",
    "Dashboard",
    "EvalData",
    "EvalStatsError",
    "EvalStatsWarning",
    "Frontier",
    "InputError",
    "JudgeReport",
    "LabLiveGap",
    "Leaderboard",
    "Means",
    "MixedModel",
    "Overview",
    "Plan",
    "PowerPlan",
    "RenderError",
    "ScenarioModel",
    "Score",
    "StoreError",
    "UnreadableFileError",
    "arena",
    "audit",
    "compare",
    "contamination",
    "dashboard",
    "datasets",
    "export",
    "from_frame",
    "from_ratings",
    "from_votes",
    "frontier",
    "gap",
    "glossary",
    "judges",
    "leaderboard",
    "load_result",
    "mixed",
    "open_store",
    "overview",
    "plots",
    "power",
    "read",
    "read_plan",
    "report",
    "scan",
    "scenarios",
    "score",
    "simulate_arena",
    "simulate_rutbench",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    if name in ("datasets", "plots", "report"):
        return import_module(f"evalstats.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("evalstats-toolkit")
    message = f"module 'evalstats' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)


# A page that a command makes names options as they are typed; its cells run in a process of their own.
if "EVALSTATS_OPTIONS_TYPED" in environ:
    _typed = import_module("evalstats.cli.advice").on_the_shell()
    _typed.__enter__()
