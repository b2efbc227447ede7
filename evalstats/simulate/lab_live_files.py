"""A simulated lab and live world as files: what a benchmark, an app and an arena would have left behind, and the truth."""

import json
from pathlib import Path
from typing import Literal, Unpack

import polars as pl

from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.simulate.lab_live import LabLive, simulate_lab_live
from evalstats.simulate.lab_live_design import LabLiveOptions
from evalstats.simulate.lab_live_truth import LabLiveTruth

Form = Literal["csv", "jsonl", "parquet"]

_LAB = ("benchmark", "model", "item", "variant", "scenario", "user_kind", "metric", "score", "setting", "timestamp")
_LIVE = (
    "benchmark", "model", "item", "user", "session", "scenario", "user_kind", "metric", "score", "setting", "timestamp",
)  # fmt: skip
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
    the keys of public arena data. Every row says that it is simulated. `truth.json` holds every true value, `README.md`
    what was planted, and where names differ `aliases.toml` joins them. The two folders are read on their own.

    Parameters
    ----------
    form
        Format of the tables.
    n_models, seed, draw, **options
        As `simulate_lab_live`.

    Raises
    ------
    InputError
        As `simulate_lab_live`; or for live="aggregates", which no file format of results holds on both sides; or if the folder
        holds a table that would be read beside the new ones.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.relative_to(folder).as_posix() for path in write_lab_live(folder, 6, n_users=20)]
    ['lab/results.csv', 'live/sessions.csv', 'truth.json', 'README.md']
    """
    if options.get("live") == "aggregates":
        raise InputError("published numbers are not written to files; write outcomes or comparisons")
    if form not in ("csv", "jsonl", "parquet"):
        raise InputError(f"form is {form!r}; use 'csv', 'jsonl' or 'parquet'")
    both = simulate_lab_live(n_models, seed=seed, draw=draw, **options)
    folder = Path(folder)
    by = f"by evalstats, seed {seed}" + (f", draw {draw}" if draw else "")
    _refuse_beside(folder, form, votes=both.live.comparisons.height > 0)
    written = [_table(both.lab, _LAB, folder / "lab" / f"results.{form}", by)]
    if both.live.comparisons.height:
        written.append(_battles(both.live, folder / "live" / "votes.jsonl", by))
    else:
        written.append(_table(both.live, _LIVE, folder / "live" / f"sessions.{form}", by))
    texts = {"truth.json": json.dumps(both.truth.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
    if both.truth.aliases:
        texts["aliases.toml"] = _aliases(both.truth.aliases)
    texts["README.md"] = _readme(both, by)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [*written, *(folder / name for name in texts)]


def _refuse_beside(folder: Path, form: Form, *, votes: bool) -> None:
    """Refuse a folder in which an earlier simulation left tables that this one does not write over."""
    new = {f"results.{form}", "votes.jsonl" if votes else f"sessions.{form}"}
    for side in ("lab", "live"):
        old = sorted(path.name for path in (folder / side).glob("*") if path.name not in new)
        if old:
            raise InputError(
                f"{folder / side} holds {old[0]}, which would be read beside the new files; name an empty folder"
            )


def _table(data: EvalData, columns: tuple[str, ...], path: Path, by: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
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
    return path


def _battles(data: EvalData, path: Path, by: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
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
    return path


def _aliases(aliases: dict[str, str]) -> str:
    lines = "".join(f"{_quoted(lab)} = {_quoted(live)}\n" for lab, live in aliases.items())
    return f"# Name in the lab = name with live users.\n[aliases]\n{lines}"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)  # a basic string of TOML is written like one of JSON


def _readme(both: LabLive, by: str) -> str:
    truth = both.truth
    live = "votes" if truth.unit == "log-odds" else "sessions"
    n_live = max(both.live.outcomes.height, both.live.comparisons.height)
    n_items = both.lab.outcomes["item"].n_unique()
    alias = " --aliases aliases.toml" if truth.aliases else ""
    planted = "\n".join(_planted(truth))
    return f"""# Simulated lab and live results

All of it is invented, {by}: {len(truth.models)} models, {n_items} lab items, {n_live} live {live}.

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
