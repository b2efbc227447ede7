"""What is said of a posterior: the probabilities under the usual prior, and how far they depend on it."""

from collections.abc import Sequence

from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.posterior.result import Posterior, PosteriorRow, RankPosterior, one_sided
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import level, shown_numbers
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Items,
    Note,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    interval_column,
    listed,
    number_column,
    works_section,
)
from evalstats.document.names import named
from evalstats.document.numbers import declared, digits_of_interval, interval_words, number, scaled, titled, with_unit
from evalstats.grammar import and_list, conjugate, plural, plural_of

_SHOWN = 20
# A map of more models has cells too small for words.
_MOST_MODELS = 15
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "open": "caution", "depends on the prior": "caution"}
_FIRM = 0.995
# As a cell of a table has room for it.
_CELLS = {"depends on the prior": "prior decides"}


def document(result: Posterior | RankPosterior) -> Document:
    """Return what is said of a posterior."""
    if isinstance(result, RankPosterior):
        return _of_ranks(result)
    return _of_changes(result) if result.of == "scenarios" else _of_two(result)


def chance(p: float | None) -> str:
    """Write a probability that is no p-value, never as certain.

    >>> chance(0.9731), chance(0.9962), chance(0.99999), chance(0.0004)
    ('97%', '99.6%', 'above 99.9%', 'below 0.1%')
    """
    if p is None:
        return "–"
    if p > 0.999 or p < 0.001:
        return "above 99.9%" if p > 0.5 else "below 0.1%"
    return f"{number(100 * p, 1 if max(p, 1 - p) >= _FIRM else 0)}%"


def chances(rows: Sequence[float | None]) -> str:
    """Write the least and the largest of some probabilities.

    >>> chances([0.81, 0.97, 0.9]), chances([0.991, 0.993])
    ('81% to 97%', '99%')
    """
    known = [p for p in rows if p is not None]
    low, high = chance(min(known)), chance(max(known))
    return low if low == high else f"{low} to {high}"


def beside_sections(result: Posterior | RankPosterior) -> tuple[Block, Section]:
    """Return the posterior as part of another document: a line of its answer, and a section of its evidence."""
    own = document(result)
    blocks = tuple(block for section in own.evidence for block in section.blocks)
    by_margin = _by_margin(result) if isinstance(result, Posterior) and result.of != "scenarios" else ""
    said = own.headline.replace("Whether ", "whether ", 1) if own.headline.startswith("Whether ") else own.headline
    line = Text(text=f"Posterior, beside the interval: {said}{by_margin}.")
    return line, Section(id="posterior", heading=f"Posterior: {own.headline}", blocks=(*own.answer, *blocks))


def _by_margin(result: Posterior) -> str:
    """Say how probable it is that the difference exceeds the margin, on the side that is the likelier one."""
    row = result.usual[0]
    if result.margin is None or row.p_better is None:
        return ""
    size = with_unit(declared(result.margin, result.scale), result.unit)
    p = row.p_better_by_margin if row.p_better >= 0.5 else row.p_worse_by_margin
    return f"; {'better' if row.p_better >= 0.5 else 'worse'} by more than {size} with probability {chance(p)}"


# --- two systems ---


def _of_two(result: Posterior) -> Document:
    row, rows = result.usual[0], result.under_all(result.usual[0].name)
    digits = digits_of_interval(row.conf_low, row.conf_high, result.scale)
    ends = interval_words(row.conf_low, row.conf_high, result.scale, digits)
    first, second, answer = named(result.baseline), named(result.candidate), result.answer()
    chosen, kept = (
        with_unit(_loss(result, loss, digits + 1), result.unit) for loss in (row.loss_if_chosen, row.loss_if_kept)
    )
    return Document(
        kind="posterior",
        title=f"How probable is it that {second} is better than {first}{placed(result.benchmark)}?",
        label=f"P {chance(row.p_better)}",
        tone=_TONES[answer],
        headline=_headline_of_two(result),
        number=with_unit(scaled(row.estimate, result.scale, digits, sign=True), result.unit),
        number_words=f"posterior mean, {level(result)} credible interval {ends}",
        interval=drawn_interval(
            row.estimate,
            row.ends,
            scale=result.scale,
            digits=digits,
            unit=result.unit,
            origin=0.0,
            margin=result.margin or 0.0,
            falling=not result.higher_is_better,
            conf_level=result.conf_level,
        ),
        scope=f"{second} minus {first} in {named(result.metric)}; the comparison itself says {result.beside}",
        answer=(_intervals(result, rows),),
        notes=(*result.notes, *_caution(hangs=answer == "depends on the prior")),
        actions=(f"Expected loss of a wrong choice: {chosen} if you take {second}, {kept} if you keep {first}.",),
        evidence=(_priors_section(result, rows),),
        method=_method(result),
    )


