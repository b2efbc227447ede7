"""What a judge goes by besides the answers: their place, their length, and who made them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from evalstats.analysis.judges.ratings import LENGTHS, OTHER, Ratings, dense_codes, length_column
from evalstats.analysis.judges.result import Bias, BiasCheck, PlaceRow
from evalstats.analysis.result import estimated
from evalstats.document.model import Note
from evalstats.document.numbers import number
from evalstats.errors import CannotAnswerError
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


_FEWEST_OF_A_MODEL = 10
_PAIR = ("question", "first", "second")
_NAMELESS = frozenset({"A", "B", "a", OTHER})


@dataclass(slots=True, kw_only=True)
class BiasChecks:
    """What was checked of all judges at a level, and what could not be, each reason once."""

    level: float
    families: Mapping[str, str]
    rows: list[BiasCheck] = field(default_factory=list[BiasCheck])
    places: list[PlaceRow] = field(default_factory=list[PlaceRow])
    not_checked: dict[str, None] = field(default_factory=dict[str, None])

    def skip(self, reason: str) -> None:
        """Note why a check could not be made."""
        self.not_checked[reason] = None

    def add(
        self,
        judge: str,
        check: Bias,
        effect: Callable[[], numbers.IntervalEstimate],
        *,
        n: int,
        null: float | None,
        **facts: Any,
    ) -> None:
        """Make a check of `n` units, or note why it cannot be made."""
        try:
            found = effect()
        except CannotAnswerError as reason:
            self.skip(f"{check}, {judge}: {reason}")
            return
        self.rows.append(BiasCheck(**estimated(found), judge=judge, check=check, n_units=n, null=null, **facts))

    def family(self, judge: str) -> str | None:
        """Return a judge's family, or note that it is not known."""
        family = family_of(judge, self.families)
        if family is None:
            self.skip(f"own family, {judge}: the name does not show its family, and nothing declares it")
        return family


def biases_of_votes(
    games: pl.DataFrame, judges: Sequence[str], people: Sequence[str], families: Mapping[str, str], level: float
) -> BiasChecks:
    """Check judges of pairs; `people` whose votes are the truth may be nobody."""
    checks = BiasChecks(level=level, families=families)
    theirs = games.filter(pl.col("who").is_in(list(people))).group_by(_PAIR).agg(pl.col("value").mean().alias("people"))
    for judge in judges:
        own = games.filter(pl.col("who") == judge).join(theirs, on=list(_PAIR), how="left", maintain_order="left")
        _place(checks, judge, own)
        _length(checks, judge, own)
        _own_family(checks, judge, own.filter(pl.col("people").is_not_null()))
    return checks


def biases_of_scores(ratings: Ratings, judges: Sequence[str], families: Mapping[str, str], level: float) -> BiasChecks:
    """Check judges who rated answers one by one, by their errors: judge minus people for every unit."""
    checks = BiasChecks(level=level, families=families)
    checks.skip("place: answers were rated one by one")
    name = length_column(ratings.frame.columns)
    lengths = None
    if name is not None:
        length = pl.col(name).cast(pl.Float64, strict=False)
        units = ratings.frame.group_by("unit").agg(length.filter(length > 0).first().log(2.0).alias("length"))
        lengths = units.sort("unit")["length"].to_numpy()
    for judge in judges:
        off = ratings.given_by(judge) - ratings.truth if ratings.is_number else np.full(ratings.n_units, np.nan)
        _length_of_scores(checks, judge, ratings, off, lengths)
        _own_family_of_scores(checks, judge, ratings, off)
    return checks


# --- the place ---


def _place(checks: BiasChecks, judge: str, own: pl.DataFrame) -> None:
    shown = own.filter(pl.col("shown_first").is_not_null())
    if not shown.height:
        checks.skip("place: no column (order) says which answer was shown first")
        return
    first = pl.col("shown_first")
    both = (
        shown.group_by(*_PAIR, "prompt", maintain_order=True)
        .agg(pl.col("value").filter(first).mean().alias("one"), pl.col("value").filter(~first).mean().alias("two"))
        .drop_nulls(["one", "two"])
    )
    if both.height < FEWEST_PAIRS:
        checks.add(judge, "place", lambda: _place_of_one_order(shown, checks.level), n=shown.height, null=0.5)
        return
    values, codes = (both["one"].to_numpy(), both["two"].to_numpy()), dense_codes(both, "prompt")
    try:
        effect = place_effect(*values, clusters=codes, conf_level=checks.level)
    except CannotAnswerError as reason:
        checks.skip(f"place, {judge}: {reason}")
        return
    checks.add(judge, "place", lambda: effect.first, n=effect.n_pairs, null=0.5)
    checks.add(judge, "inconsistent", lambda: effect.inconsistent, n=effect.n_pairs, null=None)
    checks.places.extend(_by_place(judge, both))


