"""Which way a metric is better, and whether its scores are of one scale: what is declared, and what has to be asked."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.schema.metrics import contradicted, direction_in_name, is_amount, says_percent, suggests_lower
from evalstats.stats.score_scales import Spread, lone_code, single_numbers_conflict, spread_of, two_scales

Direction = Literal["declared", "assumed", "asked"]
Bounds = tuple[float | None, float | None]

ASSUMED = "higher taken as better"
ASKED = "is lower better? --lower-is-better or --higher-is-better says so"
_SHOWN = 12


def direction_of(name: str, *, declared: bool | None) -> tuple[bool, Direction]:
    """Return whether more is better, and how that is known.

    Examples
    --------
    >>> [direction_of(name, declared=None) for name in ("wer ↓", "wer", "score")]
    [(False, 'declared'), (True, 'asked'), (True, 'assumed')]
    """
    said = direction_in_name(name) if declared is None else declared
    if said is not None:
        return bool(said), "declared"
    return True, "asked" if suggests_lower(name) else "assumed"


def direction_notes(direction: str) -> tuple[Note, ...]:
    """Return what is said of a direction that nobody declared: a caution, where it has to be asked for."""
    text = {"assumed": ASSUMED, "asked": ASKED}.get(direction)
    return () if text is None else (Note(kind="direction", text=text, caution=direction == "asked"),)


def asked_direction(*directions: str) -> list[str]:
    """Return what the headline asks where the direction of a metric has to be asked for."""
    return list(dict.fromkeys(note.text for each in directions for note in direction_notes(each) if note.caution))


def open_direction(name: str) -> str:
    """Say why nothing can be called better or worse yet.

    Examples
    --------
    >>> print(open_direction("jailbroken"))
    the name 'jailbroken' suggests that lower is better, and nothing declares it (in Python: higher_is_better=False or True)
    """
    return (
        f"the name {name!r} suggests that lower is better, and nothing declares it "
        "(in Python: higher_is_better=False or True)"
    )


def how_to_declare(name: str, scale: str) -> str:
    """Say how a scale is declared: for a table of one's own, and for files of any format.

    Examples
    --------
    >>> print(how_to_declare("score", "0..100"))
    --map scale=0..100, in from_frame scale="0..100", for files of any format [metrics.score] in evalstats.toml
    """
    return f'--map scale={scale}, in from_frame scale="{scale}", for files of any format [metrics.{name}] in evalstats.toml'


def spelled_code(value: float) -> str:
    """Say how a code for "no score" is declared.

    Examples
    --------
    >>> print(spelled_code(-1.0))
    --map unscored=-1, in from_frame unscored=-1
    """
    return f"--map unscored={value:g}, in from_frame unscored={value:g}"


def refuse_contradictions(found: pl.DataFrame, benchmark: str, name: str) -> None:
    """Refuse a metric that sources describe in ways that cannot all be true."""
    disputes = contradicted(found.to_dicts()) if found.height > 1 else []
    if disputes:
        message = (
            f"sources describe {name!r} of {benchmark} in ways that cannot all be true: {'; '.join(disputes)}. If one holds "
            f"for all, declare it: [metrics.{name}] in evalstats.toml with low, high and higher_is_better (in Python: "
            f"data.with_metric({name!r}, low=..., high=..., higher_is_better=...))"
        )
        raise InputError(message)


def check_scale(
    rows: pl.DataFrame, benchmark: str, name: str, bounds: Bounds, *, contrast: str = "model"
) -> tuple[Note, ...]:
    """Return cautions about the scores of a metric, whose scale is declared where it has a bound other than 0 to 1."""
    if bounds not in {(None, None), (0.0, 1.0)}:
        return _told_of_declared(rows, name, bounds, contrast)
    if "estimate" in rows.columns:
        _refuse_mixed_numbers(rows, benchmark, name)
        return ()
    counted = rows.lazy().select("score").drop_nulls().group_by("score").len().sort("score").collect()
    code = lone_code(counted["score"].to_numpy(), counted["len"].to_numpy())
    low, high = counted["score"].min(), counted["score"].max()
    if not isinstance(low, float) or not isinstance(high, float):
        return ()
    _refuse_shares_called_percent(name, bounds, low, high)
    cautions = () if code is None else (Note(kind="scale", text=_code_words(counted, name, code)),)
    if low >= 0 and high <= 1:  # one scale for all, whatever it is
        return cautions
    groups = _groups(rows, contrast)
    found = two_scales(groups, has_top=not is_amount(name))
    if found is None:
        return cautions
    first, second, sureness = found
    seen = f"{_seen(first, groups[first])}; {_seen(second, groups[second])}"
    if sureness == "certain":
        message = (
            f"the scores of {name!r} on {benchmark} cannot be of one scale: {seen}. Bring them to one scale; or, if they are on "
            f"one, declare it: {how_to_declare(name, _scale_meant(groups[second]))} (0.. for a metric without a top)"
        )
        raise InputError(message)
    doubt = (
        f"the scores of {name!r} may be of two scales: {seen}. If they are on one, declare it: "
        f"{how_to_declare(name, _scale_meant(groups[second]))}"
    )
    return (*cautions, Note(kind="scale", text=doubt))


def _told_of_declared(rows: pl.DataFrame, name: str, bounds: Bounds, contrast: str) -> tuple[Note, ...]:
    """Warn of scores that look like another scale than the declared one, which holds all the same."""
    if "estimate" in rows.columns or None in bounds or is_amount(name):
        return ()
    groups = _groups(rows, contrast)
    found = two_scales(groups)
    if found is None or found[2] != "certain":
        return ()
    said = (
        f"the scale declared for {name!r} is taken for all, though the scores look like two: "
        f"{_seen(found[0], groups[found[0]])}; {_seen(found[1], groups[found[1]])}"
    )
    return (Note(kind="scale", text=said),)


def _refuse_mixed_numbers(rows: pl.DataFrame, benchmark: str, name: str) -> None:
    """Refuse published numbers that are shares for some models and percentages for others."""
    known = rows.filter(pl.col("estimate").is_not_null() & pl.col("estimate").is_finite())
    if is_amount(name) or not single_numbers_conflict(known["estimate"].to_numpy()):
        return
    small = known.filter(pl.col("estimate") <= 1).sort("estimate")
    large = known.filter(pl.col("estimate") > 1).sort("estimate")
    message = (
        f"the published numbers of {name!r} on {benchmark} cannot be of one scale: {small['model'][-1]!r} has "
        f"{small['estimate'][-1]:g}, {large['model'][0]!r} has {large['estimate'][0]:g}. Write all as shares or all as "
        f"percentages; or, if they are on one scale, declare it: [metrics.{name}] in evalstats.toml with low = 0 and high = 100"
    )
    raise InputError(message)


def _refuse_shares_called_percent(name: str, bounds: Bounds, low: float, high: float) -> None:
    """Refuse a metric whose name says percent and whose scores nobody has described all lie in 0 to 1."""
    if bounds == (None, None) and says_percent(name) and low >= 0 and 0 < high <= 1:
        message = (
            f"{name!r} is called a percentage, and its scores all lie between {low:g} and {high:g}. Declare which it is: "
            f"{how_to_declare(name, 'percent')}; or proportion in its place"
        )
        raise InputError(message)


def _groups(rows: pl.DataFrame, contrast: str) -> dict[str, Spread]:
    """Return the scores of every run (and judge, and level of the contrast), under the shortest name that tells them apart."""
    keys = [name for name in ("run", "system", "judge") if rows[name].n_unique() > 1]
    if contrast not in {"model", *keys} and contrast in rows.columns:
        keys.append(contrast)
    if not keys:
        return {}
    parts = rows.filter(pl.col("score").is_not_null()).partition_by(keys, as_dict=True)
    spreads = {key: spread_of(part["score"].to_numpy()) for key, part in parts.items()}
    return {_label(dict(zip(keys, key, strict=True)), spreads): spread for key, spread in spreads.items()}


def _label(key: Mapping[str, Any], spreads: Mapping[tuple[Any, ...], Spread]) -> str:
    names = list(key)
    place = names.index("system") if "system" in names else -1
    if place >= 0 and len({each[place] for each in spreads}) == len(spreads):
        return str(key["system"])
    return ", ".join(str(value) for value in key.values() if value is not None)


def _seen(name: str, group: Spread) -> str:
    values = group.values
    few = ", ".join(f"{value:g}" for value in values) if len(values) <= _SHOWN / 2 else None
    span = f"{group.low:g}" if len(values) == 1 else few or f"{group.low:g} to {group.high:g}"
    return f"{name!r} has {span} ({group.n:,.0f} scores)"


def _scale_meant(beyond: Spread) -> str:
    tops = [top for top in (5, 10, 100, 1000) if beyond.high <= top]
    low = 1 if beyond.low >= 1 and beyond.high <= 10 else 0
    return f"{low}..{tops[0] if tops else math.ceil(beyond.high)}"


def _code_words(counted: pl.DataFrame, name: str, code: float) -> str:
    n = counted.filter(pl.col("score") == code)["len"].item()
    others = counted.filter(pl.col("score") != code)["score"]
    few = f"{n:,} score of {name!r} is" if n == 1 else f"{n:,} scores of {name!r} are"
    return (
        f"{few} {code:g}, far from all others ({others[0]:g} to {others[-1]:g}), and counted in the mean. If {code:g} stands for "
        f"no score, say {spelled_code(code)}"
    )
