"""Simulated lab and live worlds with the truth known: planted gaps, a planted mix of scenarios, or nothing wrong at all."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table, frame_from_rows
from evalstats.simulate.arena_world import zipf
from evalstats.simulate.draws import VOTE_LABELS, generator, named, numbered, times_after
from evalstats.simulate.lab_live_world import (
    ACTIVITY,
    SD_ITEM,
    SD_USER,
    USER_MIX,
    LabLiveDesign,
    LabLiveTruth,
    LabLiveWorld,
    lab_live_truth,
    make_lab_live_world,
)
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.arena.votes import A_WINS, B_WINS, OUTCOMES, TIE, vote_rows
from evalstats.stats.checks import BoolArray, IntArray
from evalstats.stats.errors_in_variables.scores import LabLiveScores, cluster_means

LAB, APP, ARENA = "simulated lab", "simulated app", "simulated arena"
METRIC = "success"
LAB_DAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
START = datetime(2026, 4, 1, tzinfo=UTC)
N_DAYS = 60

_MINUTE = 60_000  # milliseconds


@record(eq=False)
class LabLiveDraw:
    """One sample of both sides; codes count from 0.

    Attributes
    ----------
    lab_item, lab_scenario
        int64, shape (n_lab,): item and scenario of each thing that was played.
    lab_success
        bool, shape (n_lab, n_names): outcome of every model.
    user, scenario
        int64, shape (n_live,): of each session or vote.
    model, success
        int64 and bool, shape (n_live,), for sessions: model chosen and outcome; empty for votes.
    first, second, outcome
        int64, shape (n_live,), for votes: models on sides a and b, and who won; empty for sessions.
    """

    world: LabLiveWorld
    lab_item: IntArray
    lab_scenario: IntArray
    lab_success: BoolArray
    user: IntArray
    scenario: IntArray
    model: IntArray
    success: BoolArray
    first: IntArray
    second: IntArray
    outcome: IntArray

    def scores(self) -> LabLiveScores:
        """Estimate every model on both sides, with errors clustered by item and by user.

        The lab's scenarios are fixed shares of its items, which the errors do not use: they are somewhat too large.

        Raises
        ------
        CannotAnswerError
            If a model has too few clusters, or votes do not connect the models.
        """
        n = self.world.n_models
        rows, model = np.indices((self.lab_item.size, n)).reshape(2, -1)
        lab = cluster_means(
            self.lab_item[rows],
            model,
            np.ones(rows.size),
            self.lab_success[:, :n].astype(np.float64).ravel(),
            n_clusters=self.world.design.n_items,
            n_models=n,
        )
        live = None
        if self.world.strengths is None:
            users, cluster = np.unique(self.user, return_inverse=True)
            ones, success = np.ones(cluster.size), self.success.astype(np.float64)
            live = cluster_means(cluster, self.model, ones, success, n_clusters=users.size, n_models=n)
            estimate, covariance = live.estimate, live.covariance
        else:
            votes = vote_rows(self.first, self.second, self.outcome, n_models=n, clusters=(self.user,))
            fit = fit_strengths(votes)
            estimate = fit.strengths
            covariance = covariance_of(fit, votes, names=("user",)).joint
        if lab.covariance is None or covariance is None:
            reason = lab.reason if live is None or live.reason is None else live.reason
            raise CannotAnswerError(f"no error can be estimated: {reason}")
        return LabLiveScores(lab=lab.estimate, live=estimate, lab_covariance=lab.covariance, live_covariance=covariance)


def draw_lab_live(world: LabLiveWorld, *, draw: int = 0) -> LabLiveDraw:
    """Draw one sample. Another `draw` has other items, users and luck; models, scenarios and gaps stay."""
    lab = generator(world.seed, "lab-live", "lab", str(draw))
    live = generator(world.seed, "lab-live", "live", str(draw))
    design = world.design
    difficulty = SD_ITEM * lab.standard_normal(design.n_items)
    item, scenario = np.arange(design.n_items), world.item_scenario
    if design.crossed:
        n_scenarios = len(design.scenarios)
        item, scenario = np.repeat(item, n_scenarios), np.tile(np.arange(n_scenarios), design.n_items)
    chance = expit(world.lab_logits[:, scenario].T + difficulty[item, None])
    # One stream for each model would let a model more move no other; one table of draws by item does the same.
    success = chance > lab.random((len(world.names), item.size)).T
    user = live.choice(design.n_users, size=design.sessions, p=zipf(design.n_users, ACTIVITY))
    brought = _brought(world, user, live)
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    parts = {"model": none, "first": none, "second": none, "outcome": none}
    lived = nothing
    if world.live_logits is not None:
        parts["model"], lived = _live_sessions(world, user, brought, live)
    else:
        parts["first"], parts["second"], parts["outcome"] = _live_votes(world, user, live)
    return LabLiveDraw(
        world=world, lab_item=item, lab_scenario=scenario, lab_success=success, user=user, scenario=brought, success=lived,
        **parts,
    )  # fmt: skip


def _brought(world: LabLiveWorld, user: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the scenario of every session: from the user's own mix, whose mean is the live mix."""
    mix = world.live_mix
    place = rng.random(user.size)
    # A Dirichlet draw is a row of gammas over their sum; a share of 0 stays 0.
    drawn = rng.gamma(np.maximum(USER_MIX * mix, 1e-300), size=(world.design.n_users, mix.size)) * (mix > 0.0)
    total = drawn.sum(axis=1, keepdims=True)
    shares = np.where(total > 0.0, drawn / np.where(total > 0.0, total, 1.0), mix)
    edges = np.cumsum(shares, axis=1)
    edges[:, -1] = np.inf
    last = int(np.flatnonzero(mix > 0.0)[-1])
    return np.minimum((place[:, None] >= edges[user]).sum(axis=1), last).astype(np.int64)


