"""Whom do live users prefer? `arena()`: ratings from votes, what is certain of them, and whether to trust them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

import numpy as np
import polars as pl

from evalstats.analysis.arena.adjustments import Covariates, relative_differences, style_pairs
from evalstats.analysis.arena.merged_votes import merged_votes
from evalstats.analysis.arena.options import ArenaOptions, Scale
from evalstats.analysis.arena.ranking import Beside, Material, ranking_of
from evalstats.analysis.arena.ratings import Options, Part, rate
from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.arena.votes import VoteTable, comparisons_of, restricted, vote_table
from evalstats.analysis.provenance import run_notes, sources_of
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan, plan_account, settled, with_aliases
from evalstats.stats.arena.existence import Connection, connection
from evalstats.stats.arena.likelihood import Ties
from evalstats.stats.arena.votes import vote_rows
from evalstats.stats.checks import check_count, check_level

DEFAULT_LEVEL = 0.95
TIES: tuple[Ties, ...] = ("half", "davidson", "rao-kupper")


def arena(
    battles: EvalData | object,
    *,
    ties: Ties = "half",
    cluster: str | Sequence[str] | None = None,
    covariates: str | Sequence[str] | None = None,
    side: bool = False,
    by: str | None = None,
    both_bad: Literal["tie", "drop"] = "tie",
    prior: float | None = None,
    anchor: str | None = None,
    scale: Scale = "elo",
    models: Sequence[str] | None = None,
    conf_level: float | None = None,
    n_resamples: int | None = None,
    online: bool = False,
    checks: bool = True,
    top: Sequence[int] = (1, 3, 5),
    plan: Plan | None = None,
    seed: int = 0,
) -> ArenaRanking:
    """Rate models from votes between two of them, say which ranks are certain, and check the votes.

    Parameters
    ----------
    battles
        What `evalstats.read`, `from_votes` or a store gave; or a table of comparisons with the glossary's columns (one row
        per vote; `outcome` is a, b, tie or both_bad). A lazy frame (Polars, DuckDB) is merged without being held: then
        checks that need single votes are not run.
    ties
        "half": a tie counts as half a win of either. "davidson", "rao-kupper": ties have a probability of their own. The
        others stand beside the one chosen.
    cluster
        By what votes share their errors: "auto" (default) takes prompt, rater, session and event, whichever the votes have;
        a column or several; "none" for independent votes.
    covariates
        Pairs of numeric columns `<name>_a`, `<name>_b` to hold equal; "auto" takes length, headers, lists and bold where the
        votes have them (style control). An adjustment, not a cause: users may like long answers for good reasons.
    side
        Whether to hold the side (or the order shown) equal; it is estimated beside in any case.
    by
        A column (or `tags`) whose levels get ratings of their own, drawn towards the overall ones.
    both_bad
        "tie": a vote that both are bad counts as a tie in ratings; "drop": it is left out. It is counted apart either way.
    prior
        Wins and losses of every model against an average one to add, such as 0.5: gives ratings where the votes do not
        connect all models, drawn towards the mean. None: models are rated within the parts that votes connect.
    anchor
        A model whose rating is fixed (1000 on the Elo scale); otherwise the mean of all models is.
    scale
        "elo": 1000 + 400/ln(10) x log-odds; "log-odds".
    models
        Names to keep: votes between two of them.
    conf_level
        Level of all intervals and sets; 0.95 where neither it nor a plan says otherwise.
    n_resamples
        Rounds of a bootstrap to show beside the sandwich intervals; None for none.
    online
        Whether to add ratings by one pass in the order of time, as chess servers make them. They depend on the order.
    checks
        Whether to test fit, trust and drift, which takes longer than the rating.
    top
        For each k, which models may be among the k best.
    plan
        What was declared before looking; options that are given go before it, and the result says where it departs.
    seed
        For everything that is drawn.

    Returns
    -------
    ArenaRanking
        A line for each model with its rating and rank set, the pairs, other choices, checks, and how it was reached.

    Raises
    ------
    InputError
        If a name, column or option is unknown.
    CannotAnswerError
        If no vote has an outcome, or no two models can be rated.

    Notes
    -----
    Strengths maximise the Bradley-Terry (quasi-)likelihood; standard errors are sandwich errors clustered by all that votes
    share; a difference of two ratings uses their full covariance. Which models meet must not hang on how the answers turned
    out. An arena that pairs models by their ratings so far stretches the ratings and makes intervals too short (see the
    report `arena-sampling`), and leaves distant models joined by chains only; votes that say so get a warning.

    References
    ----------
    Bradley & Terry 1952; Davidson 1970; Rao & Kupper 1967; Ford 1957; Cameron, Gelbach & Miller 2011; Mogstad, Romano, Shaikh
    & Wilhelm 2024.

    Examples
    --------
    >>> votes = {
    ...     "model_a": ["x", "y"] * 30,
    ...     "model_b": ["y", "x"] * 30,
    ...     "outcome": ["a", "b", "a"] * 10 + ["b", "a", "b"] * 10,
    ... }
    >>> found = arena(votes, checks=False)
    >>> [row.name for row in found.rows], found.n_votes
    (['x', 'y'], 60)
    """
    given = (None if cluster is None else list(_listed(cluster)), conf_level)
    asked = ArenaOptions(
        ties=ties,
        cluster=_listed(cluster) or None,
        covariates=_listed(covariates) or None,
        side=side,
        by=by,
        both_bad=both_bad,
        prior=prior,
        anchor=anchor,
        scale=scale,
        models=None if models is None else tuple(models),
        conf_level=conf_level,
        n_resamples=n_resamples,
        online=online,
        checks=checks,
        top=tuple(top),
        seed=seed,
    )
    if plan is not None:
        battles, cluster, conf_level = _planned(battles, plan, *given)
    options = _checked(asked, conf_level=DEFAULT_LEVEL if conf_level is None else conf_level)
    clusters = "auto" if cluster is None else cluster
    if not isinstance(clusters, str) and len(clusters) == 1 and clusters[0] in ("auto", "none"):
        clusters = clusters[0]
    name, sources, remarks = _about(battles)
    if isinstance(battles, pl.LazyFrame) or _is_lazy(battles):
        if covariates or side or by:
            raise InputError("covariates, side and by need single votes; collect the lazy frame first")
        table, counts = merged_votes(
            battles, arena=name, cluster=clusters, models=models, keep_both_bad=both_bad == "tie"
        )
        beside = Covariates(names=(), values=np.zeros((0, 0)))
        styled = sided = None
    else:
        frame = comparisons_of(battles)
        known_style = _listed(covariates) == ("auto",)
        wanted = style_pairs(frame) if known_style else _listed(covariates)
        if known_style and not wanted:
            raise InputError(
                "covariates='auto' looks for pairs of columns such as assistant_tokens_a and assistant_tokens_b, header_count, "
                "list_count, bold_count; the votes have none: name a pair of numeric columns"
            )
        table, counts, beside = vote_table(
            frame,
            arena=name,
            cluster=clusters,
            covariates=wanted,
            side=side,
            models=models,
            keep_both_bad=both_bad == "tie",
            graded=ties == "half",
        )
        styled, sided = _further(table, beside)
    if anchor is not None and anchor not in table.models:
        have = ", ".join(table.models[:12]) + (", ..." if table.n_models > 12 else "")
        raise InputError(f"the anchor {anchor!r} has no votes; models with votes: {have}")
    found = connection(table.rows)
    made = Material(
        table=table,
        counts=counts,
        covariates=beside,
        connection=found,
        parts=_parts(table, found, options),
        options=options,
        styled=styled,
        sided=sided,
        arena=name,
        sources=sources,
        remarks=remarks,
    )
    result = replace(ranking_of(made, by=by, checks=checks), asked=asked)
    if plan is None:
        return result
    account = plan_account(plan, benchmark=name, span=None, clusters=given[0], conf_level=given[1])
    return replace(result, plan=account, notes=(*as_notes("plan", account.departures), *result.notes))


def _planned(
    battles: object, plan: Plan, clusters: list[str] | None, conf_level: float | None
) -> tuple[object, Sequence[str] | None, float | None]:
    """Return the votes under the plan's aliases, and what it declares wherever nothing was given."""
    data = with_aliases(battles, plan.aliases) if isinstance(battles, EvalData) else battles
    found = settled(plan, benchmark=_about(battles)[0], clusters=clusters, conf_level=conf_level)
    return data, cast("Sequence[str] | None", found["clusters"]), cast("float | None", found["conf_level"])


