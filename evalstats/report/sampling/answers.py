"""The questions of the page, and answers that follow from the intervals of the stored simulation."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingRow, SamplingStudy
from evalstats.document.model import Tone
from evalstats.document.numbers import MINUS

PROXIMITY = ("proximity, wide", "proximity, narrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question: the measures that answer it, for which ways of sampling, and whether the paper claims it.

    `last` keeps of a measure only the condition that stands last (all votes).
    """

    key: str
    question: str
    measures: tuple[str, ...]
    samplings: tuple[str, ...] = PROXIMITY
    claim: str = ""
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found: in how many comparisons better, in how many worse, of how many; in a word."""

    asked: Asked
    better: int
    worse: int
    total: int

    @property
    def word(self) -> str:
        """Return the answer in a word or two; it rests on intervals that hold for the whole study at once."""
        if self.asked.key == "intervals":
            # They are asked to hold, not to be better than they promise.
            return "No" if self.worse else "Nothing against it"
        if self.worse:
            return "Mixed" if self.better else "No"
        if 2 * self.better > self.total:
            return "Yes"
        return "In part" if self.better else "Not shown"

    @property
    def tone(self) -> Tone:
        """Return how the word is coloured."""
        tones: dict[str, Tone] = {"Yes": "good", "No": "bad", "Mixed": "caution", "In part": "caution"}
        return tones.get(self.word, "neutral")

    @property
    def counts(self) -> str:
        """Return the counts in words."""
        parts = [f"{n} {word}" for n, word in ((self.better, "better"), (self.worse, "worse")) if n]
        rest = self.total - self.better - self.worse
        if rest:
            parts.append(f"{rest} not separated")
        return ", ".join(parts)


ASKED = (
    Asked(
        key="accuracy",
        question="Are rankings more accurate with as many votes?",
        measures=("order", "needed"),
        claim="more accurate",
        last=True,
    ),
    Asked(
        key="steady",
        question="Are rankings steadier?",
        measures=("growth", "resample"),
        claim="steadier",
    ),
    Asked(
        key="transitive",
        question="Are votes more transitive?",
        measures=("violations",),
        claim="more transitive votes",
    ),
    Asked(
        key="ring",
        question="Is it harder to push a model?",
        measures=("ring",),
        claim="harder to manipulate",
    ),
    Asked(
        key="distance",
        question="Are distances between models estimated better?",
        measures=("near", "far"),
    ),
    Asked(
        key="intervals",
        question="Do 95% intervals still hold?",
        measures=("covered_near", "covered_far"),
    ),
    Asked(
        key="newcomer",
        question="Do placement matches place a new model sooner?",
        measures=("new_rank", "new_rating"),
        samplings=("placement",),
    ),
)


def answers(study: SamplingStudy) -> list[Answer]:
    """Return the answer to every question, in the order of the page."""
    return [_answer(study, asked) for asked in ASKED]


def _answer(study: SamplingStudy, asked: Asked) -> Answer:
    rows = [row for row in rows_for(study, asked) if row.verdict]
    return Answer(
        asked=asked,
        better=sum(row.verdict == "better" for row in rows),
        worse=sum(row.verdict == "worse" for row in rows),
        total=len(rows),
    )


def rows_for(study: SamplingStudy, asked: Asked) -> list[SamplingRow]:
    """Return the rows that a question rests on."""
    rows: list[SamplingRow] = []
    for measure in asked.measures:
        for world in study.worlds:
            found = [row for row in study.of(measure, world=world) if row.sampling in asked.samplings]
            last = found[-1].condition if found else ""
            rows += [row for row in found if not asked.last or row.condition == last]
    return rows


def amount(measure: SamplingMeasure, value: float | None, *, sign: bool = False) -> str:
    """Write a value in the measure's unit: shares in percent, differences of shares in percentage points.

    >>> share = SamplingMeasure(key="k", title="t", unit="share", higher_is_better=True)
    >>> amount(share, 0.934), amount(share, -0.02, sign=True)
    ('93.4%', '−2.0')
    """
    if value is None:
        return "–"
    digits, scale = {"share": (1, 100.0), "votes": (0, 1.0), "points": (1, 1.0)}.get(measure.unit, (2, 1.0))
    # Rounded first, and 0 added: nothing is written as -0.0.
    rounded = round(scale * value, digits) + 0.0
    text = f"{rounded:{'+' if sign and rounded else ''},.{digits}f}".replace("-", MINUS)
    return text if sign or measure.unit != "share" else f"{text}%"


def unit_words(measure: SamplingMeasure) -> str:
    """Return the unit of a difference."""
    return {"share": "percentage points", "points": "rating points"}.get(measure.unit, measure.unit)


def claims(found: Sequence[Answer]) -> dict[str, list[str]]:
    """Return the paper's claims: borne out ("Yes"), in part ("In part", "Mixed"), and the others."""
    sorted_out: dict[str, list[str]] = {"borne out": [], "in part": [], "not": []}
    places = {"Yes": "borne out", "In part": "in part", "Mixed": "in part"}
    for answer in found:
        if answer.asked.claim:
            sorted_out[places.get(answer.word, "not")].append(answer.asked.claim)
    return sorted_out


