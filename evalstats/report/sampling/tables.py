"""Tables of the page: the answers, the numbers behind them, and what the simulated arenas are."""

from evalstats.datasets.arena_sampling import SamplingRow, SamplingStudy
from evalstats.document.blocks import Table
from evalstats.report.sampling.answers import Answer, amount

_NEW = ("new_rank", "new_rating")


def answer_table(found: list[Answer]) -> Table:
    """Return a row for each question; the last column is the answer's word."""
    rows = tuple((answer.asked.question, answer.counts, answer.word) for answer in found)
    claimed = sum(bool(answer.asked.claim) for answer in found)
    return Table(
        columns=("Question", "Comparisons", "Answer"),
        rows=rows,
        align="llr",
        caption="What proximity sampling does, against random pairs; for new models, placement matches. "
        f"The first {claimed} are claims of the paper",
    )


def world_numbers(study: SamplingStudy, world: str) -> Table:
    """Return a row for each measure and condition in a world, without those of new models; a column for each sampling."""
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
    caption = f"{world.capitalize()}: all other measures at the end, with Monte Carlo standard errors"
    return Table(columns=("Measure", *samplings), rows=tuple(rows), align="l" + "r" * len(samplings), caption=caption)


def newcomer_table(study: SamplingStudy) -> Table:
    """Return the errors of new models, by world and votes."""
    rows: list[tuple[str, ...]] = []
    for world in study.worlds:
        for condition in dict.fromkeys(row.condition for row in study.of(_NEW[0], world=world)):
            cells: list[str] = []
            for key in _NEW:
                own = [row for row in study.of(key, world=world) if row.condition == condition]
                cells += [_cell(study, _named(own, world, name)) for name in ("random", "placement")]
            rows.append((f"{world.capitalize()}, {condition}", *cells))
    return Table(
        columns=("World and votes", "Rank: random", "Rank: placement", "Rating: random", "Rating: placement"),
        rows=tuple(rows),
        align="lrrrr",
        caption="How far rank (places) and rating (points) of a new model are off, with Monte Carlo standard errors",
    )


def needed_table(study: SamplingStudy) -> Table:
    """Return a row for each world and target, a column for each way of sampling."""
    found = study.of("needed")
    samplings = list(dict.fromkeys(row.sampling for row in found))
    rows = [
        (
            world.capitalize(),
            condition.partition(" ")[0],
            *[_cell(study, _named(found, world, name)) for name in samplings],
        )
        for world, condition in dict.fromkeys((row.world, row.condition) for row in found)
    ]
    return Table(
        columns=("World", "Pairs in order", *samplings),
        rows=tuple(rows),
        align="lr" + "r" * len(samplings),
        caption="Votes needed until so many pairs are in the right order, with Monte Carlo standard errors",
    )


def world_table(study: SamplingStudy) -> Table:
    """Return what the simulated arenas are."""
    rows = [(world.capitalize(), words, f"{study.n_arenas[world]:,}") for world, words in study.worlds.items()]
    return Table(
        columns=("World", "What it is", "Arenas"), rows=tuple(rows), align="llr", caption="The simulated arenas"
    )


def sampling_table(study: SamplingStudy) -> Table:
    """Return the ways of sampling in words."""
    return Table(
        columns=("Sampling", "Which models meet"),
        rows=tuple(study.samplings.items()),
        align="ll",
        caption="The ways of sampling",
    )


def settings_table(study: SamplingStudy) -> Table:
    """Return the numbers that all arenas share."""
    rows = [(name[0].upper() + name[1:], f"{value:g}") for name, value in study.settings.items()]
    return Table(columns=("What", "Value"), rows=tuple(rows), align="lr", caption="What all arenas share; all invented")


def _named(rows: list[SamplingRow], world: str, sampling: str) -> SamplingRow | None:
    return next((row for row in rows if (row.world, row.sampling) == (world, sampling)), None)


def _cell(study: SamplingStudy, row: SamplingRow | None) -> str:
    if row is None:
        return "–"
    measure = study.measure(row.measure)
    if row.estimate is None or row.std_error is None:
        return "not reached" if row.reason else "–"
    error = amount(measure, row.std_error).removesuffix("%")
    return f"{amount(measure, row.estimate)} ± {error}"
