"""A ranking of votes in words and tables. Only what is in the result is said."""

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.arenas.wording_answer import (
    answer_label,
    answer_tone,
    connection_sentences,
    headline,
    standing_sentences,
    ties_sentence,
)
from evalstats.analysis.arenas.wording_checks import checks_blocks
from evalstats.analysis.arenas.wording_choices import choice_lines, choices_table, covariate_lines, covariates_table
from evalstats.analysis.arenas.wording_slices import categories_blocks, drift_blocks
from evalstats.analysis.arenas.wording_tables import (
    LINES,
    beside_ratings,
    neighbours_table,
    pair_lines,
    ratings_table,
)
from evalstats.analysis.arenas.words import has_ranks, parts, shared_word, some, stopped, whole
from evalstats.analysis.notes import plan_items
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import number, plural
from evalstats.stats.arena.covariance import df_words

_PARTS = 12


def arena_sentences(result: ArenaRanking) -> list[str]:
    """Say who may be the best, what is certain, and what to beware of."""
    return [
        stopped(headline(result)),
        *standing_sentences(result),
        *[stopped(f"Warning: {text}") for text in result.warnings],
    ]


def arena_blocks(result: ArenaRanking) -> list[Block]:
    """Return the whole answer: who may be the best, the ratings, what they hang on, the checks, the method."""
    blocks: list[Block] = [
        Heading(text=f"{plural(result.n_models, 'model')} by the votes of {result.arena}", level=1),
        Banner(label=answer_label(result), text=stopped(headline(result)), tone=answer_tone(result)),
        Paragraph(text=" ".join(standing_sentences(result))),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=tuple(map(stopped, result.warnings)), tone="caution"))
    if result.converged:
        # From a fit that did not converge nothing follows, so none of its numbers is shown.
        blocks.extend(_with_lines(ratings_table(result), beside_ratings(result)))
        blocks.extend(parts_blocks(result))
        blocks.extend(_with_lines(neighbours_table(result), pair_lines(result)))
        blocks.extend(_choices(result))
        blocks.extend(categories_blocks(result))
        blocks.extend(drift_blocks(result))
        blocks.extend(checks_blocks(result))
    blocks.append(Bullets(title="Method", items=tuple(method_items(result))))
    if result.notes:
        blocks.append(Bullets(title="Notes", items=tuple(map(stopped, result.notes))))
    return blocks


def _with_lines(table: Table | None, lines: list[str]) -> list[Block]:
    if table is None:
        return []
    return [table, Bullets(items=tuple(map(stopped, lines)))] if lines else [table]


def parts_blocks(result: ArenaRanking) -> list[Block]:
    """Say how the votes tie the models together, where they do not make one ranking."""
    graph = result.graph
    if whole(result) and (graph is None or (graph.connected and len(graph.islands) <= 1)):
        return []  # the check of the connection says how many pairs met
    said = connection_sentences(result)
    blocks: list[Block] = [Heading(text="Who can be compared", level=2), Paragraph(text=" ".join(said))]
    if not whole(result):
        told = [
            f"Part {rows[0].component or i} ({plural(len(rows), 'model')}): {some([row.name for row in rows], LINES)}."
            for i, rows in enumerate(parts(result), start=1)
        ]
        more = [f"{len(told) - _PARTS} further parts are in the table."] if len(told) > _PARTS else []
        blocks.append(Bullets(items=(*told[:_PARTS], *more)))
    return blocks


def _choices(result: ArenaRanking) -> list[Block]:
    """Return style and other choices under one heading, where there are any."""
    style = _with_lines(covariates_table(result), covariate_lines(result))
    other = _with_lines(choices_table(result), choice_lines(result))
    return [Heading(text="What the ratings hang on", level=2), *style, *other] if style or other else []


# --- method ---


def method_items(result: ArenaRanking) -> list[str]:
    """Return short statements on how the answer was reached."""
    df = f", {df_words(result.df)} df" if result.df is not None else ""
    names = " and ".join(shared_word(each.name) for each in result.clusters)
    errors = f"clustered by {names}" if names else "taking every vote as independent"
    items = [
        f"{result.method}, because {result.method_reason}. {ties_sentence(result)}",
        *([f"Ranks: {result.rank_method}"] if has_ranks(result) and result.rank_method else []),
        *([f"Standard errors: {errors}{df}"] if result.covariance is not None else []),
        f"Estimand: {result.estimand}",
        *(
            [f"Prior: {number(result.prior, 1)} wins and losses of each model against an average one"]
            if result.prior
            else []
        ),
        *plan_items(result.plan),
        _sources(result),
    ]
    return [stopped(item) for item in items]


def _sources(result: ArenaRanking) -> str:
    digests = [f"{run} ({digest[:12]})" if digest else run for run, digest in result.sources]
    runs = f"Votes from: {some(digests)}. " if digests else ""
    drawn = f"{result.n_resamples:,} draws" if result.n_resamples else "no draws for intervals"
    return f"{runs}evalstats {result.version}, {drawn}, seed {result.seed}"
