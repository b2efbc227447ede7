"""A simulated lab and live world as files: what a benchmark, an app and an arena would have left behind, and the truth."""

import json
from pathlib import Path
from typing import Literal, Unpack

import polars as pl

from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.simulate.lab_live import simulate_lab_live
from evalstats.simulate.lab_live_design import LabLiveDesign, LabLiveOptions
from evalstats.simulate.lab_live_truth import LabLiveTruth

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