def _checked(asked: ArenaOptions, *, conf_level: float) -> Options:
    if asked.ties not in TIES:
        raise InputError(f"ties is {asked.ties!r}; use one of {', '.join(TIES)}")
    if asked.both_bad not in {"tie", "drop"}:
        raise InputError(f"both_bad is {asked.both_bad!r}; use 'tie' or 'drop'")
    if asked.scale not in {"elo", "log-odds"}:
        raise InputError(f"scale is {asked.scale!r}; use 'elo' or 'log-odds'")
    if asked.prior is not None and not 0.0 < asked.prior < np.inf:
        raise InputError(f"prior is {asked.prior:g}; give the wins and losses to add to every model, such as 0.5")
    resamples = asked.n_resamples
    return Options(
        ties=asked.ties,
        prior=asked.prior or 0.0,
        anchor=asked.anchor,
        scale=asked.scale,
        conf_level=check_level(conf_level),
        n_resamples=None if resamples is None else check_count(resamples, "n_resamples", least=100),
        online=asked.online,
        top=tuple(check_count(k, "an entry of top", least=1) for k in asked.top),
        seed=check_count(asked.seed, "seed"),
    )


def _is_lazy(battles: object) -> bool:
    """Tell whether the votes are a lazy frame of another library (a DuckDB relation)."""
    return type(battles).__module__.partition(".")[0].strip("_") in {"duckdb", "pyspark", "ibis", "dask"}


