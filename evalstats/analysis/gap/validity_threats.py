"""What could make lab and live differ, or agree, for other reasons than the models: the seven threats, each from the data."""

import math

import numpy as np
from scipy import special

from evalstats.analysis.gap.model_names import dated_otherwise
from evalstats.analysis.gap.result import Threat
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.gap.shown import difference_unit
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.document.numbers import number, p_words
from evalstats.grammar import and_list, is_are, plural
from evalstats.schema.columns import TableName
from evalstats.schema.tables import levels_of
from evalstats.stats.standardisation import CellTable

# A threat is called seen where chance would show as much once in a hundred times: these are checks, not findings.
_CHANCE = 0.01
_FEWEST = 3
_SETTINGS = ("prompt_hash", "temperature", "n_shots", "harness", "harness_version", "task_version")
_SETTING_WORDS = {
    "prompt_hash": "prompts",
    "n_shots": "number of worked examples",
    "harness_version": "harness version",
    "task_version": "task version",
}
# What is said of a threat, and whether the data show it.
Finding = tuple[str, bool]


def threats_of(shared: SharedModels) -> tuple[Threat, ...]:
    """Return the seven threats to the validity of lab against live, each with what these data say of it.

    "seen" where the data show it, else "possible": most cannot be ruled out by data of this kind, so they stand with
    every result.
    """
    # Old items are not told from fresh ones here, so nothing rules contamination out.
    own = shared.lab.about.benchmark
    public = f"a model trained on items of {own} scores higher in the lab alone; evalstats contamination looks for it"
    found = (
        ("self-selection", "Self-selection", _self_selection(shared)),
        ("versions", "Versions and dates", _versions(shared)),
        ("prompts", "Prompts and tools", _prompts(shared)),
        ("outcome", "Outcome", _outcome(shared)),
        ("contamination", "Contamination", (public, False)),
        ("judge", "Judge and user", _judge(shared)),
        ("survivorship", "Survivorship", _survivorship(shared)),
    )
    return tuple(
        Threat(key=key, title=title, text=text, status="seen" if seen else "possible")
        for key, title, (text, seen) in found
    )


def _self_selection(shared: SharedModels) -> Finding:
    """Whether live users bring other scenarios to one model than to another."""
    cells = shared.cells
    p = None if cells is None or cells.live is None else _mixes_differ(cells.live)
    if cells is not None and p is not None and p < _CHANCE:
        return f"the mix by {' and '.join(cells.factors)} differs from model to model ({p_words(p)})", True
    return (
        "live users choose what to do, and often the model; pairs are fair only where they were drawn at random",
        False,
    )


def _mixes_differ(sums: CellTable) -> float | None:
    """Return the p of one mix of cells for all models, by chi-squared on clusters, each counted once in a cell of a model."""
    table = np.zeros((sums.n_models, sums.n_cells))
    np.add.at(table, (sums.model, sums.cell), 1.0)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    if min(table.shape) < 2:
        return None
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    table = table[:, expected.mean(0) >= 5]  # the usual rule for the law of chi-squared to hold
    if min(table.shape) < 2 or (table.sum(1) == 0).any():
        return None
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    df, away = (table.shape[0] - 1) * (table.shape[1] - 1), np.abs(table - expected)
    if df == 1:
        away = np.maximum(away - 0.5, 0.0)  # Yates
    statistic = float((away**2 / expected).sum())
    return max(float(special.chdtrc(df, statistic)), math.ulp(0.0))


def _versions(shared: SharedModels) -> Finding:
    """Whether the two sides are of the same time, and whether names that were joined name the same dated version."""
    lab, live = shared.lab, shared.live
    dates = [
        f"{name} {side.first_day}" + ("" if side.first_day == side.last_day else f" to {side.last_day}")
        if side.first_day
        else f"{name} undated"
        for name, side in (("lab", lab), ("live", live))
    ]
    # Days are ISO dates, which sort as text.
    known = lab.first_day and lab.last_day and live.first_day and live.last_day
    apart = bool(known) and (str(lab.last_day) < str(live.first_day) or str(live.last_day) < str(lab.first_day))
    said = [", ".join(dates) + (": no day is in both" if apart else "")]
    other = dated_otherwise(tuple(zip(lab.models, live.models, strict=True)))
    if other:
        pairs = [f"{one} (lab) and {two} (live)" for one, two in other]
        said.append(f"{plural(len(other), 'joined name')} with different dates: {and_list(pairs)}")
    seen = bool(other) or apart
    if not seen:
        said.append("one name may still stand for several versions")
    return "; ".join(said), seen


def _prompts(shared: SharedModels) -> Finding:
    """Whether the settings that runs of both sides record differ."""
    differ = [
        _SETTING_WORDS.get(name, name)
        for name in _SETTINGS
        if (lab := _levels(shared.lab, name, ("runs",)))
        and (live := _levels(shared.live, name, ("runs",)))
        and lab != live
    ]
    if differ:
        return f"recorded settings differ between the sides: {and_list(differ)}", True
    return "system prompts and tools of the live product may be missing from what the files record", False


def _levels(side: SideScores, column: str, tables: tuple[TableName, ...]) -> set[object]:
    """Return what stands in a column of some tables of a side."""
    frames = [] if side.data is None else [side.data.table(name) for name in tables]
    return {level for frame in frames if column in frame.columns for level in levels_of(frame[column])}


def _outcome(shared: SharedModels) -> Finding:
    """Whether both sides measure the same thing."""
    lab, live = (
        "which answer is preferred" if side.is_preference else f"{side.about.name} ({side.about.kind})"
        for side in (shared.lab, shared.live)
    )
    if not shared.same_scale or shared.lab.is_preference != shared.live.is_preference:
        return f"the lab measures {lab}, live {live}; one need not go with the other", True
    return f"the lab measures {lab}, live {live}; a program and a user may mean different things by it", False


def _judge(shared: SharedModels) -> Finding:
    """Whether somebody other than the user scores either side."""
    tables: tuple[TableName, ...] = ("outcomes", "comparisons", "runs")
    lab, live = (set(map(str, _levels(side, "judge", tables))) for side in (shared.lab, shared.live))
    if lab == live:
        return "a program or judge may favour what users do not", False
    said = [f"{name} by {and_list(sorted(names))}" for name, names in (("the lab", lab), ("live", live)) if names]
    return f"{' and '.join(said)} is scored; a judge may favour what users do not", True


def _survivorship(shared: SharedModels) -> Finding:
    """How many models one side alone has, and whether they score otherwise there."""
    said, seen = list[str](), False
    for name, side in (("lab", shared.lab), ("live", shared.live)):
        n, total = len(side.only_here), len(side.only_here) + shared.n_models
        others = np.array([estimate for _, estimate, _ in side.only_here], dtype=np.float64)
        others, joined = others[np.isfinite(others)], side.estimate[np.isfinite(side.estimate)]
        if not n:
            continue
        text = f"{n:,} of {plural(total, f'{name} model')} {is_are(n)} not on the other side"
        if min(others.size, joined.size) >= _FEWEST:
            difference = float(np.median(others) - np.median(joined))
            shown = f"{number(abs(difference * side.about.scale), 1)} {difference_unit(side.about)}".rstrip()
            from scipy import stats

            p = float(stats.mannwhitneyu(others, joined).pvalue)
            text += f"; their median score is {shown} {'higher' if difference > 0 else 'lower'} ({p_words(p)})"
            seen = seen or p < _CHANCE
        said.append(text)
    return ". ".join(said) or "both sides have the same models; others may have been left out of both", seen
