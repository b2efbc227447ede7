"""What could make lab and live differ, or agree, for other reasons than the models: the seven threats, each from the data."""

import math

import numpy as np
import polars as pl
from scipy import stats

from evalstats.analysis.gap.figures import difference_unit
from evalstats.analysis.gap.material import CellSums, Material, Side
from evalstats.analysis.gap.result import Threat
from evalstats.analysis.gap.shared_models import dated_otherwise
from evalstats.document.numbers import number, p_words, plural, several
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of

# A threat is called seen where chance would show as much once in a hundred times: these are checks, not findings.
_CHANCE = 0.01
_FEWEST = 3
_SETTINGS = ("prompt_hash", "temperature", "n_shots", "harness", "harness_version", "task_version", "config")
_SETTING_WORDS = {
    "prompt_hash": "prompts",
    "n_shots": "number of worked examples",
    "harness_version": "harness version",
    "task_version": "task version",
    "config": "configuration",
}
# What is said of a threat, and whether the data show it.
Finding = tuple[str, bool]


def threats_of(material: Material) -> tuple[Threat, ...]:
    """Return the seven threats to the validity of lab against live, each with what these data say of it.

    "seen" where the data show it, else "possible": most cannot be ruled out by data of this kind, so they stand with
    every result.
    """
    found = (
        ("self-selection", "Self-selection", _self_selection(material)),
        ("versions", "Versions and dates", _versions(material)),
        ("prompts", "Prompts and tools", _prompts(material)),
        ("outcome", "Outcome", _outcome(material)),
        ("contamination", "Contamination", _contamination(material)),
        ("judge", "Judge and user", _judge(material)),
        ("survivorship", "Survivorship", _survivorship(material)),
    )
    return tuple(
        Threat(key=key, title=title, text=text, status="seen" if seen else "possible")
        for key, title, (text, seen) in found
    )


def _self_selection(material: Material) -> Finding:
    """Whether live users bring other scenarios than the lab, and other ones to one model than to another."""
    if material.live.kind == "comparisons":
        text = "voters came by themselves with questions of their own; pairs are fair only where the arena drew them at random"
        return text, False
    if material.live.kind == "aggregates":
        return "published numbers do not say who used which model, and for what", False
    base = "live users chose the model and what to do with it"
    cells = material.cells
    if cells is None or cells.live is None or len(cells.levels) < 2:
        return f"{base}; without scenarios on both sides nothing shows how", False
    p = _mixes_differ(cells.live)
    if p is None:
        return f"{base}; they are too few by scenario and model to show how", False
    factors = " and ".join(cells.factors)
    if p < _CHANCE:
        return f"{base}: the mix by {factors} differs from model to model ({p_words(p)})", True
    return f"{base}; the mix by {factors} is not shown to differ from model to model ({p_words(p)})", False


def _mixes_differ(sums: CellSums) -> float | None:
    """Return the p of one mix of cells for all models, by chi-squared on clusters, each counted once in a cell of a model."""
    seen = sums.n > 0
    table = np.zeros((sums.n_models, sums.n_cells))
    np.add.at(table, (sums.model[seen], sums.cell[seen]), 1.0)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    if min(table.shape) < 2:
        return None
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    table = table[:, expected.mean(0) >= 5]  # the usual rule for the law of chi-squared to hold
    if min(table.shape) < 2 or (table.sum(1) == 0).any():
        return None
    return max(float(stats.chi2_contingency(table).pvalue), math.ulp(0.0))


def _versions(material: Material) -> Finding:
    """Whether the two sides are of the same time, and whether names that were joined name the same dated version."""
    lab, live = material.lab, material.live
    dates = [
        f"{name} {side.first_day}" + ("" if side.first_day == side.last_day else f" to {side.last_day}")
        if side.first_day
        else f"{name} undated"
        for name, side in (("lab", lab), ("live", live))
    ]
    # Days are ISO dates, which sort as text.
    known = lab.first_day and lab.last_day and live.first_day and live.last_day
    apart = bool(known) and (str(lab.last_day) < str(live.first_day) or str(live.last_day) < str(lab.first_day))
    told = [", ".join(dates) + (": no day is in both" if apart else "")]
    other = dated_otherwise(tuple(zip(lab.models, live.models, strict=True)))
    if other:
        pairs = [f"{one} (lab) and {two} (live)" for one, two in other]
        told.append(f"{plural(len(other), 'joined name')} with different dates: {several(pairs)}")
    seen = bool(other) or apart
    if not seen:
        told.append("one name may still stand for several versions")
    return "; ".join(told), seen