def _place_of_one_order(shown: pl.DataFrame, level: float) -> numbers.IntervalEstimate:
    """Estimate the share of the first place between equals, from pairs judged in one order, at fixed strengths of models."""
    sign = np.where(shown["shown_first"].to_numpy(), 1.0, -1.0)
    effect = covariate_effect(
        shown["value"].to_numpy(), sign, _strengths(shown), clusters=dense_codes(shown, "prompt"), conf_level=level
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


def _length(checks: BiasChecks, judge: str, own: pl.DataFrame) -> None:
    known = own.filter(pl.col("doublings").is_not_null())
    if not known.height:
        checks.skip(f"length: no columns hold the answers' lengths (such as {LENGTHS[0]}_a and {LENGTHS[0]}_b)")
        return
    labelled = known.filter(pl.col("people").is_not_null())
    association = labelled.height < FEWEST_PAIRS
    used = known if association else labelled

    def odds() -> numbers.IntervalEstimate:
        # At fixed strengths of models, or at the people's verdict: the first, a tie, the second.
        controls = _strengths(used)
        if not association:
            verdict = np.unique(np.sign(used["people"].to_numpy() - 0.5), return_inverse=True)[1]
            controls = stratum_columns(verdict.astype(np.int64))
        value, doublings, codes = used["value"].to_numpy(), used["doublings"].to_numpy(), dense_codes(used, "prompt")
        effect = covariate_effect(value, doublings, controls, clusters=codes, conf_level=checks.level)
        return _mapped(effect, lambda value: math.exp(min(value, 50.0)), "odds ratio for twice the length")

    checks.add(judge, "length", odds, n=used.height, null=1.0, association=association)


def _strengths(used: pl.DataFrame) -> FloatArray:
    """Return one column for each model, 1 where it is the first of the pair and -1 where the second."""
    names = {name: place for place, name in enumerate(sorted({*used["first"].to_list(), *used["second"].to_list()}))}
    design = np.zeros((used.height, len(names)))
    rows = np.arange(used.height)
    for side, sign in (("first", 1.0), ("second", -1.0)):
        design[rows, np.array([names[name] for name in used[side].to_list()], dtype=np.int64)] += sign
    return design


def _length_of_scores(
    checks: BiasChecks, judge: str, ratings: Ratings, off: FloatArray, lengths: FloatArray | None
) -> None:
    if lengths is None:
        checks.skip("length: no column holds the answers' lengths (such as length or n_tokens)")
        return
    known = np.isfinite(off) & np.isfinite(lengths)
    if known.sum() < FEWEST_PAIRS:
        checks.skip(f"length, {judge}: fewer than {FEWEST_PAIRS} answers have a length and people's ratings as numbers")
        return

    def points() -> numbers.IntervalEstimate:
        models = np.unique(ratings.model_codes[known], return_inverse=True)[1].astype(np.int64)
        found = _linear(off[known], lengths[known], stratum_columns(models), ratings.prompts[known], checks.level)
        return replace(found, method=f"points for twice the length, {found.method}")

    checks.add(judge, "length", points, n=int(known.sum()), null=0.0)


def _linear(
    off: FloatArray, covariate: FloatArray, controls: FloatArray, prompts: IntArray, level: float
) -> numbers.IntervalEstimate:
    """Return how errors go with a covariate, at fixed `controls`."""
    return covariate_effect(off, covariate, controls, clusters=prompts, family="linear", conf_level=level)


# --- the judge's own family ---


def _own_family(checks: BiasChecks, judge: str, labelled: pl.DataFrame) -> None:
    family = checks.family(judge)
    if family is None:
        return
    if not labelled.height:
        checks.skip("own family: people's votes on the same pairs are needed, since a judge's own family may be better")
        return
    first, second = (_of_family(labelled[side].to_numpy(), family, checks.families) for side in ("first", "second"))
    one = first != second
    if one.sum() < FEWEST_PAIRS:
        checks.skip(f"own family, {judge}: fewer than {FEWEST_PAIRS} pairs set a model of {family} against another")
        return
    off = (labelled["value"] - labelled["people"]).to_numpy()
    signed, codes = np.where(first, off, -off)[one], dense_codes(labelled, "prompt")[one]

    def preference() -> numbers.IntervalEstimate:
        return cluster_mean(signed, codes, conf_level=checks.level).estimate

    checks.add(judge, "own family", preference, n=int(one.sum()), null=0.0, family=family)


def _own_family_of_scores(checks: BiasChecks, judge: str, ratings: Ratings, off: FloatArray) -> None:
    family = checks.family(judge)
    if family is None:
        return
    known = np.isfinite(off)
    of_family = _of_family(np.array(ratings.model_names), family, checks.families)[ratings.model_codes]
    own, other = known & of_family, known & ~of_family
    if min(own.sum(), other.sum()) < FEWEST_PAIRS:
        few = family if own.sum() < FEWEST_PAIRS else f"others than {family}"
        checks.skip(f"own family, {judge}: fewer than {FEWEST_PAIRS} answers that people rated are of {few}")
        return
    mean, prompts = np.ones((int(known.sum()), 1)), ratings.prompts[known]
    checks.add(
        judge,
        "own family",
        lambda: _linear(off[known], own[known].astype(np.float64), mean, prompts, checks.level),
        n=int(own.sum()),
        null=0.0,
        family=family,
    )


def _of_family(names: "np.ndarray[Any, Any]", family: str, families: Mapping[str, str]) -> BoolArray:
    """Return which models are of a family; each name is looked at once."""
    known, place = np.unique(names.astype(str), return_inverse=True)
    return np.array([family_of(str(name), families) == family for name in known], dtype=np.bool_)[place]


# --- rows ---


def _mapped(effect: numbers.IntervalEstimate, to: Callable[[float], float], method: str) -> numbers.IntervalEstimate:
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
            notes.append(Note(kind="trust", text=text, remedy="Add a judge of another family"))
    return notes
