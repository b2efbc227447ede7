"""The models that both sides have, joined by name or alias and never by likeness, with everything cut to them."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from evalstats.analysis.gap.material import (
    Cells,
    Material,
    Options,
    Side,
    Units,
    cell_sums,
    clusters_by_level,
    levels_of,
    unlabelled,
)
from evalstats.analysis.gap.scenario_gaps import too_small
from evalstats.analysis.gap.score_scale import on_scale
from evalstats.analysis.gap.sides import Prepared, cut, on_one_scale, oriented
from evalstats.analysis.leaderboard.entries import ENTRY
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.scores import LabLiveScores

# A date in a name: 2024-05-13, 20240513, 2024-05, or the month and day alone that some makers use (0613).
_DATE = re.compile(r"(?<!\d)(20\d{2})[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)")
_SHORT = re.compile(r"(?<!\d)(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")


def date_in(name: str) -> str | None:
    """Return the date that stands in a model's name, as digits; None where there is none.

    >>> date_in("claude-x-20240620"), date_in("gpt-x-2024-05-13"), date_in("gpt-x-0613"), date_in("llama-3-70b")
    ('20240620', '20240513', '0613', None)
    """
    whole = _DATE.search(name)
    if whole:
        return "".join(part for part in whole.groups() if part)
    short = _SHORT.search(name)
    return "".join(short.groups()) if short else None


def dated_otherwise(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of joined names whose dates differ, or of which one alone is dated.

    >>> dated_otherwise([("gpt-x-2024-05-13", "gpt-x-20240513"), ("o-y-0613", "o-y-1106"), ("z", "z")])
    [('o-y-0613', 'o-y-1106')]
    """
    return [(lab, live) for lab, live in pairs if not _one_date(date_in(lab), date_in(live))]


def _one_date(lab: str | None, live: str | None) -> bool:
    """Whether two dates may be one: a month and day alone are that of the whole date."""
    if lab is None or live is None:
        return lab == live
    short, long = sorted((lab, live), key=len)
    return long.startswith(short) or long.endswith(short)


# Comparing every name with every other costs as much as both sides multiplied: 2000 x 2000 take about a second.
ALIKE = "the same but for case, separators or a vendor's name"
MAX_NAMES: Final = 2_000
# A longer name is no name; comparing its letters would cost time and say nothing.
_MAX_CHARS: Final = 200
_CLOSEST: Final = 3
_CUTOFF: Final = 0.8