def _listed(covariates: str | Sequence[str] | None) -> tuple[str, ...]:
    if covariates is None:
        return ()
    return (covariates,) if isinstance(covariates, str) else tuple(covariates)


def _about(battles: object) -> tuple[str, tuple[tuple[str, str], ...], tuple[Note, ...]]:
    """Return the arena's name, its sources, and what must be known of them."""
    if not isinstance(battles, EvalData):
        return "votes", (), ()
    runs = battles.comparisons["run"].unique().sort().to_list()
    about = battles.runs.filter(pl.col("run").is_in(runs))
    names = about["benchmark"].unique().sort().to_list()
    return " + ".join(names) or "votes", sources_of(battles, runs), run_notes(battles, runs)


def _further(table: VoteTable, beside: Covariates) -> tuple[Beside | None, Beside | None]:
    """Return the votes with style, and with the side, as covariates, where the headline has none."""
    if table.votes is None:
        return None, None
    styled = None
    style = style_pairs(table.votes)
    if not beside.names and style:
        styled = _with(table, style, side=False)
    sided = None if "side" in beside.names else _with(table, beside.names, side=True)
    return styled, sided


def _with(table: VoteTable, names: Sequence[str], *, side: bool) -> Beside | None:
    if table.votes is None:
        return None
    try:
        found = relative_differences(table.votes, names, side=side)
    except InputError:
        return None
    at = np.ones(table.first.size, dtype=np.bool_) if found.kept is None else found.kept.to_numpy()
    if at.mean() < 0.5:
        return None  # an adjustment of some votes would be shown as one of all
    rows = vote_rows(
        table.first[at],
        table.second[at],
        table.outcome[at],
        n_models=table.n_models,
        share=table.share[at],
        weight=table.weight[at],
        covariates=found.values,
        clusters=tuple(codes[at] for codes in table.codes),
    )
    return Beside(rows=rows, covariates=found)


def _parts(table: VoteTable, found: Connection, options: Options) -> list[Part]:
    """Rate every part of the vote graph that holds at least two models; all of them at once with a prior."""
    if found.is_connected or options.prior > 0.0:
        return [rate(table, tuple(range(table.n_models)), options, number=1)]
    large = [part for part in found.components if len(part) > 1]
    if not large:
        graph = f"{table.n_models} models, none of which both won and lost along any chain of votes"
        raise CannotAnswerError(
            f"no two models can be put on one scale ({graph}); collect votes between them, or give a prior (prior=0.5)"
        )
    return [rate(restricted(table, part), part, options, number=1 + found.components.index(part)) for part in large]