_ADAPTIVE = "Bramley & Vitello 2018, doi:10.1080/0969594X.2017.1418734"


def lessons(study: SamplingStudy) -> list[tuple[str, str]]:
    """Return (what it is about, what was found)."""
    return [
        ("Distances under proximity sampling", _distances(study)),
        ("Steady is not right", _steady(study)),
        ("Majorities of different schedules are not comparable", _majorities(study)),
        ("More votes", _more_votes(study)),
        ("Some random pairs", _some_random(study)),
    ]


def _distances(study: SamplingStudy) -> str:
    told = "; ".join(
        f"{world} arenas: {_of(study, 'far_bias', world, sign=True)} points against "
        f"{_random(study, 'far_bias', world, sign=True)}"
        for world in study.worlds
    )
    return (
        "How much further apart the first and the last model are rated than they are, on average, under wide and narrow "
        f"proximity and under random pairs ({told}). Pairs that look far apart by chance are not asked about again, so nothing "
        f"corrects them. That adaptive pairs spread a scale is known of comparative judgement in schools ({_ADAPTIVE})."
    )


def _steady(study: SamplingStudy) -> str:
    world = "crowded"
    return (
        f"In crowded arenas models move {_of(study, 'resample', world)} places when other raters are drawn (wide and narrow "
        f"proximity; random pairs {_random(study, 'resample', world)}), and the 95% interval of first against last holds the "
        f"truth in {_of(study, 'covered_far', world)} of arenas (random pairs {_random(study, 'covered_far', world)}). "
        "Resampling keeps the schedule, and with it what the schedule got wrong."
    )


def _majorities(study: SamplingStudy) -> str:
    told = "; ".join(
        f"{world}: {_of(study, 'violations', world)} against {_random(study, 'violations', world)}"
        for world in study.worlds
    )
    return (
        "True strengths are transitive in every arena here, yet majorities contradict it, more often the closer the models "
        f"that meet (wide and narrow proximity against random pairs; {told}). A raw rate says more of the schedule than of the "
        "votes: hold it against its expected value under the fit."
    )


def _more_votes(study: SamplingStudy) -> str:
    few, many = "spread out", "many votes"
    return (
        f"With ten times the votes the bias between first and last is {_of(study, 'far_bias', many, sign=True)} points in place "
        f"of {_of(study, 'far_bias', few, sign=True)}, and intervals of first against last hold the truth in "
        f"{_of(study, 'covered_far', many)} of arenas in place of {_of(study, 'covered_far', few)} (wide and narrow proximity)."
    )


def _some_random(study: SamplingStudy) -> str:
    mixed = "narrow + random"
    told = "; ".join(
        f"{world}: bias {_mean(study, 'far_bias', world, mixed, sign=True)} points, coverage "
        f"{_mean(study, 'covered_far', world, mixed, sign=False)}, pairs in order at the end {_in_order(study, world, mixed)} "
        f"(random pairs {_in_order(study, world, 'random')})"
        for world in study.worlds
    )
    return (
        "Narrow proximity with a fifth of the votes between random pairs keeps pairs in play that looked far apart. First "
        f"against last, {told}."
    )


def _in_order(study: SamplingStudy, world: str, sampling: str) -> str:
    return amount(study.measure("order"), study.of("order", world=world, sampling=sampling)[-1].estimate)


def _of(study: SamplingStudy, key: str, world: str, *, sign: bool = False) -> str:
    """Write the means of wide and narrow proximity."""
    return " and ".join(_mean(study, key, world, sampling, sign=sign) for sampling in PROXIMITY)


def _random(study: SamplingStudy, key: str, world: str, *, sign: bool = False) -> str:
    return _mean(study, key, world, "random", sign=sign)


def _mean(study: SamplingStudy, key: str, world: str, sampling: str, *, sign: bool) -> str:
    (row,) = study.of(key, world=world, sampling=sampling)
    return amount(study.measure(key), row.estimate, sign=sign)