def _headline_of_two(result: Posterior) -> str:
    rows = result.under_all(result.usual[0].name)
    usual, answer = rows[0].p_better or 0.0, result.answer()
    side = "better" if usual >= 0.5 else "worse"
    p = [row.p_better if side == "better" or row.p_better is None else 1 - row.p_better for row in rows]
    first, second = named(result.baseline), named(result.candidate)
    if answer == "open" and chance(p[0]) == "50%":
        return f"Neither {second} nor {first} is more likely to be better"
    what = {"open": "may be", "depends on the prior": "is probably"}.get(answer, "is")
    others = f"; {chances(p[1:])} under other priors" if answer == "depends on the prior" else ""
    return f"{second} {what} {side} than {first} (probability {chance(p[0])}{others})"


def _caution(*, hangs: bool) -> tuple[Note, ...]:
    """Say that how sure to be is a matter of the prior; the verdict, which has none, stands as it is."""
    if not hangs:
        return ()
    text = "How probable it is depends on the prior: under a sceptical one the data leave it open, under a wide one they do not"
    return (Note(kind="choice", text=text, remedy="Collect more items, or argue for one prior"),)


def _intervals(result: Posterior, rows: Sequence[PosteriorRow]) -> Figure:
    laws = {prior.name: prior.words for prior in result.priors}
    return Figure(
        id="posterior-intervals",
        plot="forest",
        rows={
            "label": [f"{row.prior} prior" for row in rows],
            **shown_numbers(rows, result.scale),
            "detail": [f"P(better) {chance(row.p_better)}" for row in rows],
            "strong": [place == 0 for place in range(len(rows))],
        },
        options={
            "title": titled(f"{rows[0].name} in {result.metric}", result.unit),
            **({} if result.margin is None else {"margin": result.margin * result.scale}),
        },
        alt=f"Credible intervals of the difference under {len(rows)} priors: "
        + "; ".join(f"{row.prior} ({laws[row.prior]}), P(better) {chance(row.p_better)}" for row in rows)
        + ".",
        caption=f"The difference under each prior, with {level(result)} credible intervals",
        table=None,
    )


def _priors_section(result: Posterior, rows: Sequence[PosteriorRow]) -> Section:
    laws = {prior.name: prior.words for prior in result.priors}
    size = "" if result.margin is None else with_unit(declared(result.margin, result.scale), result.unit)
    digits = 1 + digits_of_interval(rows[0].conf_low, rows[0].conf_high, result.scale)
    margin_columns = () if result.margin is None else (f"P(better by {size})", f"P(worse by {size})")
    table = Table(
        id="priors",
        columns=(
            Column(title="Prior", kind="name"),
            Column(title="P(better)", kind="amount"),
            *(Column(title=title, kind="amount") for title in margin_columns),
            number_column(result, "Mean", sign=True),
            interval_column(result, f"{level(result)} credible"),
            Column(title=titled(f"Loss if {result.candidate}", result.unit), kind="amount"),
            Column(title=titled(f"Loss if {result.baseline}", result.unit), kind="amount"),
            Column(title="Distribution", kind="text", spare=True),
        ),
        rows=tuple(
            (
                row.prior,
                chance(row.p_better),
                *(() if result.margin is None else (chance(row.p_better_by_margin), chance(row.p_worse_by_margin))),
                row.estimate,
                row.ends,
                _loss(result, row.loss_if_chosen, digits),
                _loss(result, row.loss_if_kept, digits),
                laws[row.prior],
            )
            for row in rows
        ),
        caption="The same data under each prior; losses are what a wrong choice gives up, averaged over the posterior",
        lead=True,
        frame=result.to_frame().to_dict(as_series=False),
    )
    hangs = result.answer() == "depends on the prior"
    heading = "How sure to be depends on the prior" if hangs else "Other priors give the same answer"
    return Section(id="sensitivity", heading=heading, blocks=(table,))


def _loss(result: Posterior | RankPosterior, loss: float | None, digits: int) -> str:
    """Write an expected loss; one that is too small to be shown is below what is, and never 0."""
    if loss is None:
        return "–"
    least = 10.0**-digits
    return f"<{number(least, digits)}" if 0 < loss * result.scale < least else number(loss * result.scale, digits)