_VENDOR = re.compile(r"^[\w.-]+/(?=[^/]*$)")
_FULL_DATE = re.compile(r"(?<!\d)20\d\d[-_./ ]?(?:0[1-9]|1[0-2])[-_./ ]?(?:0[1-9]|[12]\d|3[01])(?!\d)")
_SHORT_DATE = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|2[3-9](?:0[1-9]|1[0-2])")
_ENDINGS: Final = frozenset({"latest", "instruct", "inst", "it", "chat", "hf", "preview", "api"})
# A number with the letter that belongs to it: 7b, 8x7b, 128k, 4o, 3.1.
_TOKEN = re.compile(r"\d+(?:[.x]\d+)*(?:[bkmo](?![a-z]))?|[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Two names that look alike: how like (1: but for spelling), and in what they differ."""

    lab: str
    live: str
    likeness: float
    why: str


class _Name:
    """One name and what can be told from it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.plain = normalised(name)

    @cached_property
    def dates(self) -> tuple[str, ...]:
        """What looks like a date of release, digits only."""
        return self._split[1]

    @cached_property
    def stem(self) -> str:
        """The name without dates and endings that say how it was tuned or served."""
        return "".join(self.tokens)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Words and numbers of the stem."""
        return self._split[0]

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Sizes and versions: names that differ in them are different models."""
        return frozenset(token.removesuffix(".0") for token in self.tokens if token[0].isdigit())

    @cached_property
    def _split(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        text = _without_vendor(self.name)
        dates = [re.sub(r"\D", "", found) for found in _FULL_DATE.findall(text)]
        words = _TOKEN.findall(_FULL_DATE.sub(" ", text))
        tokens = words[:1] + [word for word in words[1:] if word not in _ENDINGS]
        while len(tokens) > 1 and _SHORT_DATE.fullmatch(tokens[-1]):
            dates.append(tokens.pop())
        return tuple(tokens), tuple(dates)


def normalised(name: str) -> str:
    """Return a name without what is only a way of writing it: case, separators, and a vendor before a slash.

    >>> normalised("openai/GPT-3.5 Turbo"), normalised("gpt_3.5-turbo")
    ('gpt35turbo', 'gpt35turbo')
    """
    return re.sub(r"[\W_]", "", _without_vendor(name))


def near_names(lab: Sequence[str], live: Sequence[str]) -> list[Near]:
    """Propose pairs of names that look alike, the likest first; each name stands in one of them at most.

    First those that differ in spelling only, then in a date or an ending such as -instruct, then names of nearly the
    same letters whose sizes and versions do not contradict each other (only where no side has more than `MAX_NAMES`
    names).

    >>> [(each.live, each.why) for each in near_names(["gpt-4"], ["gpt-4o", "openai/gpt-4-0613"])]
    [('openai/gpt-4-0613', 'one has the date 0613')]
    >>> near_names(["llama-2-7b"], ["llama-2-70b"])
    []
    """
    of_lab, of_live = [_Name(name) for name in lab], [_Name(name) for name in live]
    found = [
        Near(lab=one.name, live=other.name, likeness=verdict[0], why=verdict[1])
        for one, other in _candidates(of_lab, of_live)
        if (verdict := _verdict(one, other)) is not None
    ]
    # Sorted by name where equally like, so that the order of the files changes nothing.
    ordered = sorted(found, key=lambda each: (-each.likeness, each.lab, each.live))
    taken_lab, taken_live, kept = set[str](), set[str](), list[Near]()
    for each in ordered:
        if each.lab not in taken_lab and each.live not in taken_live:
            taken_lab.add(each.lab)
            taken_live.add(each.live)
            kept.append(each)
    return kept


def _without_vendor(name: str) -> str:
    return _VENDOR.sub("", name.casefold().strip())


def _candidates(lab: Sequence[_Name], live: Sequence[_Name]) -> Iterable[tuple[_Name, _Name]]:
    """Pairs that are worth a closer look: the same stem, or among the few with most pairs of letters in common."""
    by_key: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(live):
        for key in {name.plain, name.stem}:
            by_key[key].append(place)
    pairs = {(row, place) for row, one in enumerate(lab) for key in {one.plain, one.stem} for place in by_key[key][:50]}
    if lab and live and max(len(lab), len(live)) <= MAX_NAMES:
        pairs |= _closest(lab, live)
    return [(lab[row], live[place]) for row, place in sorted(pairs)]


def _closest(lab: Sequence[_Name], live: Sequence[_Name]) -> set[tuple[int, int]]:
    """For every name of either side, the places of the few names whose pairs of letters are most the same (Dice)."""
    grams = {
        gram: place for place, gram in enumerate(sorted({g for name in (*lab, *live) for g in _grams(name.plain)}))
    }
    ours, theirs = _incidence(lab, grams), _incidence(live, grams)
    sizes = np.maximum(ours.sum(axis=1), 1)[:, None] + np.maximum(theirs.sum(axis=1), 1)[None, :]
    dice = 2 * (ours @ theirs.T) / sizes
    return {*zip(*_largest(dice), strict=True), *zip(*reversed(_largest(dice.T)), strict=True)}


def _largest(likeness: FloatArray) -> tuple[list[int], list[int]]:
    n = min(_CLOSEST, likeness.shape[1])
    best = np.argsort(-likeness, axis=1, kind="stable")[:, :n]
    return np.repeat(np.arange(len(likeness)), n).tolist(), best.ravel().tolist()


def _grams(text: str) -> set[str]:
    text = text[:_MAX_CHARS]
    return {text[place : place + 2] for place in range(max(len(text) - 1, 1))}


def _incidence(names: Sequence[_Name], grams: dict[str, int]) -> FloatArray:
    table = np.zeros((len(names), max(len(grams), 1)))
    for row, name in enumerate(names):
        table[row, [grams[gram] for gram in _grams(name.plain)]] = 1
    return table


def _verdict(one: _Name, other: _Name) -> tuple[float, str] | None:
    if not one.plain or not other.plain:
        return None
    if one.plain == other.plain:
        return 1.0, ALIKE
    same_words = one.stem == other.stem or sorted(one.tokens) == sorted(other.tokens)
    dated = set(one.dates) ^ set(other.dates)
    if same_words and dated and one.dates and other.dates:
        return 0.8, f"other dates: {' '.join(one.dates)} and {' '.join(other.dates)}; likely another version"
    if same_words and dated:
        return 0.95, f"one has the date {' '.join(sorted(dated))}"
    if same_words:
        return 0.9, "the same words but for their order or an ending such as -instruct or -latest"
    if not (one.numbers <= other.numbers or other.numbers <= one.numbers):
        return None
    if max(len(one.stem), len(other.stem)) > _MAX_CHARS:
        return None
    ratio = max(_ratio(one.stem, other.stem), _ratio("".join(sorted(one.tokens)), "".join(sorted(other.tokens))))
    # Below every pair that differs in something known, whatever the share of letters.
    return (0.75 * ratio, "only similar letters; may well be another model") if ratio >= _CUTOFF else None


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMatch:
    """How the names of two sides belong together: (lab name, live name) of every model that both have.

    `shared` are their common names, `by_alias` the pairs that an alias joined. `near` look alike and were NOT joined,
    the likest first, each name in one pair at most; `near_why` says in what they differ.
    """

    pairs: tuple[tuple[str, str], ...]
    shared: tuple[str, ...]
    by_alias: tuple[tuple[str, str], ...] = ()
    only_lab: tuple[str, ...] = ()
    only_live: tuple[str, ...] = ()
    near: tuple[tuple[str, str], ...] = ()
    near_why: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def match_models(lab: Sequence[str], live: Sequence[str], aliases: Mapping[str, str] | None) -> NameMatch:
    """Join the models of two sides by name: the same string, as it stands or with its alias.

    Other names that look alike are proposed only: gpt-4 and gpt-4o are one letter apart and are two models.

    >>> match = match_models(["gpt-x", "openai/o-y"], ["o-y", "gpt-x", "z"], {"openai/o-y": "o-y"})
    >>> match.pairs, match.only_live
    ((('gpt-x', 'gpt-x'), ('openai/o-y', 'o-y')), ('z',))
    >>> match_models(["GPT-X"], ["gpt-x-20240513"], None).near
    (('GPT-X', 'gpt-x-20240513'),)
    """
    aliases = Plan(aliases=dict(aliases or {})).aliases  # a plan knows what aliases may not be
    of_lab = _called(lab, aliases, "lab")
    of_live = _called(live, aliases, "live side")
    named = [name for name in of_lab if name in of_live]
    pairs = tuple((of_lab[name], of_live[name]) for name in named)
    only_lab = {name: own for name, own in of_lab.items() if name not in of_live}
    only_live = {name: own for name, own in of_live.items() if name not in of_lab}
    near = near_names(tuple(only_lab), tuple(only_live))
    return NameMatch(
        pairs=pairs,
        shared=tuple(named),
        by_alias=tuple(pair for pair in pairs if pair[0] != pair[1]),
        only_lab=tuple(only_lab.values()),
        only_live=tuple(only_live.values()),
        near=tuple((only_lab[each.lab], only_live[each.live]) for each in near[:_SHOWN]),
        near_why=tuple(each.why for each in near[:_SHOWN]),
        notes=as_notes(
            "choice",
            (*_idle_aliases(aliases, lab, live, named), *_limits(len(near), len(only_lab), len(only_live))),
            caution=False,
        ),
    )


def _called(names: Sequence[str], aliases: Mapping[str, str], side: str) -> dict[str, str]:
    """Return the names of one side by the name that each shall have."""
    called: dict[str, str] = {}
    for own in names:
        name = aliases.get(own, own)
        other = called.get(name)
        if other == own:
            raise InputError(f"the {side} has the model {own!r} twice; keep one row for each model")
        if other is not None:
            raise InputError(
                f"aliases make one model of {other!r} and {own!r}, both of the {side} ({name!r}); "
                "leave one of the two out of the data, or alias only one of them"
            )
        called[name] = own
    return called


def _idle_aliases(
    aliases: Mapping[str, str], lab: Sequence[str], live: Sequence[str], named: Sequence[str]
) -> list[str]:
    present, joined = {*lab, *live}, set(named)
    absent = [name for name in aliases if name not in present]
    idle = [name for name in aliases if name in present and aliases[name] not in joined]
    notes: list[str] = []
    if absent:
        notes.append(f"no model of either side has the name {several(absent)}, which the aliases rename")
    if idle:
        led = [f"{name} (to be {aliases[name]})" for name in idle]
        notes.append(f"the alias of {several(led)} joins nothing: the other side has no model of the new name")
    return notes


def _limits(n_near: int, n_lab: int, n_live: int) -> list[str]:
    notes: list[str] = []
    if n_near > _SHOWN:
        notes.append(f"{n_near} names look like one of the other side; the likest {_SHOWN} are shown")
    if max(n_lab, n_live) > MAX_NAMES and min(n_lab, n_live):
        notes.append(
            f"more than {MAX_NAMES} names are left over; only those that differ in spelling or date are compared"
        )
    return notes


FEWEST = 3
FEW_USERS = "(levels of few users)"
_LEAST_WITH_ERRORS = 6  # for a line
_MOST_OF = 0.5
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that was asked, with both sides scored over all of their models."""

    lab: Prepared
    live: Prepared
    aliases: Mapping[str, str]
    models: Sequence[str] | None
    same_scale: bool | None
    options: Options
    min_cell: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The prepared material, and how names were joined."""

    material: Material
    names: NameMatch
    scale_reason: str
    notes: tuple[Note, ...] = ()


def matched(asked: Asked) -> Matched:
    """Join both sides by the names of models."""
    names = match_models(asked.lab.side.models, asked.live.side.models, dict(asked.aliases))
    joined = [(name, *pair) for name, pair in zip(names.shared, names.pairs, strict=True)]
    if asked.models is not None:
        joined = _kept(joined, asked.models)
    if len(joined) < FEWEST:
        raise CannotAnswerError(_too_few(len(joined), names))
    joined, told = _with_errors(sorted(joined), asked)
    shared = tuple(each[0] for each in joined)
    lab = cut(asked.lab, [each[1] for each in joined])
    live = cut(asked.live, [each[2] for each in joined])
    _refuse_one_side_twice(lab, live)
    same, why = on_one_scale(lab, live)
    if asked.same_scale is not None:
        same = _declared_scale(lab, live, same=asked.same_scale)
    x, v_x = oriented(lab)
    z, v_z = oriented(live)
    cells, no_cells = _cells(asked, lab.models, live.models)
    material = Material(
        models=shared,
        lab=lab,
        live=live,
        same_scale=same,
        scores=LabLiveScores(lab=x, live=z, lab_covariance=v_x, live_covariance=v_z),
        options=asked.options,
        cells=cells,
        no_cells_reason=no_cells,
        lab_data=_renamed(asked.lab, dict(zip(lab.models, shared, strict=True))),
        live_data=_renamed(asked.live, dict(zip(live.models, shared, strict=True))),
    )
    material = on_scale(material, asked.options.scale)
    said = (*told, *_unlabelled(asked, cells, lab.models, live.models), *_trusted_scale(asked, why))
    return Matched(material=material, names=names, scale_reason=why, notes=said)


def _unlabelled(
    asked: Asked, cells: Cells | None, lab_models: Sequence[str], live_models: Sequence[str]
) -> tuple[Note, ...]:
    """Warn of rows without a level: they are in the scores and not in what is told by scenario."""
    if cells is None:
        return ()
    said: list[Note] = []
    if cells.joined:
        text = (
            f"{', '.join(cells.factors)}: levels with fewer than {asked.min_cell} live users, and what covers them, are taken "
            f"together as {FEW_USERS}: {several(cells.joined)} (min_cell)"
        )
        said.append(Note(kind="left_out", text=text, caution=False))
    sides = [("lab", asked.lab.units, lab_models)]
    if cells.live is not None:
        sides.append(("live", asked.live.units, live_models))
    for where, units, models in sides:
        share = 0.0 if units is None else unlabelled(units, models, cells.factors)
        if share:
            what = ", ".join(cells.factors)
            text = f"{100 * share:.1f}% of the {where} outcomes have no level of {what}, so mix and behaviour leave them out"
            said.append(Note(kind="missing", text=text, remedy=f"Label them by {what}"))
    return tuple(said)


def _refuse_one_side_twice(lab: Side, live: Side) -> None:
    """Refuse the same scores on both sides: they agree with themselves."""
    alike = (lab.kind, lab.name, lab.metric) == (live.kind, live.name, live.metric)
    if alike and np.array_equal(lab.estimate, live.estimate):
        raise InputError(
            f"both sides hold the same scores ({lab.metric!r} of {lab.name}), so there is nothing to compare: give the lab's "
            f"results as {Option('lab')} and what live users did as {Option('live')}"
        )


def _trusted_scale(asked: Asked, why: str) -> tuple[Note, ...]:
    """Warn where one scale was declared against what the data say."""
    if not asked.same_scale or not why:
        return ()
    text = f"One scale was asked for, though {why}; live minus lab means nothing if that is wrong"
    return (Note(kind="scale", text=text),)


def _with_errors(
    joined: list[tuple[str, str, str]], asked: Asked
) -> tuple[list[tuple[str, str, str]], tuple[Note, ...]]:
    """Leave out the models without a standard error where most have one; else errors count as unknown for all."""
    known = [_has_error(asked.lab, lab) and _has_error(asked.live, live) for _, lab, live in joined]
    without = [each[0] for each, has in zip(joined, known, strict=True) if not has]
    if not without:
        return joined, ()
    kept = [each for each, has in zip(joined, known, strict=True) if has]
    if len(kept) >= max(_LEAST_WITH_ERRORS, _MOST_OF * len(joined)):
        is_ = "model is" if len(without) == 1 else "models are"
        said = f"{len(without)} shared {is_} left out for want of a standard error: {several(without)}"
        return kept, (Note(kind="left_out", text=said),)
    # Errors of a side that lacks any count as unknown for all of it.
    some_have = f"Only {len(kept)}" if kept else "None"
    said = f"{some_have} of {plural(len(joined), 'shared model')} have standard errors on both sides, so no gap can be told"
    return joined, (Note(kind="few", text=said, remedy="Give results by item, or published standard errors"),)


def _has_error(prepared: Prepared, name: str) -> bool:
    covariance = prepared.side.covariance
    at = prepared.side.models.index(name)
    return covariance is not None and bool(np.isfinite(covariance[at, at]))


def _kept(joined: list[tuple[str, str, str]], models: Sequence[str]) -> list[tuple[str, str, str]]:
    unknown = [name for name in models if not any(name in each for each in joined)]
    if unknown:
        have = ", ".join(repr(each[0]) for each in joined[:12])
        raise InputError(f"{unknown[0]!r} is none of the models that both sides have: {have}")
    wanted = set(models)
    return [each for each in joined if wanted & set(each)]


def _too_few(n: int, names: NameMatch) -> str:
    """Say that too few models are shared, and which names look alike."""
    shared = f"the two sides share {plural(n, 'model')}" if n else "the two sides share no model"
    said = (
        f"{shared} by name; at least {FEWEST} are needed to speak of agreement, 6 for a line. The lab has "
        f"{_some(names.only_lab)}; live has {_some(names.only_live)}"
    )
    if not names.near:
        return f"{said}. No names look alike: name what belongs together with {Option('aliases', blank='FILE')}"
    near = "; ".join(f"{one!r} and {other!r}" for one, other in names.near[:_NAMED])
    more = f" and {len(names.near) - _NAMED} more pairs" if len(names.near) > _NAMED else ""
    how = f"Join them with {Option('aliases', blank='FILE')}"
    return f"{said}. Names that look alike and were not joined: {near}{more}. {how}"


def _some(names: Sequence[str]) -> str:
    return several([repr(name) for name in names], _NAMED) if names else "no further model"


def _declared_scale(lab: Side, live: Side, *, same: bool) -> bool:
    if same and "comparisons" in {lab.kind, live.kind}:
        raise InputError(
            "same_scale was asked for, and votes give ratings: their points are not those of the other side"
        )
    if same and None not in {lab.low, lab.high, live.low, live.high} and (lab.low, lab.high) != (live.low, live.high):
        raise InputError(
            f"same_scale was asked for, and {lab.metric!r} (lab) runs from {lab.low:g} to {lab.high:g}, {live.metric!r} (live) "
            f"from {live.low:g} to {live.high:g}: bring both to one range first"
        )
    if same and lab.turned != live.turned:
        raise InputError(
            f"same_scale was asked for, and more is better in one of {lab.metric!r} (lab) and {live.metric!r} (live) only"
        )
    return same


def _renamed(prepared: Prepared, names: Mapping[str, str]) -> EvalData:
    """Return the outcomes of the shared models under the names of the result; other tables stay."""
    if prepared.units is None:
        return prepared.data
    rows = prepared.units.rows.filter(pl.col(ENTRY).is_in(list(names)))
    shown = pl.col(ENTRY).replace(dict(names))
    return replace(prepared.data, outcomes=rows.with_columns(model=shown, system=shown).drop(ENTRY))


def _cells(asked: Asked, lab_models: Sequence[str], live_models: Sequence[str]) -> tuple[Cells | None, str | None]:
    """Return the outcomes of both sides by cell, or why there are none."""
    lab, live = asked.lab.units, asked.live.units
    factors = asked.lab.factors
    mixed = asked.options.mix_factor
    if lab is None:
        return None, "the lab side holds no outcomes, so nothing is known by scenario"
    if not factors:
        return None, "the lab outcomes have no scenario (name another factor with by)"
    if live is not None and set(factors) <= set(asked.live.factors):
        return _joint(lab, live, factors, lab_models, live_models, asked.min_cell), None
    if mixed is None:
        what = "are no outcomes" if live is None else f"have no level of {', '.join(factors)}"
        return None, f"the live data {what}, so the live mix is unknown; give it with {Option('mix')}"
    own = (mixed,)
    levels = sorted(levels_of(lab, lab_models, own) | {(level,) for level in asked.options.mix})
    return Cells(factors=own, levels=tuple(levels), lab=cell_sums(lab, lab_models, own, levels), live=None), None


def _joint(  # noqa: PLR0917 - two sides, each with its models
    lab: Units,
    live: Units,
    factors: tuple[str, ...],
    lab_models: Sequence[str],
    live_models: Sequence[str],
    min_cell: int,
) -> Cells:
    people = clusters_by_level(live, live_models, factors)
    few = (FEW_USERS,) * len(factors)
    joined = dict.fromkeys(_small(people, min_cell) if live.clusters else (), few)
    levels = sorted(
        {joined.get(level, level) for level in levels_of(lab, lab_models, factors) | set(people)},
        key=lambda at: (at == few, at),
    )
    return Cells(
        factors=factors,
        levels=tuple(levels),
        lab=cell_sums(lab, lab_models, factors, levels, joined=joined),
        live=cell_sums(live, live_models, factors, levels, joined=joined),
        joined=tuple(" / ".join(level) for level in sorted(joined)),
    )


def _small(people: Mapping[tuple[str, ...], int], least: int) -> list[tuple[str, ...]]:
    """Return the levels of fewer users than may be told of, with larger ones until they make that many together."""
    small = [level for level, n in people.items() if too_small(n, least)]
    if not small:
        return []
    rest = sorted((level for level in people if level not in small), key=lambda level: (people[level], level))
    # Users may stand behind several levels, so the sum is the most that they can be; one level alone is no cover either.
    while rest and (len(small) < 2 or sum(people[level] for level in small) < least):
        small.append(rest.pop(0))
    return small
