"""Names of models on two sides: joined where they are the same, as they stand or with an alias, and never by likeness.

Names that look alike are proposed: gpt-4 and gpt-4o are one letter apart and are two models.
"""

import difflib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.grammar import and_list
from evalstats.record import record
from evalstats.schema.plan import Plan
from evalstats.stats.checks import FloatArray

ALIKE = "the same but for case, separators or a vendor's name"
# Comparing every name with every other costs as much as both sides multiplied: 2000 x 2000 take about a second.
MAX_NAMES: Final = 2_000
# A longer name is no name; comparing its letters would cost time and say nothing.
_MAX_CHARS: Final = 200
_CLOSEST: Final = 3
_CUTOFF: Final = 0.8
_SHOWN = 500

_VENDOR = re.compile(r"^[\w.-]+/(?=[^/]*$)")
# A date in a name: 2024-05-13, 20240513, 2024-05, or the month and day (0613) or year and month (2407) alone.
_DATE = re.compile(
    r"(?<!\d)(?:(20\d\d)[-_./ ]?(0[1-9]|1[0-2])(?:[-_./ ]?(0[1-9]|[12]\d|3[01]))?"
    r"|(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])|(2[3-9])(0[1-9]|1[0-2]))(?!\d)"
)
_ENDINGS: Final = frozenset({"latest", "instruct", "inst", "it", "chat", "hf", "preview", "api"})
# A number with the letter that belongs to it: 7b, 8x7b, 128k, 4o, 3.1.
_TOKEN = re.compile(r"\d+(?:[.x]\d+)*(?:[bkmo](?![a-z]))?|[^\W\d_]+")
# A version written with a hyphen: 3-5 is 3.5, and 3-8b is version 3 of size 8b.
_HYPHENATED = re.compile(r"(?<![\d.])(\d)[-_](\d)(?![\d.a-z])")


def date_in(name: str) -> str | None:
    """Return the date that stands in a model's name, as digits; None where there is none.

    >>> date_in("claude-x-20240620"), date_in("gpt-x-2024-05-13"), date_in("gpt-x-0613"), date_in("llama-3-70b")
    ('20240620', '20240513', '0613', None)
    """
    found = _DATE.search(name)
    return None if found is None else "".join(part for part in found.groups() if part)


