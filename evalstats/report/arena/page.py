"""What the page of an arena is about: the votes it was given, and the ranking of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.loaders.plan_file import read_plan
from evalstats.report.again import call_of, plan_again
from evalstats.report.arena.names import arena_page_names, with_arena_names
from evalstats.report.handover import read_data
from evalstats.report.opened import files_of, reading_of, shown_day
from evalstats.schema.data import EvalData

_SIMULATED = "simulate_arena(6000, seed=1, design=ArenaDesign(models=10))"
_USUAL: dict[str, object] = {
    "ties": "half", "side": False, "both_bad": "tie", "scale": "elo", "online": False, "checks": True, "seed": 0,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaPage:
    """Whom users prefer, and what the page says around it.

    Attributes
    ----------
    found
        Names in it are as the page shows them: long ones shortened.
    reproduce
        Code that gives the same result.
    full_names
        Shortened names of `found` with what they stand for.
    files
        Name of the file of every run.
    """

    found: ArenaRanking
    engine: str = ""
    rendered: date
    reproduce: str = ""
    full_names: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def open_page(
    *,
    store: str = "",
    ties: str = "half",
    cluster: str | Sequence[str] | None = None,
    covariates: str | Sequence[str] | None = None,
    side: bool = False,
    by: str | None = None,
    both_bad: str = "tie",
    prior: float | None = None,
    anchor: str | None = None,
    scale: str = "elo",
    models: str | Sequence[str] | None = None,
    conf_level: float | None = None,
    n_resamples: int | None = None,
    online: bool = False,
    checks: bool = True,
    plan: str | Path | None = None,
    seed: int = 0,
    reading: str = "",
    engine: str = "",
    rendered: str = "",
) -> ArenaPage:
    """Read the votes and ask whom users prefer.

    Parameters
    ----------
    store
        Folder of a store or of tables; empty for simulated votes, so that the page can be rendered as it stands.
    ties, cluster, covariates, side, by, both_bad, prior, anchor, scale, models, conf_level, n_resamples, online, checks, seed
        As `evalstats.arena` takes them.
    plan
        Path of an `evalstats.toml`.
    reading
        Python expression that reads the votes, for the code that repeats the analysis; further lines may filter `data`.
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.

    Raises
    ------
    EvalStatsError
        Whatever `evalstats.arena` raises.
    """
    from evalstats.analysis.arena.arena import arena

    data = read_data(store) if store else _simulated()
    options: dict[str, Any] = {
        "ties": ties,
        "cluster": _one_or_more(cluster),
        "covariates": _one_or_more(covariates),
        "side": side,
        "by": by,
        "both_bad": both_bad,
        "prior": prior,
        "anchor": anchor,
        "scale": scale,
        "models": [models] if isinstance(models, str) else models or None,
        "conf_level": conf_level,
        "n_resamples": n_resamples,
        "online": online,
        "checks": checks,
        "seed": seed,
    }
    found = arena(data, **options, plan=read_plan(plan) if plan else None)
    names = arena_page_names(found)
    return ArenaPage(
        found=with_arena_names(found, names),
        engine=engine,
        rendered=shown_day(rendered),
        reproduce=code_again(options, plan, reading_of(store, reading)),
        full_names=tuple((short, name) for name, short in names.items()),
        files=files_of(data),
    )


def _simulated() -> EvalData:
    from evalstats.simulate.arena import simulate_arena
    from evalstats.simulate.arena_world import ArenaDesign

    return simulate_arena(6000, seed=1, design=ArenaDesign(models=10))


def _one_or_more(names: str | Sequence[str] | None) -> str | list[str] | None:
    if not names:
        return None
    return names if isinstance(names, str) else [str(name) for name in names]


def code_again(options: Mapping[str, Any], plan: str | Path | None, reading: str) -> str:
    """Return lines of Python that give the same result; without a way of reading, those that simulate the votes."""
    asked = {**options, "plan": plan_again(plan)}
    call = call_of("arena", [(name, value, _USUAL.get(name)) for name, value in asked.items()])
    if reading:
        filtered = ["from dataclasses import replace", "", "import polars as pl"] if "pl.col(" in reading else []
        return "\n".join([*filtered, "import evalstats as es", "", f"data = {reading}", call])
    first = ["import evalstats as es", "from evalstats.simulate.arena import simulate_arena"]
    return "\n".join(
        [*first, "from evalstats.simulate.arena_world import ArenaDesign", "", f"data = {_SIMULATED}", call]
    )
