"""What a judge goes by besides the answers: their place, their length, and who made them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from evalstats.analysis.judges.panel import Panel
from evalstats.analysis.judges.result import Bias, BiasCheck, PlaceRow
from evalstats.analysis.judges.sources import LENGTHS, OTHER, length_column
from evalstats.analysis.result import estimated
from evalstats.document.model import Note
from evalstats.document.numbers import number
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats import estimate as numbers
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.raters.preferences import FEWEST_PAIRS, covariate_effect, place_effect, stratum_columns

# The first that is found in a name decides; fine-tuned models go by the maker of the judge that is likely meant.
_FAMILIES: Final = (
    ("OpenAI", r"gpt-?\d|gpt-?oss|chatgpt|davinci|(?<![a-z])o[134](-|$|_)|openai"),
    ("Anthropic", r"claude|anthropic"),
    ("Google", r"gemini|gemma|palm|(?<![a-z])bard|google"),
    ("Mistral", r"mistral|mixtral|ministral|codestral|magistral"),
    ("DeepSeek", r"deepseek"),
    ("Alibaba", r"qwen|qwq"),
    ("xAI", r"grok"),
    ("Cohere", r"cohere|command-?[ar]\b|command-?[ar]-|(?<![a-z])aya-"),
    ("Microsoft", r"(?<![a-z])phi-?\d|wizardlm"),
    ("01.AI", r"(?<![a-z])yi-\d"),
    ("Reka", r"(?<![a-z])reka"),
    ("Meta", r"llama|meta-"),
)


def family_of(name: str, known: Mapping[str, str]) -> str | None:
    """Return the family of a model or judge: as the user says, else by its name; None where neither tells.

    >>> (
    ...     family_of("gpt-4-turbo-2024-04-09", {}),
    ...     family_of("alpaca_eval_gpt4", {}),
    ...     family_of("our-judge", {"our-judge": "Us"}),
    ... )
    ('OpenAI', 'OpenAI', 'Us')
    """
    if name in known:
        return known[name]
    low = name.lower()
    return next((family for family, pattern in _FAMILIES if re.search(pattern, low)), None)


def families_said(pairs: Sequence[str]) -> dict[str, str]:
    """Return what NAME=FAMILY says.

    >>> families_said(["our-judge=OpenAI"])
    {'our-judge': 'OpenAI'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, family = pair.rpartition("=")
        if not equals or not name or not family:
            raise InputError(f"{pair!r} names no family; write NAME=FAMILY")
        found[name] = family
    return found


_FEWEST_OF_A_MODEL = 10
_PAIR = ("question", "first", "second")
_NAMELESS = frozenset({"A", "B", "a", OTHER})


@dataclass(slots=True)
class Checks:
    """What was checked of all judges, and what could not be, each reason once."""

    rows: list[BiasCheck] = field(default_factory=list[BiasCheck])
    places: list[PlaceRow] = field(default_factory=list[PlaceRow])
    not_checked: dict[str, None] = field(default_factory=dict[str, None])

    def skip(self, reason: str) -> None:
        """Note why a check could not be made."""
        self.not_checked[reason] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errors:
    """A judge's errors: judge minus people for every unit, NaN where either is missing."""

    judge: str
    panel: Panel
    off: FloatArray


def biases_of_votes(
    games: pl.DataFrame, judges: Sequence[str], people: Sequence[str], families: Mapping[str, str], level: float
) -> Checks:
    """Check judges of pairs; `people` whose votes are the truth may be nobody."""
    found = Checks()
    theirs = games.filter(pl.col("who").is_in(list(people))).group_by(_PAIR).agg(pl.col("value").mean().alias("people"))
    for judge in judges:
        own = games.filter(pl.col("who") == judge).join(theirs, on=list(_PAIR), how="left", maintain_order="left")
        _place(found, judge, own, level)
        _length(found, judge, own, level)
        _own_family_of_votes(found, judge, own, families, level)
    return found


def biases_of_scores(panel: Panel, judges: Sequence[str], families: Mapping[str, str], level: float) -> Checks:
    """Check judges who rated answers one by one."""
    found = Checks()
    found.skip("place: answers were rated one by one")
    lengths = _lengths(panel)
    for judge in judges:
        off = panel.given_by(judge) - panel.truth if panel.is_number else np.full(panel.n_units, np.nan)
        errors = _Errors(judge=judge, panel=panel, off=off)
        _length_of_scores(found, errors, lengths, level)
        _own_family_of_scores(found, errors, families, level)
    return found


# --- the place ---


def _place(found: Checks, judge: str, own: pl.DataFrame, level: float) -> None:
    shown = own.filter(pl.col("shown_first").is_not_null())
    if not shown.height:
        found.skip("place: no column (order) says which answer was shown first")
        return
    both = (
        shown.group_by(*_PAIR, "prompt", maintain_order=True)
        .agg(
            pl.col("value").filter(pl.col("shown_first")).mean().alias("one"),
            pl.col("value").filter(~pl.col("shown_first")).mean().alias("two"),
        )
        .drop_nulls(["one", "two"])
    )
    try:
        if both.height < FEWEST_PAIRS:
            _add(found, judge, "place", _place_of_one_order(shown, level), n=shown.height, null=0.5)
            return
        effect = place_effect(both["one"].to_numpy(), both["two"].to_numpy(), clusters=_codes(both), conf_level=level)
    except CannotAnswerError as reason:
        found.skip(f"place, {judge}: {reason}")
        return
    _add(found, judge, "place", effect.first, n=effect.n_pairs, null=0.5)
    _add(found, judge, "inconsistent", effect.inconsistent, n=effect.n_pairs, null=None)
    found.places.extend(_by_place(judge, both))


def _place_of_one_order(shown: pl.DataFrame, level: float) -> numbers.Estimate:
    """Estimate the share of the first place between equals, from pairs judged in one order, at fixed strengths of models."""
    sign = np.where(shown["shown_first"].to_numpy(), 1.0, -1.0)
    effect = covariate_effect(
        shown["value"].to_numpy(), sign, _strengths(shown), clusters=_codes(shown), conf_level=level
    )
    return _mapped(effect, lambda value: 1.0 / (1.0 + math.exp(-value)), "share of the first place between equals")


def _by_place(judge: str, both: pl.DataFrame) -> list[PlaceRow]:
    """Return each model's share of preference when shown first, when shown second, and with inconsistent pairs as ties."""
    tied = pl.when(pl.col("one") == pl.col("two")).then("one").otherwise(0.5)
    sides = [
        both.select(pl.col("first").alias("name"), "one", "two", tied.alias("tied")),
        # The second answer stands second where the first stands first.
        both.select(
            pl.col("second").alias("name"),
            (1 - pl.col("two")).alias("one"),
            (1 - pl.col("one")).alias("two"),
            (1 - tied).alias("tied"),
        ),
    ]
    each = pl.concat(sides).filter(~pl.col("name").is_in(list(_NAMELESS)))
    table = each.group_by("name").agg(
        pl.col("one").mean(), pl.col("two").mean(), pl.col("tied").mean(), pl.len().alias("n")
    )
    return [
        PlaceRow(judge=judge, name=name, when_first=one, when_second=two, tied=tied_share, n_pairs=n)
        for name, one, two, tied_share, n in table.sort("tied", descending=True).rows()
        if n >= _FEWEST_OF_A_MODEL
    ]


# --- length ---


def _length(found: Checks, judge: str, own: pl.DataFrame, level: float) -> None:
    known = own.filter(pl.col("doublings").is_not_null())
    if not known.height:
        found.skip(f"length: no columns hold the answers' lengths (such as {LENGTHS[0]}_a and {LENGTHS[0]}_b)")
        return
    labelled = known.filter(pl.col("people").is_not_null())
    association = labelled.height < FEWEST_PAIRS
    used = known if association else labelled
    controls = _strengths(used) if association else stratum_columns(_verdicts(used))
    try:
        effect = covariate_effect(
            used["value"].to_numpy(), used["doublings"].to_numpy(), controls, clusters=_codes(used), conf_level=level
        )
    except CannotAnswerError as reason:
        found.skip(f"length, {judge}: {reason}")
        return
    odds = _mapped(effect, lambda value: math.exp(min(value, 50.0)), "odds ratio for twice the length")
    _add(found, judge, "length", odds, n=used.height, null=1.0, association=association)


def _verdicts(used: pl.DataFrame) -> IntArray:
    """Return codes of the people's verdict: the first, a tie, the second."""
    people = used["people"].to_numpy()
    return np.unique(np.sign(people - 0.5), return_inverse=True)[1].astype(np.int64)


def _strengths(used: pl.DataFrame) -> FloatArray:
    """Return one column for each model, 1 where it is the first of the pair and -1 where the second."""
    names = {name: place for place, name in enumerate(sorted({*used["first"].to_list(), *used["second"].to_list()}))}
    design = np.zeros((used.height, len(names)))
    rows = np.arange(used.height)
    for side, sign in (("first", 1.0), ("second", -1.0)):
        design[rows, np.array([names[name] for name in used[side].to_list()], dtype=np.int64)] += sign
    return design


def _lengths(panel: Panel) -> FloatArray | None:
    """Return the logarithm to base 2 of every answer's length; None where no column holds it."""
    name = length_column(panel.frame.columns)
    if name is None:
        return None
    length = pl.col(name).cast(pl.Float64, strict=False)
    units = panel.frame.group_by("unit").agg(length.filter(length > 0).first().log(2.0).alias("length")).sort("unit")
    return units["length"].to_numpy()


def _length_of_scores(found: Checks, errors: "_Errors", lengths: FloatArray | None, level: float) -> None:
    judge, panel, off = errors.judge, errors.panel, errors.off
    if lengths is None:
        found.skip("length: no column holds the answers' lengths (such as length or n_tokens)")
        return
    known = np.isfinite(off) & np.isfinite(lengths)
    models = np.unique(panel.model_codes[known], return_inverse=True)[1].astype(np.int64)
    if known.sum() < FEWEST_PAIRS:
        found.skip(f"length, {judge}: fewer than {FEWEST_PAIRS} answers have a length and people's ratings as numbers")
        return
    try:
        effect = covariate_effect(
            off[known],
            lengths[known],
            stratum_columns(models),
            clusters=panel.prompts[known],
            family="linear",
            conf_level=level,
        )
    except CannotAnswerError as reason:
        found.skip(f"length, {judge}: {reason}")
        return
    named = replace(effect, method=f"points for twice the length, {effect.method}")
    _add(found, judge, "length", named, n=int(known.sum()), null=0.0)


# --- the judge's own family ---


def _own_family_of_votes(
    found: Checks, judge: str, own: pl.DataFrame, families: Mapping[str, str], level: float
) -> None:
    family = _family(found, judge, families)
    if family is None:
        return
    labelled = own.filter(pl.col("people").is_not_null())
    if not labelled.height:
        found.skip("own family: people's votes on the same pairs are needed, since a judge's own family may be better")
        return
    first, second = (_of_family(labelled[side].to_numpy(), family, families) for side in ("first", "second"))
    one = first != second
    if one.sum() < FEWEST_PAIRS:
        found.skip(f"own family, {judge}: fewer than {FEWEST_PAIRS} pairs set a model of {family} against another")
        return
    off = (labelled["value"] - labelled["people"]).to_numpy()
    signed = np.where(first, off, -off)[one]
    codes = _codes(labelled)[one]
    effect = cluster_mean(signed, codes, conf_level=level).estimate
    _add(found, judge, "own family", effect, n=int(one.sum()), null=0.0, family=family)


def _own_family_of_scores(found: Checks, errors: "_Errors", families: Mapping[str, str], level: float) -> None:
    judge, panel, off = errors.judge, errors.panel, errors.off
    family = _family(found, judge, families)
    if family is None:
        return
    known = np.isfinite(off)
    own = np.array([family_of(name, families) == family for name in panel.model_names])[panel.model_codes] & known
    other = known & ~own
    if min(own.sum(), other.sum()) < FEWEST_PAIRS:
        few = family if own.sum() < FEWEST_PAIRS else f"others than {family}"
        found.skip(f"own family, {judge}: fewer than {FEWEST_PAIRS} answers that people rated are of {few}")
        return
    try:
        effect = covariate_effect(
            off[known],
            own[known].astype(np.float64),
            np.ones((int(known.sum()), 1)),
            clusters=panel.prompts[known],
            family="linear",
            conf_level=level,
        )
    except CannotAnswerError as reason:
        found.skip(f"own family, {judge}: {reason}")
        return
    _add(found, judge, "own family", effect, n=int(own.sum()), null=0.0, family=family)


def _of_family(names: "np.ndarray[Any, Any]", family: str, families: Mapping[str, str]) -> BoolArray:
    """Return which models are of a family; each name is looked at once."""
    known, place = np.unique(names.astype(str), return_inverse=True)
    return np.array([family_of(str(name), families) == family for name in known], dtype=np.bool_)[place]


def _family(found: Checks, judge: str, families: Mapping[str, str]) -> str | None:
    family = family_of(judge, families)
    if family is None:
        found.skip(f"own family, {judge}: the name does not tell its family, and nothing declares it")
    return family


# --- rows ---


def _codes(rows: pl.DataFrame) -> IntArray:
    return rows.select(pl.col("prompt").rank("dense").sub(1).cast(pl.Int64)).to_series().to_numpy()


def _mapped(effect: numbers.Estimate, to: Callable[[float], float], method: str) -> numbers.Estimate:
    """Return an estimate on another scale; its ends move with it, and its p stays."""
    ends = [None if end is None else float(to(end)) for end in (effect.conf_low, effect.conf_high)]
    return replace(
        effect,
        estimate=float(to(effect.estimate)),
        std_error=None,
        conf_low=ends[0],
        conf_high=ends[1],
        statistic=None,
        method=f"{method}, {effect.method}",
    )


def _add(
    found: Checks,
    judge: str,
    check: Bias,
    effect: numbers.Estimate,
    *,
    n: int,
    null: float | None,
    association: bool = False,
    family: str = "",
) -> None:
    found.rows.append(
        BiasCheck(
            **estimated(effect), judge=judge, check=check, n_units=n, null=null, association=association, family=family
        )
    )


def bias_notes(rows: Sequence[BiasCheck], judge: str) -> list[Note]:
    """Caution against biases that a judge is shown to have; what people's labels do not hold fixed is no bias."""
    notes: list[Note] = []
    turned = next((row for row in rows if row.judge == judge and row.check == "inconsistent"), None)
    for row in rows:
        if row.judge != judge or row.association or not row.shown or row.estimate is None:
            continue
        if row.check == "place":
            side = "first" if row.estimate > 0.5 else "second"
            share = max(row.estimate, 1 - row.estimate)
            text = f"{judge} prefers the {side} place: {number(100 * share, 1)}% of verdicts"
            remedy = "Judge every pair in both orders, and count as ties those whose verdict changes"
            if turned is not None and turned.estimate is not None:
                text += f", and {number(100 * turned.estimate, 1)}% of pairs change with the order"
                remedy = "Count such pairs as ties"
            notes.append(Note(kind="trust", text=text, remedy=remedy))
        elif row.check == "length":
            way = "longer" if row.estimate > (row.null or 0.0) else "shorter"
            text = f"{judge} prefers {way} answers where people see no difference"
            notes.append(Note(kind="trust", text=text, remedy="Compare models at equal length"))
        elif row.check == "own family":
            way = "favours" if row.estimate > 0 else "is harder on"
            text = f"{judge} {way} models of its own family ({row.family}) by {number(abs(row.estimate), 2)} against people"
            notes.append(Note(kind="trust", text=text, remedy="Put a judge of another family beside it"))
    return notes