def dated_otherwise(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of joined names whose dates differ, or of which one alone is dated.

    A month and day alone are those of the whole date.

    >>> dated_otherwise([("gpt-x-2024-05-13", "gpt-x-20240513"), ("o-y-0613", "o-y-1106"), ("z", "z")])
    [('o-y-0613', 'o-y-1106')]
    """
    differ: list[tuple[str, str]] = []
    for pair in pairs:
        lab, live = map(date_in, pair)
        short, long = sorted((lab or "", live or ""), key=len)
        if (lab is None) != (live is None) or not (long.startswith(short) or long.endswith(short)):
            differ.append(pair)
    return differ


def normalised(name: str) -> str:
    """Return a name without what is only a way of writing it: case, separators, and a vendor before a slash.

    >>> normalised("openai/GPT-3.5 Turbo"), normalised("gpt_3.5-turbo")
    ('gpt35turbo', 'gpt35turbo')
    """
    return re.sub(r"[\W_]", "", _without_vendor(name))


def _without_vendor(name: str) -> str:
    return _VENDOR.sub("", name.casefold().strip())


class _Name:
    """One name, its words and numbers without dates and endings that say how it was tuned or served, and its date."""

    def __init__(self, name: str) -> None:
        self.name, self.bare, self.date = name, normalised(name), date_in(name)
        words = _TOKEN.findall(_HYPHENATED.sub(r"\1.\2", _DATE.sub(" ", _without_vendor(name))))
        self.tokens = words[:1] + [word for word in words[1:] if word not in _ENDINGS]
        self.stem = "".join(self.tokens)
        # Sizes and versions: names that differ in them are different models.
        self.numbers = {token.removesuffix(".0") for token in self.tokens if token[0].isdigit()}
        text = self.bare[:_MAX_CHARS]
        self.letters = {text[place : place + 2] for place in range(max(len(text) - 1, 1))}


@record
class NearNames:
    """Two names that look alike: how like (1: but for spelling), and in what they differ."""

    lab: str
    live: str
    likeness: float
    why: str


def near_names(lab: Sequence[str], live: Sequence[str]) -> list[NearNames]:
    """Propose pairs of names that look alike, the likest first; each name stands in one of them at most.

    First those that differ in spelling only, then in a date or an ending such as -instruct, then names of nearly the
    same letters whose sizes and versions do not contradict each other (only where no side has more than `MAX_NAMES`
    names).

    >>> [(each.live, each.why) for each in near_names(["gpt-4"], ["gpt-4o", "openai/gpt-4-0613"])]
    [('openai/gpt-4-0613', 'one has the date 0613')]
    >>> near_names(["llama-2-7b"], ["llama-2-70b"])
    []
    """
    ours, theirs = list(map(_Name, lab)), list(map(_Name, live))
    # Worth a closer look: the same stem, or among the few with most pairs of letters in common.
    by_key: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(theirs):
        for key in {name.bare, name.stem}:
            by_key[key].append(place)
    pairs = {(row, place) for row, one in enumerate(ours) for key in {one.bare, one.stem} for place in by_key[key][:50]}
    if ours and theirs and max(len(ours), len(theirs)) <= MAX_NAMES:
        pairs |= _closest(ours, theirs)
    found = [
        NearNames(lab=ours[row].name, live=theirs[place].name, likeness=verdict[0], why=verdict[1])
        for row, place in sorted(pairs)
        if (verdict := _likeness(ours[row], theirs[place])) is not None
    ]
    # Sorted by name where equally like, so that the order of the files changes nothing.
    taken_lab, taken_live, kept = set[str](), set[str](), list[NearNames]()
    for each in sorted(found, key=lambda each: (-each.likeness, each.lab, each.live)):
        if each.lab not in taken_lab and each.live not in taken_live:
            taken_lab.add(each.lab)
            taken_live.add(each.live)
            kept.append(each)
    return kept


def _closest(lab: Sequence[_Name], live: Sequence[_Name]) -> set[tuple[int, int]]:
    """For every name of either side, the places of the few names whose pairs of letters are most the same (Dice)."""
    column = {pair: j for j, pair in enumerate(sorted({pair for name in (*lab, *live) for pair in name.letters}))}
    ours, theirs = (np.zeros((len(names), max(len(column), 1))) for names in (lab, live))
    for table, names in ((ours, lab), (theirs, live)):
        for row, name in enumerate(names):
            table[row, [column[pair] for pair in name.letters]] = 1
    sizes = np.maximum(ours.sum(axis=1), 1)[:, None] + np.maximum(theirs.sum(axis=1), 1)[None, :]
    dice = 2 * (ours @ theirs.T) / sizes

    def largest(likeness: FloatArray) -> tuple[list[int], list[int]]:
        n = min(_CLOSEST, likeness.shape[1])
        best = np.argsort(-likeness, axis=1, kind="stable")[:, :n]
        return np.repeat(np.arange(len(likeness)), n).tolist(), best.ravel().tolist()

    return {*zip(*largest(dice), strict=True), *zip(*reversed(largest(dice.T)), strict=True)}


def _likeness(one: _Name, other: _Name) -> tuple[float, str] | None:
    if not one.bare or not other.bare:
        return None
    if one.bare == other.bare:
        return 1.0, ALIKE
    same_words = one.stem == other.stem or sorted(one.tokens) == sorted(other.tokens)
    if same_words and one.date != other.date:
        if one.date and other.date:
            return 0.8, f"other dates: {one.date} and {other.date}; likely another version"
        return 0.95, f"one has the date {one.date or other.date}"
    if same_words:
        return 0.9, "the same words but for their order or an ending such as -instruct or -latest"
    if not (one.numbers <= other.numbers or other.numbers <= one.numbers):
        return None
    if max(len(one.stem), len(other.stem)) > _MAX_CHARS:
        return None
    spellings = ((one.stem, other.stem), ("".join(sorted(one.tokens)), "".join(sorted(other.tokens))))
    ratio = max(difflib.SequenceMatcher(None, *each, autojunk=False).ratio() for each in spellings)
    # Below every pair that differs in something known, whatever the share of letters.
    return (0.75 * ratio, "only similar letters; may well be another model") if ratio >= _CUTOFF else None


@record
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

    >>> match = match_models(["gpt-x", "openai/o-y"], ["o-y", "gpt-x", "z"], {"openai/o-y": "o-y"})
    >>> match.pairs, match.only_live
    ((('gpt-x', 'gpt-x'), ('openai/o-y', 'o-y')), ('z',))
    >>> match_models(["GPT-X"], ["gpt-x-20240513"], None).near
    (('GPT-X', 'gpt-x-20240513'),)
    """
    aliases = Plan(aliases=dict(aliases or {})).aliases  # a plan knows what aliases may not be
    of_lab, of_live = _renamed(lab, aliases, "lab"), _renamed(live, aliases, "live side")
    named = [name for name in of_lab if name in of_live]
    pairs = tuple((of_lab[name], of_live[name]) for name in named)
    only_lab = {name: own for name, own in of_lab.items() if name not in of_live}
    only_live = {name: own for name, own in of_live.items() if name not in of_lab}
    near = near_names(tuple(only_lab), tuple(only_live))
    said = list[str]()
    present = {*lab, *live}
    if absent := [name for name in aliases if name not in present]:
        said.append(f"no model of either side has the name {and_list(absent)}, which the aliases rename")
    if idle := [f"{name} (to be {new})" for name, new in aliases.items() if name in present and new not in named]:
        said.append(f"the alias of {and_list(idle)} joins nothing: the other side has no model of the new name")
    if len(near) > _SHOWN:
        said.append(f"{len(near)} names look like one of the other side; the likest {_SHOWN} are shown")
    if max(len(only_lab), len(only_live)) > MAX_NAMES and only_lab and only_live:
        said.append(
            f"more than {MAX_NAMES} names are left over; only those that differ in spelling or date are compared"
        )
    return NameMatch(
        pairs=pairs,
        shared=tuple(named),
        by_alias=tuple(pair for pair in pairs if pair[0] != pair[1]),
        only_lab=tuple(only_lab.values()),
        only_live=tuple(only_live.values()),
        near=tuple((only_lab[each.lab], only_live[each.live]) for each in near[:_SHOWN]),
        near_why=tuple(each.why for each in near[:_SHOWN]),
        notes=as_notes("choice", said, caution=False),
    )


def _renamed(names: Sequence[str], aliases: Mapping[str, str], side: str) -> dict[str, str]:
    """Return the names of one side by the name that each shall have."""
    renamed: dict[str, str] = {}
    for own in names:
        name = aliases.get(own, own)
        other = renamed.get(name)
        if other == own:
            raise InputError(f"the {side} has the model {own!r} twice; keep one row for each model")
        if other is not None:
            raise InputError(
                f"aliases make one model of {other!r} and {own!r}, both of the {side} ({name!r}); "
                "leave one of the two out of the data, or alias only one of them"
            )
        renamed[name] = own
    return renamed