def _prompts(material: Material) -> Finding:
    """Whether the settings that runs record differ between the sides."""
    differ, same = _settings(material)
    if differ:
        names = several([_SETTING_WORDS.get(name, name) for name in differ])
        return f"recorded settings differ between the sides: {names}", True
    if "prompt_hash" in same:
        text = "recorded prompts are the same; system prompts and tools of the live product may be missing from them"
        return text, False
    return "the files do not record system prompts and tools of both sides", False


def _settings(material: Material) -> tuple[list[str], list[str]]:
    """Return the settings that both sides record, in different and in the same values."""
    differ: list[str] = []
    same: list[str] = []
    for name in _SETTINGS if material.lab_data is not None and material.live_data is not None else ():
        lab, live = (_values(data.runs, name) for data in (material.lab_data, material.live_data) if data is not None)
        if lab and live:
            (same if lab == live else differ).append(name)
    return differ, same


def _values(frame: pl.DataFrame, name: str) -> set[object]:
    return set(levels_of(frame[name])) if name in frame.columns else set()


def _outcome(material: Material) -> Finding:
    """Whether both sides measure the same thing."""
    lab, live = material.lab, material.live
    measures = f"the lab measures {_measure(lab)}, live {_measure(live)}"
    if _of_preference(lab) != _of_preference(live):
        return f"{measures}; being preferred is not succeeding", True
    if not material.same_scale:
        return measures, True
    if lab.metric == live.metric:
        text = f"both sides measure {_measure(lab)}, but a program and a user may mean different things by it"
        return text, False
    return f"{measures}; whether these are one thing is yours to judge", False


def _of_preference(side: Side) -> bool:
    """Whether a side holds votes, or a published rating made of votes."""
    return side.kind == "comparisons" or side.unit == "rating"


def _measure(side: Side) -> str:
    if _of_preference(side):
        return "which answer is preferred"
    return f"{side.metric} ({side.metric_kind})" if side.metric_kind not in ("", side.metric) else side.metric


def _contamination(material: Material) -> Finding:
    """Old items are not told from fresh ones here, so nothing rules it out."""
    text = f"a model trained on items of {material.lab.name} scores higher in the lab alone; evalstats contamination looks for it"
    return text, False


def _judge(material: Material) -> Finding:
    """Whether somebody other than the user scores either side."""
    lab, live = (_judges(data) for data in (material.lab_data, material.live_data))
    if lab and live and lab == live:
        return f"one judge scores both sides ({several(sorted(lab))})", False
    if lab or live:
        told = [f"{name} by {several(sorted(names))}" for name, names in (("the lab", lab), ("live", live)) if names]
        return f"{' and '.join(told)} is scored; a judge may favour what users do not", True
    return "the files do not say who scores the lab; a program or judge may favour what users do not", False


def _judges(data: EvalData | None) -> set[str]:
    """Return the judges that outcomes, votes or runs name."""
    if data is None:
        return set()
    return {str(name) for frame in (data.outcomes, data.comparisons, data.runs) for name in _values(frame, "judge")}


def _survivorship(material: Material) -> Finding:
    """How many models one side alone has, and whether they score otherwise there."""
    alone = [(name, side) for name, side in (("lab", material.lab), ("live", material.live)) if side.only_here]
    if not alone:
        text = f"all {plural(material.n_models, 'model')} are on both sides; others may have been left out of both"
        return text, False
    told: list[str] = []
    seen = False
    for name, side in alone:
        n, total = len(side.only_here), len(side.only_here) + material.n_models
        text = f"{n:,} of {plural(total, f'{name} model')} {'is' if n == 1 else 'are'} not on the other side"
        difference, p = _left_behind(side)
        if difference is not None:
            shown = number(abs(difference * side.scale), 1)
            where = "higher" if difference > 0 else "lower"
            unit = f" {difference_unit(side.unit)}".rstrip()
            median = f"their median score is {shown}{unit} {where}"
            text += f"; {median} ({p_words(p)})" if p is not None else f"; {median}"
            seen = seen or (p is not None and p < _CHANCE)
        told.append(text)
    return ". ".join(told), seen


def _left_behind(side: Side) -> tuple[float | None, float | None]:
    """Return how far the median of models of one side alone lies from that of the joined ones, with the rank-sum p."""
    others = np.array([estimate for _, estimate, _ in side.only_here], dtype=np.float64)
    others = others[np.isfinite(others)]
    joined = side.estimate[np.isfinite(side.estimate)]
    if others.size == 0 or joined.size == 0:
        return None, None
    difference = float(np.median(others) - np.median(joined))
    if min(others.size, joined.size) < _FEWEST:
        return difference, None
    return difference, float(stats.mannwhitneyu(others, joined).pvalue)
