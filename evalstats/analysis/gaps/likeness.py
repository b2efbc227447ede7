"""How like two names of models are, and in what they differ. Nothing is joined by it: it makes proposals."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from evalstats.stats.checks import FloatArray

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

    Examples
    --------
    >>> normalised("openai/GPT-3.5 Turbo"), normalised("gpt_3.5-turbo")
    ('gpt35turbo', 'gpt35turbo')
    """
    return re.sub(r"[\W_]", "", _without_vendor(name))


def near_names(lab: Sequence[str], live: Sequence[str]) -> list[Near]:
    """Propose pairs of names that look alike, the likest first; each name stands in one of them at most.

    First come names that differ in spelling only, then those that differ in a date or an ending such as -instruct, then
    names of nearly the same letters (difflib) whose sizes and versions do not contradict each other. The last are only
    looked for where neither side has more than `MAX_NAMES` names.

    Examples
    --------
    >>> [(each.live, each.why) for each in near_names(["gpt-4"], ["gpt-4o", "openai/gpt-4-0613"])]
    [('openai/gpt-4-0613', 'one has the date 0613')]
    >>> near_names(["llama-2-7b"], ["llama-2-70b"])
    []
    """
    of_lab, of_live = [_Name(name) for name in lab], [_Name(name) for name in live]
    found = [_alike(one, other) for one, other in _candidates(of_lab, of_live)]
    # Sorted by name where equally like, so that the order of the files changes nothing.
    ordered = sorted((each for each in found if each), key=lambda each: (-each.likeness, each.lab, each.live))
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
    pairs: set[tuple[int, int]] = set()
    for row, place in zip(*_largest(dice), strict=True):
        pairs.add((int(row), int(place)))
    for place, row in zip(*_largest(dice.T), strict=True):
        pairs.add((int(row), int(place)))
    return pairs


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


def _alike(one: _Name, other: _Name) -> Near | None:
    verdict = _verdict(one, other)
    if verdict is None:
        return None
    likeness, why = verdict
    return Near(lab=one.name, live=other.name, likeness=likeness, why=why)


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