# --- scenarios ---


def _of_changes(result: Posterior) -> Document:
    usual = result.usual
    answers = {row.name: result.answer(row.name) for row in usual if row.reason is None}
    worse = [name for name, answer in answers.items() if answer == "worse"]
    hangs = [name for name, answer in answers.items() if answer == "depends on the prior"]
    what = f"{len(worse)} of {plural(len(answers), 'change')} {'is a loss' if len(worse) == 1 else 'are losses'}"
    headline = f"{what if worse else 'No change is a loss'} by the {level(result)} credible intervals of every prior"
    if hangs:
        headline += f"; {len(hangs)} {conjugate(len(hangs), 'depend')} on the prior"
    size = "" if result.margin is None else with_unit(declared(result.margin, result.scale), result.unit)
    table = Table(
        id="changes",
        columns=(
            Column(title="Model in scenario", kind="name"),
            Column(title="P(worse)", kind="amount"),
            *(() if result.margin is None else (Column(title=f"P(worse by {size})", kind="amount"),)),
            number_column(result, "Mean", sign=True),
            interval_column(result, f"{level(result)} credible"),
            Column(title="P(worse), other priors", kind="amount"),
            Column(title="Answer", kind="verdict"),
        ),
        rows=tuple(
            (
                row.name,
                chance(None if row.p_better is None else 1 - row.p_better),
                *(() if result.margin is None else (chance(row.p_worse_by_margin),)),
                row.estimate,
                row.ends,
                "–"
                if row.p_better is None
                else chances(
                    [None if each.p_better is None else 1 - each.p_better for each in result.under_all(row.name)[1:]]
                ),
                row.reason or _CELLS.get(answers[row.name], answers[row.name]),
            )
            for row in usual
        ),
        tones={**_TONES, "prior decides": "caution"},
        caption=f"Each model in each scenario against {named(result.baseline)}; nothing is adjusted for their number",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return Document(
        kind="posterior",
        title=f"How probable are the changes against {named(result.baseline)}{placed(result.benchmark)}?",
        label=f"{len(worse)} of {len(answers)} losses",
        tone="caution" if hangs else "neutral",
        headline=headline,
        scope=f"{named(result.metric)}; the scenarios themselves say {result.beside}",
        answer=(table,),
        notes=result.notes,
        method=_method(result),
    )


# --- ranks ---


def _of_ranks(result: RankPosterior) -> Document:
    top = result.usual[0] if not result.usual else max(result.usual, key=lambda row: row.p_first)
    under = [row.p_first for row in result.rows if row.model == top.model]
    best, clear = named(top.model), not result.hangs and top.p_first >= one_sided(result.conf_level)
    if result.hangs:
        headline = (
            f"{best} is probably best: probability {chance(top.p_first)}, {chances(under[1:])} under other priors"
        )
    else:
        headline = f"{best} {'is best' if clear else 'leads, and is best'} with probability {chance(top.p_first)}"
    rivals = [row for row in result.usual if row.model != top.model and row.p_first >= 0.05]
    scope = f"Of {plural(len(result.usual), result.contrast, plural_of(result.contrast))} in {named(result.metric)}"
    if rivals:
        scope += "; next " + and_list([f"{named(row.model)} {chance(row.p_first)}" for row in rivals], 3)
    loss = with_unit(_loss(result, top.loss, _digits_of_ranks(result)), result.unit)
    return Document(
        kind="posterior",
        title=f"How probable is each rank{placed(result.benchmark)}?",
        label=f"P(first) {chance(top.p_first)}",
        tone="good" if clear else "caution",
        headline=headline,
        scope=f"{scope}; the leaderboard itself says {result.beside}",
        answer=(_map(result),),
        notes=(*result.notes, *_caution(hangs=result.hangs)),
        actions=(f"Expected loss of choosing {best}, if another is better: {loss}.",),
        evidence=(_ranks_section(result), _rank_priors(result)),
        method=_method(result),
    )


def _digits_of_ranks(result: RankPosterior) -> int:
    return 2 if result.scale > 1 else 3


def _map(result: RankPosterior) -> Figure:
    rows = result.usual[:_MOST_MODELS]
    cells = [(row.model, place + 1, p) for row in rows for place, p in enumerate(row.p_rank[:_MOST_MODELS])]
    several = len(result.usual)
    cut = f"The first {_MOST_MODELS} of {several}, by expected rank." if several > _MOST_MODELS else ""
    table = Table(
        id="rank-probabilities",
        columns=(
            Column(title=result.contrast.capitalize(), kind="name"),
            *(Column(title=str(place + 1), kind="amount") for place in range(len(rows))),
        ),
        rows=tuple((row.model, *(_short(p) for p in row.p_rank[:_MOST_MODELS])) for row in rows),
        caption="P(rank), in percent",
        frame=result.ranks_frame().to_dict(as_series=False),
    )
    return Figure(
        id="rank-probabilities",
        plot="heatmap",
        rows={
            "model": [model for model, _, _ in cells],
            "rank": [str(place) for _, place, _ in cells],
            "estimate": [100 * p for _, _, p in cells],
            "words": [_short(p) for _, _, p in cells],
            "tone": ["neutral"] * len(cells),
            "settled": [p >= 0.005 for _, _, p in cells],
        },
        options={"row": "model", "column": "rank", "note": cut},
        alt="Probability of each rank: "
        + "; ".join(
            f"{row.model} first {chance(row.p_first)}, expected rank {number(row.expected_rank, 1)}" for row in rows
        )
        + ".",
        caption="Probability of each rank, in percent",
        table=table,
    )


def _short(p: float) -> str:
    """Write a probability in percent where there is little room.

    >>> _short(0.5234), _short(0.003), _short(0.998), _short(1.0)
    ('52', '<1', '>99', '>99')
    """
    percent = 100 * p
    return "<1" if percent < 0.5 else ">99" if percent > 99.5 else f"{percent:.0f}"


def _ranks_section(result: RankPosterior) -> Section:
    table = Table(
        id="ranks",
        columns=(
            Column(title=result.contrast.capitalize(), kind="name"),
            Column(title="P(first)", kind="amount"),
            Column(title="Expected rank", kind="number", digits=1, plain=True),
            Column(title=f"{level(result)} credible", kind="amount"),
            number_column(result, "Vs mean", sign=True),
            Column(title=titled("Loss", result.unit), kind="amount"),
        ),
        rows=tuple(
            (
                row.model,
                chance(row.p_first),
                row.expected_rank,
                str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}",
                row.estimate,
                _loss(result, row.loss, _digits_of_ranks(result)),
            )
            for row in result.usual
        ),
        caption="Ranks under the usual prior, which shrinks scores towards their mean; loss: expected, if chosen",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    return Section(id="expected-ranks", heading="Expected ranks and losses", blocks=(table,))


def _rank_priors(result: RankPosterior) -> Section:
    could = {row.model for row in result.rows if row.p_first >= 0.01}
    models = [row.model for row in sorted(result.usual, key=lambda row: -row.p_first) if row.model in could][:5]
    table = Table(
        id="priors",
        columns=(
            Column(title="Prior", kind="name"),
            *(Column(title=f"P({model} first)", kind="amount") for model in models),
            Column(title="Distribution", kind="text", spare=True),
        ),
        rows=tuple(
            (
                prior.name,
                *(
                    chance(next(row.p_first for row in result.under(prior.name) if row.model == model))
                    for model in models
                ),
                prior.words,
            )
            for prior in result.priors
        ),
        caption="Who is first under each prior",
        lead=True,
    )
    heading = (
        "How sure the first place is depends on the prior" if result.hangs else "Other priors give the same answer"
    )
    return Section(id="sensitivity", heading=heading, blocks=(table,))


# --- method ---


def _method(result: Posterior | RankPosterior) -> tuple[Section, ...]:
    text = known_methods()[result.method]
    priors = tuple(f"{prior.name[:1].upper()}{prior.name[1:]} prior: {prior.words}." for prior in result.priors)
    extra = ()
    if isinstance(result, RankPosterior):
        size = with_unit(scaled(result.between_sd, result.scale, 1), result.unit)
        error = number(100 * result.error, 1)
        extra = (
            f"Standard deviation between models: {size} (posterior median).",
            f"{result.n_resamples:,} draws of all ranks; Monte Carlo standard error at most {error} points. Pairs are exact.",
        )
    why = "It stands beside the interval, which decides: a posterior needs a prior, and the verdict does not."
    return (
        Section(
            id="method",
            heading="How the posterior is computed",
            blocks=(Text(text=text.how), Text(text=why), Items(items=(*priors, *extra))),
        ),
        listed("assumptions", "What this assumes", (text.takes, "The priors are those above; none knows your models")),
        works_section(text.sources),
        result.origin.section(),
    )