def _live_sessions(
    world: LabLiveWorld, user: IntArray, scenario: IntArray, rng: np.random.Generator
) -> tuple[IntArray, BoolArray]:
    design, n = world.design, world.n_models
    assert world.live_logits is not None, "sessions have probabilities of success"  # noqa: S101 - for the type
    ease = SD_USER * rng.standard_normal(design.n_users)
    liking = design.sd_user_model * rng.standard_normal((design.n_users, n))
    model = rng.integers(n, size=user.size)
    chance = expit(world.live_logits[model, scenario] + ease[user] + liking[user, model])
    return model, rng.random(user.size) < chance


def _live_votes(world: LabLiveWorld, user: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Votes whose shares (a tie as half) are Bradley-Terry's over all users, whatever the ties and likings."""
    design, n = world.design, world.n_models
    assert world.pair_logits is not None, "votes have strengths"  # noqa: S101 - for the type
    liking = design.sd_user_model * rng.standard_normal((design.n_users, n))
    first = rng.integers(n, size=user.size)
    second = (first + rng.integers(1, n, size=user.size)) % n
    share = expit(world.pair_logits[first, second] + liking[user, first] - liking[user, second])
    # Half of a tie is taken from either side's wins, so that wins plus half the ties stay the share.
    half = design.tie * share * (1.0 - share)
    place = rng.random(user.size)
    outcome = np.where(place < share - half, A_WINS, np.where(place < share + half, TIE, B_WINS))
    return first, second, outcome.astype(np.int64)


@record(eq=False)
class LabLive:
    """Both sides as tidy tables, and what they were drawn from."""

    lab: EvalData
    live: EvalData
    truth: LabLiveTruth


def simulate_lab_live(n_models: int | tuple[str, ...] = 15, *, seed: int = 0, draw: int = 0, **options: Any) -> LabLive:
    """Simulate results of the same models in the lab and with live users.

    Parameters
    ----------
    n_models
        Models that both sides have, or their names.
    seed
        Of the truth, and of everything drawn from it.
    draw
        Which sample of that truth: another one has other items, other users and other luck, the same true values.
    **options
        Fields of `LabLiveDesign`: `live` ("outcomes", "comparisons", "aggregates"), `gaps`, `live_mix`, ...  With none of
        them nothing is wrong: lab and live success are the same in every scenario, and so is the mix.

    Returns
    -------
    LabLive
        `lab` has outcomes of setting "lab" (success, by item and model, with scenario and user_kind); `live` has outcomes of
        setting "live" (one for each session, with user, session, scenario, timestamp), or comparisons (with rater and
        scenario); with live="aggregates" both have aggregates. `truth` holds the true value of everything to be estimated.

    Raises
    ------
    InputError
        If a number is out of range, a name is unknown, or a planted gap makes a probability leave 0 to 1.

    Notes
    -----
    logit P(success in the lab) = cell of model and scenario + difficulty of the item; live = cell of model and scenario +
    ease of the user + liking of the user for the model. The cells are solved so that the *mean* probabilities over endless
    items and users are the asked ones, so truths are exact. Votes follow P(a) + P(tie)/2 = expit(cell of the pair + liking
    for a - liking for b), with cells such that shares over endless users are exactly those of Bradley-Terry strengths, which
    are a straight line of the lab's probabilities, plus the gap.

    Examples
    --------
    >>> both = simulate_lab_live(8, gaps={"model-03": -0.15})
    >>> both.lab.outcomes.height, both.live.outcomes["user"].n_unique(), both.truth.planted[2]
    (3360, 400, np.float64(-0.15))
    """
    design = LabLiveDesign(n_models=n_models, **options)
    world = make_lab_live_world(design, seed=seed)
    sample = draw_lab_live(world, draw=draw)
    truth = lab_live_truth(world)
    if design.live == "aggregates":
        return LabLive(
            lab=_published(sample, truth, live=False), live=_published(sample, truth, live=True), truth=truth
        )
    lab = _lab(sample, truth)
    minutes = generator(seed, "lab-live", "times", str(draw)).integers(N_DAYS * 24 * 60, size=sample.user.size)
    times = times_after(START, pl.Series(np.sort(minutes) * _MINUTE))
    live = _sessions(sample, truth, times) if world.live_cells is not None else _votes(sample, truth, times)
    return LabLive(lab=lab, live=live, truth=truth)


def told_of(world: LabLiveWorld) -> dict[str, str]:
    """Return what a reader must know of the runs, as columns of theirs."""
    return {
        "simulated": f"by evalstats, seed {world.seed}",
        "note": "Models, items, users and all results are invented",
    }


def run_of(benchmark: str, model: str) -> str:
    """Name a run, differently on either side, so that both fit into one set of tables."""
    return f"{benchmark}: {model}"


def _lab(sample: LabLiveDraw, truth: LabLiveTruth) -> EvalData:
    n_rows, n_names = sample.lab_success.shape
    rows, model = np.indices((n_rows, n_names)).reshape(2, -1)
    scenario = sample.lab_scenario[rows]
    crossed = sample.world.design.crossed
    names = truth.lab_names
    frame = _outcomes(truth, names, model, sample.lab_success.ravel(), scenario).with_columns(
        item=numbered("task-", sample.lab_item[rows] + 1),
        # A crossed item has one version for each kind of user.
        variant=named(truth.scenarios, scenario) if crossed else pl.lit(""),
        setting=pl.lit("lab"),
        timestamp=pl.lit(LAB_DAY).cast(pl.Datetime("us", "UTC")),
    )
    return _data(frame, names, LAB, sample.world, dependence=None)


def _sessions(sample: LabLiveDraw, truth: LabLiveTruth, times: pl.Series) -> EvalData:
    session = numbered("s", np.arange(1, sample.user.size + 1))
    frame = _outcomes(truth, truth.live_names, sample.model, sample.success, sample.scenario).with_columns(
        item=session,
        variant=pl.lit(""),
        setting=pl.lit("live"),
        user=numbered("u", sample.user + 1),
        session=session,
        timestamp=times,
    )
    return _data(frame, truth.live_names, APP, sample.world, dependence=["user"])


def _outcomes(
    truth: LabLiveTruth,
    names: tuple[str, ...],
    model: IntArray,
    success: BoolArray,
    scenario: IntArray,
) -> pl.DataFrame:
    kinds = ["ideal" if name == truth.ideal else "non_ideal" for name in truth.scenarios]
    model_names = named(names, model)
    return pl.DataFrame(
        {
            "model": model_names,
            "system": model_names,
            "score": success.astype(np.float64),
            "scenario": named(truth.scenarios, scenario),
            "user_kind": named(kinds, scenario),
        }
    ).with_columns(
        task=pl.lit(""), trial=pl.lit(0, dtype=pl.Int64), n_trials=pl.lit(1, dtype=pl.Int64), metric=pl.lit(METRIC),
        status=pl.lit("scored"),
    )  # fmt: skip


def _data(
    frame: pl.DataFrame, names: tuple[str, ...], benchmark: str, world: LabLiveWorld, *, dependence: list[str] | None
) -> EvalData:
    frame = frame.with_columns(benchmark=pl.lit(benchmark), run=pl.lit(run_of(benchmark, "")) + pl.col("model"))
    counts = dict(frame.group_by("model").len().iter_rows())
    runs = [
        {
            "run": run_of(benchmark, name),
            "model": name,
            "system": name,
            "benchmark": benchmark,
            **told_of(world),
            "dependence": dependence,
            "n_scored": counts.get(name, 0),
            "n_error": 0,
            "n_unscored": 0,
        }
        for name in names
        if name in counts
    ]
    return EvalData(
        outcomes=check_table(frame, "outcomes"), runs=frame_from_rows(runs, "runs"), metrics=_metrics(benchmark)
    )


def _metrics(benchmark: str) -> pl.DataFrame:
    metric = {
        "kind": "binary",
        "low": 0.0,
        "high": 1.0,
        "higher_is_better": True,
        "unit": "proportion",
        "primary": True,
    }
    return frame_from_rows([{"benchmark": benchmark, "metric": METRIC, **metric}], "metrics")


def _votes(sample: LabLiveDraw, truth: LabLiveTruth, times: pl.Series) -> EvalData:
    n = sample.user.size
    frame = pl.DataFrame(
        {
            "run": pl.repeat(ARENA, n, eager=True),
            "battle": numbered("b", np.arange(1, n + 1)),
            "model_a": named(truth.live_names, sample.first),
            "model_b": named(truth.live_names, sample.second),
            "outcome": named(OUTCOMES, sample.outcome),
            "rater": numbered("u", sample.user + 1),
            "scenario": named(truth.scenarios, sample.scenario),
            "timestamp": times,
            "setting": pl.repeat("live", n, eager=True),
            "status": pl.repeat("scored", n, eager=True),
            "value_raw": named(VOTE_LABELS, sample.outcome),
        }
    )
    runs = [
        {
            "run": ARENA,
            "benchmark": ARENA,
            **told_of(sample.world),
            "n_scored": n,
            "n_error": 0,
            "n_unscored": 0,
        }
    ]
    return EvalData(comparisons=check_table(frame, "comparisons"), runs=frame_from_rows(runs, "runs"))


def _published(sample: LabLiveDraw, truth: LabLiveTruth, *, live: bool) -> EvalData:
    """Return what a table of results would show: a rate with its standard error for each model, and nothing of the rest."""
    scores = sample.scores()
    benchmark, names = (APP, truth.live_names) if live else (LAB, truth.lab_names)
    estimate, covariance = (scores.live, scores.live_covariance) if live else (scores.lab, scores.lab_covariance)
    assert covariance is not None, "simulated scores have errors"  # noqa: S101 - for the type
    errors = np.sqrt(np.diag(covariance))
    n_sessions = np.bincount(sample.model, minlength=len(truth.models))
    rows = [
        _published_row(names[m], benchmark, estimate[m], errors[m], n_sessions[m] if live else sample.lab_item.size)
        for m in range(len(truth.models))
    ]
    if not live:
        for m in range(len(truth.models), len(names)):
            own = sample.lab_success[:, m].astype(np.float64)
            error = float(own.std(ddof=1) / np.sqrt(own.size))
            rows.append(_published_row(names[m], benchmark, float(own.mean()), error, own.size))
    for row in rows:
        row["setting"] = "live" if live else "lab"
    runs = [
        {"run": row["run"], "model": row["model"], "system": row["model"], "benchmark": benchmark,
         **told_of(sample.world)}
        for row in rows
    ]  # fmt: skip
    return EvalData(
        aggregates=frame_from_rows(rows, "aggregates"), runs=frame_from_rows(runs, "runs"), metrics=_metrics(benchmark)
    )


def _published_row(model: str, benchmark: str, estimate: float, std_error: float, n: int) -> dict[str, object]:
    return {
        "model": model,
        "run": run_of(benchmark, model),
        "benchmark": benchmark,
        "metric": METRIC,
        "estimate": float(estimate),
        "std_error": float(std_error),
        "n": int(n),
        "unit": "proportion",
        "method": "mean; standard error clustered by item or user",
    }


_LAB = ("benchmark", "model", "item", "variant", "scenario", "user_kind", "metric", "score", "setting", "timestamp")
_LIVE = (
    "benchmark", "model", "item", "user", "session", "scenario", "user_kind", "metric", "score", "setting", "timestamp",
)  # fmt: skip
# By what the live side holds: the lab's table and the live one.
_FILES = {
    "outcomes": ("results.csv", "sessions.csv"),
    "comparisons": ("results.csv", "votes.jsonl"),
    "aggregates": ("scores.csv", "scores.csv"),
}
_TIME = pl.col("timestamp").dt.to_string("%Y-%m-%dT%H:%M:%SZ")


def write_lab_live(
    folder: str | Path,
    n_models: int | tuple[str, ...] = 15,
    *,
    seed: int = 0,
    draw: int = 0,
    **options: Any,
) -> list[Path]:
    """Write a simulated lab and live world; same numbers and seed, same bytes. Arguments as `simulate_lab_live`.

    `lab/results.csv` has a row for each item and model, `live/sessions.csv` one for each session, both under the names of the
    glossary, so that `evalstats.read` needs no column map. With live="comparisons" `live/votes.jsonl` holds votes with the keys
    of public arena data; with live="aggregates" each side has a plain table of scores, `scores.csv`. Every row says that it is
    simulated. `truth.json` holds every true value, and where names differ `aliases.toml` joins them. The two folders are read on
    their own.

    Raises
    ------
    InputError
        As `simulate_lab_live`; or if the folder holds a table that would be read beside the new ones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.relative_to(folder).as_posix() for path in write_lab_live(folder, 6, n_users=20)]
    ['lab/results.csv', 'live/sessions.csv', 'truth.json']
    """
    both = simulate_lab_live(n_models, seed=seed, draw=draw, **options)
    folder = Path(folder)
    by = f"by evalstats, seed {seed}" + (f", draw {draw}" if draw else "")
    kind = options.get("live", "outcomes")
    lab, live = _FILES[kind]
    paths = [folder / "lab" / lab, folder / "live" / live]
    for path in paths:
        # An earlier simulation may have left a table that is not written over.
        old = sorted(other.name for other in path.parent.glob("*") if other.name != path.name)
        if old:
            raise InputError(
                f"{path.parent} holds {old[0]}, which would be read beside {path.name}; name an empty folder"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "aggregates":
        _scores(both.lab, paths[0], by)
        _scores(both.live, paths[1], by)
    else:
        _table(both.lab, _LAB, paths[0], by)
        if kind == "comparisons":
            _battles(both.live, paths[1], by)
        else:
            _table(both.live, _LIVE, paths[1], by)
    texts = {"truth.json": json.dumps(both.truth.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
    if both.truth.aliases:
        # A basic string of TOML is written like one of JSON.
        pairs = [[json.dumps(name, ensure_ascii=False) for name in pair] for pair in both.truth.aliases.items()]
        lines = "".join(f"{lab} = {live}\n" for lab, live in pairs)
        texts["aliases.toml"] = f"# Name in the lab = name with live users.\n[aliases]\n{lines}"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [*paths, *(folder / name for name in texts)]


def _table(data: EvalData, columns: tuple[str, ...], path: Path, by: str) -> None:
    kept = [name for name in columns if name != "variant" or (data.outcomes["variant"] != "").any()]
    frame = data.outcomes.select(
        *kept, pl.lit(by).alias("simulated")
    ).with_columns(
        pl.col("score").cast(pl.Int64), _TIME
    )  # fmt: skip
    frame.write_csv(path)


def _battles(data: EvalData, path: Path, by: str) -> None:
    data.comparisons.select(
        pl.col("battle").alias("battle_id"),
        pl.col("model_a"),
        pl.col("model_b"),
        pl.col("value_raw").alias("winner"),
        pl.col("rater").alias("user_id"),
        pl.col("scenario"),
        _TIME,
        pl.lit(by).alias("simulated"),
    ).write_ndjson(path)


def _scores(data: EvalData, path: Path, by: str) -> None:
    columns = ("model", "benchmark", "setting", "unit", pl.col("estimate").alias("success"), "std_error", "n")
    data.aggregates.select(*columns, pl.lit(by).alias("simulated")).write_csv(path)
