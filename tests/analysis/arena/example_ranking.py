"""Hand-made answers to "whom do live users prefer?", for the tests of words, figures and pages: nothing is fitted here.

Ratings are made up; what hangs on them (intervals, pairs, rank sets) follows from them by the plainest formula, so that the
parts of a result agree with each other as those of a real one do.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from statistics import NormalDist

import numpy as np

from evalstats.analysis.arena.result import (
    Alternative,
    ArenaRanking,
    Burst,
    Categories,
    CategoryRating,
    CheckLine,
    ClusterCount,
    FewVotesFlip,
    FitChecks,
    ModelDrift,
    PairContrast,
    PairResidual,
    PeriodRating,
    RaterFlag,
    RaterInfluence,
    RatingDrift,
    RatingRow,
    TrustChecks,
    VoteCovariate,
    VoteGraph,
    WeakLink,
)
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin
from evalstats.document.model import Note
from evalstats.schema.plan import PlanAccount
from evalstats.stats.arena.goodness_of_fit import AgainstDrawn, ShareBin

POINTS = 400 / math.log(10)
CLUSTERS = (
    ClusterCount(name="rater", n_levels=124, effective=43.2, largest=0.081),
    ClusterCount(name="prompt", n_levels=130, effective=128.0, largest=0.009),
)
HOSTILE = (
    "<script>alert(1)</script>|$x$",
    "a|b\n\n# heading \x1b[2J",
    "=cmd() `code` #eval @ref",
    f"{'long-name-' * 9}one",
    f"{'long-name-' * 9}two",
    "模型日本語" * 8,
)
_NORMAL = NormalDist()


def small() -> ArenaRanking:
    """Five models, two of which may be the best."""
    return made(
        ("falcon", "heron", "kestrel", "osprey", "wren"), (1060.0, 1048.0, 1002.0, 960.0, 930.0), 7.0, n_votes=4200
    )


def large() -> ArenaRanking:
    """Sixty models with long names, alike but for their ends."""
    names = tuple(
        f"laboratory-{i % 7}/model-of-{7 * (i // 7):03d}-billion-instruct-2026-{i:02d}-preview" for i in range(60)
    )
    ratings = tuple(1000 + 9.0 * (29.5 - i) + 6.0 * math.sin(3.0 * i) for i in range(60))
    order = np.argsort(ratings)[::-1]
    return made(
        tuple(names[i] for i in order), tuple(ratings[i] for i in order), 14.0, n_votes=128_400, ties="davidson"
    )


def disconnected() -> ArenaRanking:
    """Nine models: one was never beaten, two met none of the others."""
    first = made(
        ("crane", "dove", "eider", "finch", "grebe", "hawk"), (1055.0, 1030.0, 1002.0, 980.0, 960.0, 952.0), 8.0
    )
    second = made(("ibis", "jay"), (1030.0, 970.0), 12.0)
    alone = RatingRow(
        name="albatross",
        estimate=None,
        reason="it lost no vote, so no finite rating explains its votes",
        n_votes=14,
        n_wins=14,
        component=1,
        rank_reason="it is alone in its part",
    )
    rows = (
        alone,
        *(replace(row, component=2) for row in first.rows),
        *(replace(row, component=3) for row in second.rows),
    )
    reason = "the votes leave 3 parts between which no rating can be told"
    names = [tuple(row.name for row in found.rows) for found in (first, second)]
    return replace(
        first,
        rows=rows,
        pairs=(*first.pairs, *second.pairs),
        covariance=None,
        n_models=9,
        rank_reason=reason,
        graph=VoteGraph(
            n_models=9,
            n_pairs=36,
            n_pairs_met=17,
            components=(("albatross",), *names),
            islands=(("albatross", *names[0]), names[1]),
            unbeaten=("albatross",),
            few_votes=(("jay", 6),),
        ),
        checks=(
            CheckLine(check="connected", title="Connections", status="limit", finding=reason),
            *first.checks[1:],
        ),
        notes=(Note(kind="comparability", text=reason),),
    )


def without_intervals() -> ArenaRanking:
    """Five models whose votes come from four raters: ratings, and nothing that could be said of their errors."""
    found = small()
    reason = "the votes come from 4 raters, and at least 6 are needed for an interval"
    rows = tuple(
        replace(
            row,
            std_error=None,
            conf_low=None,
            conf_high=None,
            reason=reason,
            rank_low=None,
            rank_high=None,
            rank_low_marginal=None,
            rank_high_marginal=None,
            rank_arena=None,
            rank_reason=reason,
            may_be_best=None,
            top=(),
        )
        for row in found.rows
    )
    pairs = tuple(
        PairContrast(
            first=pair.first,
            second=pair.second,
            estimate=pair.estimate,
            win_probability=pair.win_probability,
            n_votes=pair.n_votes,
            reason=reason,
            verdict="not compared",
        )
        for pair in found.pairs
    )
    return replace(
        found,
        rows=rows,
        pairs=pairs,
        covariance=None,
        df=None,
        vote_level_ratio=None,
        clusters=(ClusterCount(name="rater", n_levels=4, effective=3.1, largest=0.4),),
        rank_reason=reason,
        rank_method="",
        notes=(Note(kind="few", text=reason),),
    )


def weakly_linked() -> ArenaRanking:
    """Five models, two of which hang by a win and a tie."""
    found = small()
    assert found.graph is not None
    link = WeakLink(group=("osprey", "wren"), n_models=2, n_wins=1.5, side="wins")
    line = CheckLine(check="connected", title="Connections", status="limit", finding="the scale rests on few votes")
    return replace(found, graph=replace(found.graph, links=(link,)), checks=(line, *found.checks[1:]))


def troubled() -> ArenaRanking:
    """Hostile names, every check with something to tell, style, categories, drift, other treatments of ties."""
    found = made(HOSTILE, (1090.0, 1071.0, 1050.0, 990.0, 905.0, 894.0), 9.0, ties="davidson", n_votes=9000)
    names = [row.name for row in found.rows]
    plan = PlanAccount(
        digest="0123456789abcdef", source="evalstats.toml", declared=(("clusters", "rater"),), departures=()
    )
    return replace(
        found,
        covariates=_covariates(),
        alternatives=_alternatives(found),
        categories=categories(names),
        fit=_fit(names),
        trust=_trust(names),
        drift=_drift(names),
        checks=_checks(),
        prior=0.5,
        n_resamples=1000,
        n_unscored=37,
        unscored_reasons=(("the judge's answer could not be read", 30), ("no label", 7)),
        n_events=2900,
        origin=replace(found.origin, plan=plan),
        notes=(
            Note(kind="comparability", text="30 of 9,000 votes were given by a judge model, the others by people"),
            Note(kind="few", text="one cluster holds 8.1% of the votes"),
            Note(kind="choice", text="votes count with their weights", caution=False),
        ),
    )


def made(
    names: Sequence[str],
    ratings: Sequence[float],
    error: float,
    *,
    n_votes: int = 3000,
    ties: str = "half",
    conf_level: float = 0.95,
) -> ArenaRanking:
    """Return a ranking of models, the best first, whose ratings are independent with one standard error."""
    n = len(names)
    critical = _NORMAL.inv_cdf(1 - (1 - conf_level) / 2)
    pairs = _pairs(names, ratings, error, conf_level, n_votes)
    rows = [
        _row(i, ratings, error=error, critical=critical, pairs=pairs, n_votes=n_votes, name=names[i]) for i in range(n)
    ]
    decided, tied = int(0.7 * n_votes), int(0.2 * n_votes)
    kinds = {
        "half": "Bradley-Terry, ties as half wins",
        "davidson": "Bradley-Terry with Davidson ties",
        "rao-kupper": "Bradley-Terry with Rao-Kupper ties",
    }
    return ArenaRanking(
        arena="example arena",
        ties=ties,
        scale="elo",
        unit="Elo points",
        anchor=None,
        conf_level=conf_level,
        method=kinds[ties],
        method_reason="ratings are asked for, and ties say that two models are alike",
        rank_method="rank sets from all pairs (Mogstad et al.), multivariate t",
        estimand="how often users like these would prefer a model, on prompts like these",
        rows=tuple(rows),
        pairs=pairs,
        covariance=tuple(tuple(error**2 * (i == j) for j in range(n)) for i in range(n)),
        clusters=CLUSTERS,
        df=42.2,
        vote_level_ratio=1.42,
        graph=VoteGraph(
            n_models=n,
            n_pairs=n * (n - 1) // 2,
            n_pairs_met=n * (n - 1) // 2,
            components=(tuple(names),),
            islands=(tuple(names),),
        ),
        checks=(
            CheckLine(
                check="connected", title="Connections", status="ok", finding="every model is tied to every other"
            ),
            CheckLine(
                check="sides",
                title="Sides",
                status="ok",
                finding="side a wins 50.4% of decided votes, 95% interval [49.1%, 51.7%]",
            ),
            CheckLine(check="bursts", title="Bursts", status="not run", finding="the votes have no times"),
        ),
        tie_parameter=None if ties == "half" else 0.61,
        n_models=n,
        n_votes=n_votes,
        n_decided=decided,
        n_ties=tied,
        n_both_bad=n_votes - decided - tied,
        origin=Origin(sources=(("votes.parquet", "0123456789abcdef"),), version=toolkit_version(), seed=1),
    )


def _pairs(
    names: Sequence[str], ratings: Sequence[float], error: float, conf_level: float, n_votes: int
) -> tuple[PairContrast, ...]:
    places = list(combinations(range(len(names)), 2))
    critical = _NORMAL.inv_cdf(1 - (1 - conf_level) / 2)
    spread = error * math.sqrt(2)
    found: list[PairContrast] = []
    for i, j in places:
        gap = ratings[i] - ratings[j]
        p = 2 * (1 - _NORMAL.cdf(abs(gap) / spread))
        adjusted = min(max(p, 1e-12) * len(places), 1.0)
        low, high = gap - critical * spread, gap + critical * spread
        shown = adjusted <= 1 - conf_level
        votes = max(n_votes // len(places), 1)
        wanted = math.ceil(votes * (3.5 * spread / gap) ** 2) if gap else None
        found.append(
            PairContrast(
                first=names[i],
                second=names[j],
                estimate=gap,
                std_error=spread,
                df=42.2,
                conf_low=low,
                conf_high=high,
                p_value=max(p, 1e-12),
                p_adjusted=adjusted,
                win_probability=_wins(gap),
                win_low=_wins(low),
                win_high=_wins(high),
                order_probability=_NORMAL.cdf(gap / spread),
                n_votes=votes,
                more_votes=None if shown else wanted,
                more_votes_reason=None if shown or wanted else "the two are rated alike",
                verdict=("better" if gap > 0 else "worse") if shown else "not separated",
            )
        )
    return tuple(found)


def _wins(gap: float) -> float:
    return 1 / (1 + math.exp(-gap / POINTS))


def _row(
    i: int,
    ratings: Sequence[float],
    *,
    name: str,
    error: float,
    critical: float,
    pairs: Sequence[PairContrast],
    n_votes: int,
) -> RatingRow:
    n = len(ratings)
    above = sum(pair.verdict == "better" and pair.second == name for pair in pairs)
    below = sum(pair.verdict == "better" and pair.first == name for pair in pairs)
    open_ = [pair for pair in pairs if name in (pair.first, pair.second) and (pair.p_value or 1) <= 0.05]
    above_alone = sum(pair.second == name for pair in open_)
    below_alone = sum(pair.first == name for pair in open_)
    low, high = ratings[i] - critical * error, ratings[i] + critical * error
    votes = 2 * n_votes // n
    return RatingRow(
        name=name,
        estimate=ratings[i],
        std_error=error,
        conf_low=low,
        conf_high=high,
        strength=(ratings[i] - 1000) / POINTS,
        n_votes=votes,
        n_wins=int(0.35 * votes),
        n_losses=int(0.35 * votes),
        n_ties=int(0.2 * votes),
        n_both_bad=votes - 2 * int(0.35 * votes) - int(0.2 * votes),
        win_share=_wins(ratings[i] - 1000),
        n_opponents=n - 1,
        n_clusters=(124, 130),
        rank_low=1 + above,
        rank_high=n - below,
        rank_low_marginal=1 + above_alone,
        rank_high_marginal=n - below_alone,
        rank_arena=1 + sum(other - critical * error > high for other in ratings),
        may_be_best=above == 0,
        top=tuple((k, above < k) for k in (1, 3, 5)),
        component=1,
    )


# --- what a troubled ranking has to tell ---


def _covariates() -> tuple[VoteCovariate, ...]:
    return (
        VoteCovariate(
            name="side",
            estimate=0.05,
            std_error=0.02,
            conf_low=0.01,
            conf_high=0.09,
            df=42.2,
            p_value=0.016,
            points=8.7,
        ),
        VoteCovariate(
            name="tokens",
            estimate=0.25,
            std_error=0.03,
            conf_low=0.19,
            conf_high=0.31,
            df=42.2,
            p_value=1e-9,
            points=43.4,
            mean=0.01,
            sd=0.31,
        ),
        VoteCovariate(name="headers", estimate=0.02, reason="no answer has a header", points=None),
    )


def _alternatives(found: ArenaRanking) -> tuple[Alternative, ...]:
    ratings = tuple(row.estimate for row in found.rows)
    return (
        Alternative(
            key="half",
            title="Ties as half wins",
            ratings=ratings,
            largest_move=3.2,
            moved=found.rows[4].name,
        ),
        Alternative(
            key="rao-kupper",
            title="Rao and Kupper's ties",
            ratings=ratings,
            largest_move=-2.1,
            moved=found.rows[0].name,
            log_lik=-6123.4,
            tie=1.8,
        ),
        Alternative(
            key="without covariates",
            title="Without covariates",
            ratings=ratings,
            largest_move=31.0,
            moved=found.rows[1].name,
            n_swaps=2,
            new_first=found.rows[1].name,
        ),
        Alternative(
            key="without both bad",
            title="Without both-bad votes",
            ratings=(),
            reason="a model would have no vote left",
        ),
    )


def categories(models: Sequence[str], levels: Sequence[str] = ("coding", "creative writing", "maths")) -> Categories:
    """Return ratings by category in which the first model is better, and the last worse, at the first category."""
    rows: list[CategoryRating] = []
    for i, model in enumerate(models):
        for j, level in enumerate(levels):
            deviation = 14.0 * ((i == 0) - (i == len(models) - 1)) * (j == 0) + 2.0 * math.sin(5 * i + 3 * j)
            rows.append(
                CategoryRating(
                    category=level,
                    model=model,
                    estimate=1000 + deviation,
                    deviation=deviation,
                    std_error=4.0,
                    conf_low=deviation - 8.0,
                    conf_high=deviation + 8.0,
                    unpooled=1.4 * deviation,
                    n_votes=300,
                )
            )
    return Categories(
        by="scenario",
        levels=tuple(levels),
        n_votes=tuple(3000 for _ in levels),
        rows=tuple(rows),
        tau=7.1,
        tau_low=3.0,
        tau_high=12.4,
        statistic=31.0,
        df=10.0,
        p_value=0.0006,
        method="likelihood ratio",
        left_out=(("poetry", "41 votes leave 3 models without a win"),),
    )


def _fit(names: Sequence[str]) -> FitChecks:
    def beside(observed: float, expected: float, p: float) -> AgainstDrawn:
        return AgainstDrawn(
            observed=observed, expected=expected, low=0.8 * expected, high=1.2 * expected, p_value=p, n_resamples=200
        )

    return FitChecks(
        deviance=beside(41.0, 15.0, 0.005),
        worst_pairs=(
            PairResidual(first=names[0], second=names[3], n_votes=600, observed=0.48, expected=0.64, residual=-8.1),
            PairResidual(first=names[1], second=names[2], n_votes=600, observed=0.61, expected=0.53, residual=3.9),
        ),
        calibration=(
            ShareBin(low=0.2, high=0.4, n_votes=800, predicted=0.31, observed=0.37, conf_low=0.33, conf_high=0.41),
            ShareBin(low=0.6, high=0.8, n_votes=820, predicted=0.69, observed=0.62, conf_low=0.58, conf_high=0.66),
        ),
        brier=0.221,
        brier_constant=0.25,
        log_loss=0.64,
        log_loss_constant=0.69,
        n_folds=10,
        folds_by="rater",
        triples=20,
        violations=3,
        transitivity=beside(0.15, 0.05, 0.02),
        curl=beside(0.2, 0.1, 0.04),
    )


def _trust(names: Sequence[str]) -> TrustChecks:
    return TrustChecks(
        n_raters=124,
        raters=(
            RaterFlag(rater="rater <7>", check="side", n_votes=96, e_value=8.1e9, detail="96 of 96 votes for side a"),
        ),
        side_share=0.53,
        side_low=0.51,
        side_high=0.55,
        side_p=0.004,
        n_duplicates=41,
        duplicates_agree=0.8,
        bursts=(
            Burst(
                name=names[2],
                kind="model",
                start=datetime(2026, 3, 1, 12, tzinfo=UTC),
                end=datetime(2026, 3, 1, 13, tzinfo=UTC),
                n_votes=220,
                expected=31.5,
                p_adjusted=1e-9,
            ),
        ),
        identity_votes=12,
        identity_share=0.0013,
        influences=(RaterInfluence(rater="rater <7>", n_votes=96, model=names[0], move=-9.1, new_first=names[1]),),
        flip=FewVotesFlip(
            first=names[0], second=names[1], n_votes=61, share=0.0068, gap=19.0, gap_after=-0.4, confirmed=True
        ),
        selection=((2, 5.1), (10, 13.9)),
    )


def _drift(names: Sequence[str]) -> RatingDrift:
    return RatingDrift(
        period="month",
        n_periods=3,
        statistic=40.1,
        df=10.0,
        p_value=1e-5,
        method="Wald test of periods x models",
        models=(
            ModelDrift(model=names[0], slope=-11.0, std_error=3.0, p_value=0.0003, p_adjusted=0.0018, flagged=True),
            ModelDrift(model=names[1], slope=1.0, std_error=3.0, p_value=0.74, p_adjusted=1.0, flagged=False),
        ),
        ratings=tuple(
            PeriodRating(
                period=f"2026-0{month}",
                model=name,
                estimate=10.0 * month,
                std_error=6.0,
                conf_low=10.0 * month - 12,
                conf_high=10.0 * month + 12,
                n_votes=300,
            )
            for name in names
            for month in (1, 2, 3)
        ),
    )


def _checks() -> tuple[CheckLine, ...]:
    found = (
        ("connected", "Connections", "ok", "every model is tied to every other"),
        ("sides", "Sides", "warning", "side a wins 53.0% of decided votes, 95% interval [51.0%, 55.0%], p 0.004"),
        ("raters", "Raters", "warning", "1 of 124 raters does not vote as honest ones do"),
        ("duplicates", "Duplicates", "warning", "41 votes repeat a rater's earlier one on the same prompt and pair"),
        ("bursts", "Bursts", "warning", "1 burst of votes for one model"),
        ("identity", "Identity", "warning", "in 12 votes an answer names its model"),
        ("one rater", "One rater", "warning", "without rater <7> another model is first"),
        ("few votes", "Few votes", "warning", "61 votes of 9,000 (0.68%) turn the first two round"),
        ("selection", "Selection", "ok", "the best of 10 variants gains 13.9 points by luck"),
        ("deviance", "Pairs", "warning", "pairs scatter more about their ratings than chance explains"),
        ("calibration", "Calibration", "warning", "2 of 10 bins miss"),
        ("prediction", "Prediction", "ok", "held-out log loss 0.640, a constant 0.690"),
        ("transitivity", "Transitivity", "warning", "3 of 20 triples go in a circle, 1 expected"),
        ("cycles", "Cycles", "not run", "too few pairs met"),
        ("drift", "Drift", "warning", "ratings change by the month"),
    )
    return tuple(
        CheckLine(check=check, title=title, status=status, finding=finding) for check, title, status, finding in found
    )
