"""Simulated lab and live worlds with the truth known: planted gaps, a planted mix of scenarios, or nothing wrong at all."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl

from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table, frame_from_rows
from evalstats.simulate.draws import generator
from evalstats.simulate.lab_live_truth import LabLiveDraw, LabLiveTruth, draw_lab_live, lab_live_truth
from evalstats.simulate.lab_live_world import LabLiveDesign, LabLiveOptions, LabLiveWorld, make_lab_live_world
from evalstats.stats.arena.votes import OUTCOMES
from evalstats.stats.checks import IntArray

LAB, APP, ARENA = "simulated lab", "simulated app", "simulated arena"
METRIC = "success"
LAB_DAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
START = datetime(2026, 4, 1, tzinfo=UTC)
N_DAYS = 60

_LABELS = ("model_a", "model_b", "tie", "tie (bothbad)")
_MINUTE = 60_000  # milliseconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabLive:
    """Both sides as tidy tables, and what they were drawn from."""

    lab: EvalData
    live: EvalData
    truth: LabLiveTruth


def simulate_lab_live(
    n_models: int | tuple[str, ...] = 15, *, seed: int = 0, draw: int = 0, **options: Unpack[LabLiveOptions]
) -> LabLive:
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
    return lab_live_tables(draw_lab_live(world, draw=draw), draw=draw)


def lab_live_tables(sample: LabLiveDraw, *, draw: int = 0) -> LabLive:
    """Write one sample as tidy tables.

    Parameters
    ----------
    draw
        Its number, for the times and the note of the runs.
    """
    world = sample.world
    truth = lab_live_truth(world)
    if world.design.live == "aggregates":
        return LabLive(
            lab=_published(sample, truth, live=False), live=_published(sample, truth, live=True), truth=truth
        )
    lab = _lab(sample, truth)
    times = _times(generator(world.seed, "lab-live", "times", str(draw)), sample.user.size)
    live = _sessions(sample, truth, times) if world.live_cells is not None else _votes(sample, truth, times)
    return LabLive(lab=lab, live=live, truth=truth)


def told_of(world: LabLiveWorld) -> dict[str, str]:
    """Return what a reader must know of the runs, as columns of theirs."""
    return {
        "simulated": f"by evalstats, seed {world.seed}",
        "note": "models, items, users and all results are invented",
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
    success: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
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
            "value_raw": named(_LABELS, sample.outcome),
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
        rows += [_published_row(names[m], benchmark, *_plain(sample, m)) for m in range(len(truth.models), len(names))]
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


def _plain(sample: LabLiveDraw, model: int) -> tuple[float, float, int]:
    outcomes = sample.lab_success[:, model].astype(np.float64)
    return float(outcomes.mean()), float(outcomes.std(ddof=1) / np.sqrt(outcomes.size)), outcomes.size


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


def _times(rng: np.random.Generator, n: int) -> pl.Series:
    """Return times in order, to the minute."""
    minutes = np.sort(rng.integers(N_DAYS * 24 * 60, size=n))
    start = int(START.timestamp() * 1000)
    return pl.Series(start + minutes * _MINUTE).cast(pl.Datetime("ms", "UTC")).cast(pl.Datetime("us", "UTC"))


def named(names: tuple[str, ...] | list[str], codes: IntArray) -> pl.Series:
    """Return the names of codes."""
    return pl.Series(list(names), dtype=pl.String).gather(pl.Series(codes))


def numbered(prefix: str, numbers: IntArray) -> pl.Series:
    """Return ids of one width: `u001`, `u002`, ..."""
    width = len(str(int(numbers.max(initial=1))))
    return pl.select(pl.lit(prefix) + pl.Series(numbers).cast(pl.String).str.zfill(width)).to_series()


Form = Literal["csv", "jsonl", "parquet"]

_LAB = ("benchmark", "model", "item", "variant", "scenario", "user_kind", "metric", "score", "setting", "timestamp")
_LIVE = (
    "benchmark", "model", "item", "user", "session", "scenario", "user_kind", "metric", "score", "setting", "timestamp",
)  # fmt: skip
# By what the live side holds: the lab's table and the live one.
_FILES = {
    "outcomes": ("results.{}", "sessions.{}"),
    "comparisons": ("results.{}", "votes.jsonl"),
    "aggregates": ("scores.csv", "scores.csv"),
}
_TIME = pl.col("timestamp").dt.to_string("%Y-%m-%dT%H:%M:%SZ")


def write_lab_live(
    folder: str | Path,
    n_models: int | tuple[str, ...] = 15,
    *,
    form: Form = "csv",
    seed: int = 0,
    draw: int = 0,
    **options: Unpack[LabLiveOptions],
) -> list[Path]:
    """Write a simulated lab and live world; same numbers and seed, same bytes.

    `lab/results.<form>` has a row for each item and model, `live/sessions.<form>` one for each session, both under the names
    of the glossary, so that `evalstats.read` needs no column map. With live="comparisons" `live/votes.jsonl` holds votes with
    the keys of public arena data; with live="aggregates" each side has a plain table of scores, `scores.csv`. Every row says
    that it is simulated. `truth.json` holds every true value, `README.md` what was planted, and where names differ
    `aliases.toml` joins them. The two folders are read on their own.

    Parameters
    ----------
    form
        Format of the tables.
    n_models, seed, draw, **options
        As `simulate_lab_live`.

    Raises
    ------
    InputError
        As `simulate_lab_live`; or if the folder holds a table that would be read beside the new ones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.relative_to(folder).as_posix() for path in write_lab_live(folder, 6, n_users=20)]
    ['lab/results.csv', 'live/sessions.csv', 'truth.json', 'README.md']
    """
    if form not in ("csv", "jsonl", "parquet"):
        raise InputError(f"form is {form!r}; use 'csv', 'jsonl' or 'parquet'")
    both = simulate_lab_live(n_models, seed=seed, draw=draw, **options)
    folder = Path(folder)
    by = f"by evalstats, seed {seed}" + (f", draw {draw}" if draw else "")
    kind = options.get("live", "outcomes")
    lab, live = _FILES[kind]
    paths = [folder / "lab" / lab.format(form), folder / "live" / live.format(form)]
    for path in paths:
        _refuse_beside(path)
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
        texts["aliases.toml"] = _aliases(both.truth.aliases)
    design = LabLiveDesign(n_models=n_models, **options)
    texts["README.md"] = _readme(both.truth, design, by)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [*paths, *(folder / name for name in texts)]


def _refuse_beside(path: Path) -> None:
    """Refuse a folder in which an earlier simulation left a table that is not written over."""
    old = sorted(other.name for other in path.parent.glob("*") if other.name != path.name)
    if old:
        raise InputError(f"{path.parent} holds {old[0]}, which would be read beside {path.name}; name an empty folder")
    path.parent.mkdir(parents=True, exist_ok=True)


def _table(data: EvalData, columns: tuple[str, ...], path: Path, by: str) -> None:
    kept = [name for name in columns if name != "variant" or (data.outcomes["variant"] != "").any()]
    frame = data.outcomes.select(
        *kept, pl.lit(by).alias("simulated")
    ).with_columns(
        pl.col("score").cast(pl.Int64), _TIME
    )  # fmt: skip
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)


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


def _aliases(aliases: dict[str, str]) -> str:
    lines = "".join(f"{_quoted(lab)} = {_quoted(live)}\n" for lab, live in aliases.items())
    return f"# Name in the lab = name with live users.\n[aliases]\n{lines}"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)  # a basic string of TOML is written like one of JSON


def _readme(truth: LabLiveTruth, design: LabLiveDesign, by: str) -> str:
    n_items, n_live, word = design.n_items, design.sessions, "votes" if design.live == "comparisons" else "sessions"
    alias = " --aliases aliases.toml" if truth.aliases else ""
    planted = "\n".join(_planted(truth))
    return f"""# Simulated lab and live results

All of it is invented, {by}: {len(truth.models)} models, {n_items} lab items, {n_live} live {word}.

What is true (more in truth.json):

{planted}

    evalstats gap --lab lab --live live{alias}
"""


def _planted(truth: LabLiveTruth) -> list[str]:
    unit = "in success probability" if truth.unit == "proportion" else "in log-odds of winning"
    gaps = [
        f"- {name}: a gap of {gap:+.3g} {unit}, live less lab"
        for name, gap in zip(truth.models, truth.planted[: len(truth.models)].tolist(), strict=True)
        if gap
    ]
    shift = float(abs(truth.live_mix - truth.lab_mix).sum()) / 2.0
    mix = f"- the mix of scenarios differs: {shift:.0%} of live sessions would have to be of another scenario"
    return (gaps or ["- no model has a planted gap"]) + [
        mix if shift > 1e-9 else "- the mix of scenarios is the same on both sides"
    ]
