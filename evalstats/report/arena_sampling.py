"""The page of the stored simulation of which models an arena lets meet: its questions, answers and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalstats.analysis.result import as_columns
from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingRow, SamplingStudy, load_arena_sampling
from evalstats.document.model import Code, Column, Document, Figure, Items, Note, Section, Table, Text, Tone
from evalstats.document.numbers import MINUS, several

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


_TONES: dict[str, str] = {"better": "good", "worse": "bad"}


def order(study: SamplingStudy) -> Figure:
    """Return the percentage of pairs in the right order over the number of votes, a panel for each world."""
    known = [row for row in study.of("order") if row.estimate is not None]
    rows = [
        row
        for world in study.worlds
        for name in study.samplings
        for row in known
        if row.world == world and row.sampling == name
    ]
    values = [100 * (row.estimate or 0.0) for row in rows]
    room = 0.06 * (max(values) - min(values))
    return Figure(
        id="order",
        plot="curves",
        rows={
            "panel": [row.world.capitalize() for row in rows],
            "line": [row.sampling for row in rows],
            "x": [float(row.condition.removesuffix(" votes").replace(",", "")) for row in rows],
            "estimate": values,
        },
        options={"x_title": "Votes", "percent": True, "limits": (min(values) - room, max(values) + room)},
        alt=f"Pairs in the right order by votes, for {len(study.samplings)} ways of sampling.",
        caption="Pairs of models in the right order, by number of votes: mean over simulated arenas",
    )


def difference(study: SamplingStudy, key: str, label: str, *, only: str = "") -> Figure:
    """Return what is drawn: a heading for each world and condition (that begins so), a row for each way of sampling."""
    measure = study.measure(key)
    rows: list[dict[str, Any]] = []
    for world in study.worlds:
        found = study.of(key, world=world)
        conditions = list(dict.fromkeys(row.condition for row in found))
        for condition in conditions:
            if not condition.startswith(only):
                continue
            own = [row for row in found if row.condition == condition]
            heading = _heading(measure, world, condition, own)
            known = [row for row in own if row.difference is not None or row.sampling != "random"]
            rows += [{**_row(measure, row), "group": heading} for row in known]
    caption = (
        f"{measure.title}, against {measure.against}. Filled points: the interval, which holds for all of the study at "
        "once, leaves out 0"
    )
    return Figure(
        id=label,
        plot="forest",
        rows=as_columns(rows),
        options=_options(measure),
        alt=f"{measure.title} of each way of sampling, against {measure.against}.",
        caption=caption,
    )


def _heading(measure: SamplingMeasure, world: str, condition: str, rows: Sequence[SamplingRow]) -> str:
    name = f"{world.capitalize()}, {condition}" if condition else world.capitalize()
    base = next((row for row in rows if row.sampling == "random"), None)
    if base is None or measure.against != "random pairs":
        return name
    return f"{name}; random pairs: {amount(measure, base.estimate)}"


def _row(measure: SamplingMeasure, row: SamplingRow) -> dict[str, Any]:
    scale = 100.0 if measure.unit == "share" else 1.0
    if row.difference is None or row.conf_low is None or row.conf_high is None:
        return {"label": row.sampling, "words": row.reason or "no interval"}
    apart = amount(measure, row.difference, sign=True)
    return {
        "label": row.sampling,
        "words": apart if measure.against == "0" else f"{amount(measure, row.estimate)} ({apart})",
        "estimate": scale * row.difference,
        "conf_low": scale * row.conf_low,
        "conf_high": scale * row.conf_high,
        "tone": _TONES.get(row.verdict, "neutral"),
        "settled": row.verdict in _TONES,
    }


def _options(measure: SamplingMeasure) -> dict[str, Any]:
    """Return the axis, with words and tones for the two sides of zero."""
    title = f"{measure.title}: difference from {measure.against}, {unit_words(measure)}"
    sides, tones = ("worse", "better"), ("bad", "good")
    if measure.higher_is_better is None:
        sides, tones = ("distances too small", "distances too large"), ("bad", "bad")
    elif measure.against == "95%":
        sides = ("misses too often", "covers more often")
    elif not measure.higher_is_better:
        sides, tones = ("better", "worse"), ("good", "bad")
    return {"title": title, "sides": sides, "side_tones": tones}


_PAPER = "arXiv 2508.11452"
_NEW = ("new_rank", "new_rating")
# Parts on single measures: heading, words, measures; of the ring one condition is shown first.
_PARTS = (
    (
        "steadiness",
        "Ranks are steadier, which is not to say right",
        "Places moved: the mean over models of how far the rank moves from four fifths of the votes to all of them.",
        ("growth", "resample"),
    ),
    (
        "distances",
        "Distances between neighbours are estimated worse",
        "Errors are absolute, of the rating difference between neighbours in truth; the method has those of first and last.",
        ("near", "far", "far_bias"),
    ),
    (
        "coverage",
        "Intervals cover less where the schedule depends on the votes",
        "How often 95% intervals of rating differences hold the truth. They take the schedule as given.",
        ("covered_near", "covered_far"),
    ),
    (
        "transitivity",
        "Votes look less transitive, by the schedule alone",
        "True strengths are transitive in every arena, so every circle is chance; which pairs meet decides how many.",
        ("violations",),
    ),
    (
        "manipulation",
        "A ring of ten raters often wins more",
        "The ring has 5% of the votes and asks again until its model is shown; the method has other rings.",
        ("ring",),
    ),
)
_FIRST = {"ring": "5% of votes, ring waits"}


def document(study: SamplingStudy | None = None) -> Document:
    """Return what is said of the stored simulation, or of another one."""
    study = study or load_arena_sampling()
    found = answers(study)
    of = claims(found)
    held, total = len(of["borne out"]), sum(map(len, of.values()))
    tone: Tone = "good" if held == total else "caution" if held or of["in part"] else "bad"
    rest = [
        f"{words}: {several(of[key])}" for key, words in (("in part", "in part"), ("not", "not borne out")) if of[key]
    ]
    return Document(
        kind="arena-sampling",
        title="Which models should an arena let meet?",
        label="all borne out" if held == total else "partly borne out" if tone == "caution" else "not borne out",
        tone=tone,
        headline=_headline(of["borne out"], total),
        number=f"{held} of {total}",
        number_words="claims borne out",
        scope="; ".join(["Invented arenas whose truth is known", *rest]),
        answer=(_answers(found),),
        notes=_cautions(study),
        evidence=(
            Section(
                id="order",
                heading="After as many votes, accuracy is much the same",
                blocks=(order(study), _needed(study)),
            ),
            *(
                Section(
                    id=name,
                    heading=heading,
                    blocks=(Text(text=words), difference(study, keys[0], _id(keys[0]), only=_FIRST.get(keys[0], ""))),
                )
                for name, heading, words, keys in _PARTS
            ),
        ),
        method=(
            _lessons(study),
            *_further(study),
            *(_numbers(study, world) for world in study.worlds),
            _assumed(study),
            _again(study),
        ),
    )


def _headline(held: list[str], total: int) -> str:
    if not held:
        return f"Of {total} claims for proximity sampling none is fully borne out"
    rest = f"; {total - len(held)} of {total} claims are not fully borne out" if len(held) < total else ""
    return f"Proximity sampling is {several(held)}{rest}"


def _id(key: str) -> str:
    return key.replace("_", "-")


def _cautions(study: SamplingStudy) -> tuple[Note, ...]:
    """Return what follows for a reader of ratings, where the numbers say so."""
    (wide,) = study.of("covered_far", world="crowded", sampling="proximity, wide")
    covered = amount(study.measure("covered_far"), wide.estimate)
    bias = [row.difference or 0.0 for row in study.of("far_bias") if row.sampling.startswith("proximity")]
    if min(bias) <= 0 or (wide.estimate or 0.0) >= study.settings.get("conf_level", 0.95):
        return ()
    return (
        Note(
            kind="trust", text="Proximity sampling stretches the distance of first and last: do not read it as a size"
        ),
        Note(
            kind="trust",
            text=f"Steady ranks are not right ones: 95% intervals of first and last hold in {covered} of crowded arenas",
        ),
    )


def _answers(found: list[Answer]) -> Table:
    tones: dict[str, Tone] = {answer.word: answer.tone for answer in found}
    claimed = sum(bool(answer.asked.claim) for answer in found)
    return Table(
        id="answers",
        columns=(
            Column(title="Question"),
            Column(title="Comparisons", spare=True),
            Column(title="Answer", kind="verdict"),
        ),
        rows=tuple((answer.asked.question, answer.counts, answer.word) for answer in found),
        caption=(
            "Proximity sampling against random pairs; for new models, placement matches. The first "
            f"{claimed} are claims of the paper. Better or worse: an interval for all differences at once leaves out 0"
        ),
        tones=tones,
    )


def _needed(study: SamplingStudy) -> Table:
    found = study.of("needed")
    worlds = list(dict.fromkeys((row.world, row.condition) for row in found))
    return Table(
        id="needed",
        columns=(
            Column(title="Sampling"),
            *(
                Column(title=f"{world.capitalize()}, {condition.partition(' ')[0]}", kind="amount")
                for world, condition in worlds
            ),
        ),
        rows=tuple(
            (
                name,
                *[
                    _cell(study, _named([row for row in found if row.condition == condition], world, name))
                    for world, condition in worlds
                ],
            )
            for name in dict.fromkeys(row.sampling for row in found)
        ),
        caption="Votes needed until that share of pairs is in the right order, with Monte Carlo standard errors",
        frame=study.to_frame().to_dict(as_series=False),
    )


def _lessons(study: SamplingStudy) -> Section:
    told = tuple(f"{lead}. {text}" for lead, text in lessons(study))
    return Section(id="lessons", heading="For whoever reads an arena's ratings", blocks=(Items(items=told),))


def _further(study: SamplingStudy) -> list[Section]:
    """Return the figures of the measures that stand second in their parts."""
    return [
        Section(
            id=_id(key),
            heading=study.measure(key).title,
            blocks=(difference(study, key, _id(key)),),
        )
        for key in (*(key for *_, keys in _PARTS for key in keys[1:]), *_NEW)
    ]


def _numbers(study: SamplingStudy, world: str) -> Section:
    rows: list[tuple[str, ...]] = []
    samplings = list(dict.fromkeys(row.sampling for row in study.of("far")))
    for measure in study.measures:
        if measure.key in ("order", "needed", *_NEW):
            continue
        found = study.of(measure.key, world=world)
        for condition in dict.fromkeys(row.condition for row in found):
            own = [row for row in found if row.condition == condition]
            what = f"{measure.title}: {condition}" if condition else measure.title
            rows.append((what, *[_cell(study, _named(own, world, name)) for name in samplings]))
    name = world.replace(" ", "-")
    table = Table(
        id=f"numbers-{name}",
        columns=(Column(title="Measure"), *(Column(title=each, kind="amount") for each in samplings)),
        rows=tuple(rows),
        caption=f"{world.capitalize()}: all other measures at the end, with Monte Carlo standard errors",
    )
    return Section(id=f"world-{name}", heading=f"All numbers: {world}", blocks=(table,))


def _named(rows: list[SamplingRow], world: str, sampling: str) -> SamplingRow | None:
    return next((row for row in rows if (row.world, row.sampling) == (world, sampling)), None)


def _cell(study: SamplingStudy, row: SamplingRow | None) -> str:
    if row is None:
        return "–"
    measure = study.measure(row.measure)
    if row.estimate is None or row.std_error is None:
        return "not reached" if row.reason else "–"
    return f"{amount(measure, row.estimate)} ± {amount(measure, row.std_error).removesuffix('%')}"


def _assumed(study: SamplingStudy) -> Section:
    words = (
        "A vote follows Davidson's model of ties. Strengths are drawn anew for every arena; the same arenas, raters and tastes "
        "serve every way of sampling, so differences are paired. Ratings are Bradley-Terry fits with ties as half a win, "
        "refitted between batches with half a vote won and lost by every model added. Truth is the fit to the shares that "
        "endless raters and prompts would give, all pairs alike. Intervals are clustered by rater, without the added votes."
    )
    gaps = (
        "No arena's real votes, threshold, placement series or schedule: none is published. Other numbers give other answers.",
        "Votes follow one strength a model. Real votes may not, and then the pairs that meet decide what a rating means.",
        "Every rater is asked about any pair. In real applications who votes may depend on the models shown.",
        f"The ring votes for the model in the middle. The paper ({_PAPER}) may mean other attacks.",
        "Placement is tried with one new model among rated ones; all its raters are honest and alike in activity.",
    )
    worlds = Table(
        id="worlds",
        columns=(Column(title="World"), Column(title="What it is"), Column(title="Arenas", kind="count")),
        rows=tuple((world.capitalize(), said, study.n_arenas[world]) for world, said in study.worlds.items()),
        caption="The simulated arenas",
    )
    samplings = Table(
        id="samplings",
        columns=(Column(title="Sampling"), Column(title="Which models meet")),
        rows=tuple(study.samplings.items()),
        caption="The ways of sampling",
    )
    settings = Table(
        id="settings",
        columns=(Column(title="What"), Column(title="Value", kind="amount")),
        rows=tuple((name[0].upper() + name[1:], f"{value:g}") for name, value in study.settings.items()),
        caption="What all arenas share; all invented",
    )
    return Section(
        id="assumed",
        heading="What is assumed, and what is not in it",
        blocks=(Text(text=words), worlds, samplings, settings, Items(items=gaps)),
    )


def _again(study: SamplingStudy) -> Section:
    code = (
        "python -m dev.validation.arena_sampling          # all, some five minutes of processor\n"
        "python -m dev.validation.arena_sampling 0.05     # a twentieth of the arenas"
    )
    items = (
        f"Simulated with evalstats {study.version}; root of all seeds {study.seed}.",
        "95% intervals of paired differences, for all differences at once (Bonferroni, t law).",
        f"Claims: Inclusion Arena, {_PAPER}, from its abstract and summaries.",
    )
    return Section(id="again", heading="How the simulation is run again", blocks=(Code(code=code), Items(items=items)))
