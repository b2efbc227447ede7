"""What is said of the stored simulation of which models an arena lets meet."""

from evalstats.datasets.arena_sampling import SamplingRow, SamplingStudy, load_arena_sampling
from evalstats.document.model import Code, Column, Document, Items, Note, Section, Table, Text, Tone
from evalstats.document.numbers import several
from evalstats.report.sampling.answers import Answer, amount, answers, claims, lessons
from evalstats.report.sampling.figures import difference, order

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
            kind="trust", text="proximity sampling stretches the distance of first and last: do not read it as a size"
        ),
        Note(
            kind="trust",
            text=f"steady ranks are not right ones: 95% intervals of first and last hold in {covered} of crowded arenas",
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
        "python -m validation.arena_sampling          # all, some five minutes of processor\n"
        "python -m validation.arena_sampling 0.05     # a twentieth of the arenas"
    )
    items = (
        f"Simulated with evalstats {study.version}; root of all seeds {study.seed}.",
        "95% intervals of paired differences, for all differences at once (Bonferroni, t law).",
        f"Claims: Inclusion Arena, {_PAPER}, from its abstract and summaries.",
    )
    return Section(id="again", heading="How the simulation is run again", blocks=(Code(code=code), Items(items=items)))
