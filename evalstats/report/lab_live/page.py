"""What the page of lab and live is about: both sides as they were given, and what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.errors import InputError
from evalstats.loaders.plan_file import read_plan
from evalstats.report.handover import read_data
from evalstats.report.lab_live.again import SHIPPED_MIX, Reading, code_again
from evalstats.report.lab_live.names import lab_live_page_names, with_lab_live_names
from evalstats.report.opened import files_of, names_given, reading_of, shown_day
from evalstats.schema.data import EvalData
from evalstats.schema.live_mix import LiveMix

Aliases = str | Path | Mapping[str, str]
Mix = str | Path | Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabLivePage:
    """Whether the lab predicts the live world, and what the page says around it.

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

    found: LabLiveGap
    engine: str = ""
    rendered: date
    reproduce: str = ""
    full_names: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def open_page(
    *,
    store: str = "",
    lab: str = "",
    live: str = "",
    metric: str | None = None,
    lab_metric: str | None = None,
    live_metric: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] = "auto",
    lab_cluster: str | Sequence[str] | None = None,
    live_cluster: str | Sequence[str] | None = None,
    aliases: Aliases | None = None,
    margin: float | str | None = None,
    mix: Mix | None = None,
    models: str | Sequence[str] | None = None,
    same_scale: bool | None = None,
    conf_level: float | None = None,
    top: Sequence[int | str] = (5, 10),
    n_resamples: int = 2000,
    min_cell: int = 10,
    plan: str | Path | None = None,
    seed: int = 0,
    reading: str = "",
    lab_reading: str = "",
    live_reading: str = "",
    engine: str = "",
    rendered: str = "",
) -> LabLivePage:
    """Read both sides and ask whether the lab predicts the live world.

    Parameters
    ----------
    store
        Folder of a store or of tables with both sides, told apart by their column setting.
    lab, live
        A folder for each side instead. With neither, both are simulated, so that the page can be rendered as it stands.
    metric, lab_metric, ..., seed
        As `evalstats.gap` takes them.
    aliases
        Names that are one model, or the path of a file of them.
    mix
        "rutbench", the path of a file, shares by level, or the fields of a `LiveMix`.
    plan
        Path of an `evalstats.toml`.
    reading, lab_reading, live_reading
        Python expressions that read the data, for the code that repeats the analysis; further lines may filter them.
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.

    Raises
    ------
    EvalStatsError
        Whatever `evalstats.gap` raises; also if one side is given without the other.
    """
    from evalstats.analysis.gap.gap import gap

    sides = _sides(store, lab, live)
    options: dict[str, Any] = {
        "metric": metric,
        "lab_metric": lab_metric,
        "live_metric": live_metric,
        "by": _some(by),
        "cluster": _some(cluster) or "auto",
        "lab_cluster": _some(lab_cluster),
        "live_cluster": _some(live_cluster),
        "margin": margin,
        "models": _some(models, always=True),
        "same_scale": same_scale,
        "conf_level": conf_level,
        "top": tuple(int(k) for k in top),
        "n_resamples": n_resamples,
        "min_cell": min_cell,
        "seed": seed,
    }
    found = gap(*sides, **options, aliases=_aliases(aliases), mix=_mix(mix, by), plan=read_plan(plan) if plan else None)
    names = lab_live_page_names(found)
    told = Reading(
        both=reading_of(store, reading), lab=reading_of(lab, lab_reading), live=reading_of(live, live_reading)
    )
    return LabLivePage(
        found=with_lab_live_names(found, names),
        engine=engine,
        rendered=shown_day(rendered),
        reproduce=code_again({**options, "aliases": aliases, "mix": mix}, plan, told),
        full_names=tuple((short, name) for name, short in names.items()),
        files=tuple(file for side in sides if side is not None for file in files_of(side)),
    )


def _sides(store: str, lab: str, live: str) -> tuple[EvalData, EvalData | None]:
    if bool(lab) != bool(live) or (store and lab):
        message = (
            "two sides are needed: give lab and live, or one store whose column setting says lab or live; found "
            f"{', '.join(name for name, given in (('store', store), ('lab', lab), ('live', live)) if given)}"
        )
        raise InputError(message)
    if store:
        return read_data(store), None
    return (read_data(lab), read_data(live)) if lab else simulated()


def simulated() -> tuple[EvalData, EvalData]:
    """Simulate both sides with what the page is for: one planted gap, another mix, a scenario that the lab never covers."""
    from evalstats.datasets.tables import rutbench_live_mix
    from evalstats.simulate.lab_live import simulate_lab_live

    mix = rutbench_live_mix().shares
    covered = [level for level in mix if level != "information_overload"]
    both = simulate_lab_live(
        14, gaps={"model-05": -0.18}, live_mix=mix, lab_mix=dict.fromkeys(covered, 1 / len(covered)),
        behaviour_shift=-0.04, n_lab_only=3, n_items=600, n_users=700, seed=1,
    )  # fmt: skip
    return both.lab, both.live


def _some(names: str | Sequence[str] | None, *, always: bool = False) -> str | list[str] | None:
    """Return one name as it is, and several as a list; None where there is none."""
    if isinstance(names, str) and names and not always:
        return names
    found = names_given(names)
    return None if found is None else [str(name) for name in found]


def _aliases(aliases: Aliases | None) -> dict[str, str] | None:
    if not aliases:
        return None
    if isinstance(aliases, Mapping):
        return dict(aliases)
    from evalstats.loaders.declarations import read_aliases

    return read_aliases(aliases)


def _mix(mix: Mix | None, by: str | Sequence[str] | None) -> LiveMix | dict[str, float] | None:
    if not mix:
        return None
    if isinstance(mix, Mapping):
        if isinstance(mix.get("shares"), Mapping):
            return LiveMix(**cast("dict[str, Any]", mix))
        return {level: float(share) for level, share in mix.items()}
    if mix == SHIPPED_MIX:
        from evalstats.datasets.tables import rutbench_live_mix

        return rutbench_live_mix()
    from evalstats.loaders.declarations import read_live_mix

    named = names_given(by)
    return read_live_mix(mix, factor=named[0]) if named and len(named) == 1 else read_live_mix(mix)
