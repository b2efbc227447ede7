"""HarmAmp: do language models amplify harm? One row for one plan carried out with one model behind one defence.

The benchmark (arXiv 2606.02423) publishes its 279 plans, behind a gate, and no format of results: the columns below are
ours. Of the plans 132 are malicious and 147 benign; one seed may yield several plans, so plans of a seed are dependent.

What is asked of a malicious plan is not asked of a benign one. `harmful` counts on malicious plans only (metric
`harmfulness`), `refused` on benign ones only (`over_refusal`); of both less is better. Rows with a turn have metrics of their
own, so that turns never mix with whole plans.
"""

from typing import Any, Final, cast

import polars as pl

from evalstats.grammar import is_are, plural
from evalstats.loaders.assumed import (
    FIELDS,
    OF_RUN,
    SHAPES,
    Record,
    noted,
    on_scale,
    read,
    standard,
    with_others,
)
from evalstats.loaders.format import LOWER, SHARE, Format, FormatFile, Sign
from evalstats.loaders.record_columns import unscored_where

_LABELS: Final = ("malicious", "benign")
_NO_SEED: Final = "{n} rows have no seed_id; their plans count as a seed each"
_COLUMNS: Final = {"harmfulness": "harmful", "over_refusal": "refused", "harm_score": "harm_score"}
_SHARES: Final = ("harmfulness", "over_refusal")
_NOTE: Final = noted("HarmAmp")
_WHOLE: Final = "whole"
_LABELLED: Final = "labels of plans"
_FIELDS: Final = {
    **FIELDS,
    "item": "plan_id",
    "model": "target_model",
    "scenario": "category",
    "variant": "mode",
    "label": "label",
    "seed_id": "seed_id",
    "defense": "defense",
    "_turn": "turn",
}


def _arranged(frame: pl.DataFrame, file: FormatFile[Record]) -> pl.DataFrame:
    """Return plans with a known label: model and defence together are the system, mode and turn the variant."""
    file.note(_NOTE)
    label = pl.col("label").cast(pl.String).str.strip_chars().str.to_lowercase()
    frame = file.named(frame, item="plan_id", model="target_model").with_columns(label=label)
    frame = file.without(
        frame, ~pl.col("label").is_in(_LABELS).fill_null(value=False), f"no label that is {' or '.join(_LABELS)}"
    )
    labels = cast("dict[str, set[str]]", file.kept.setdefault(_LABELLED, {}))
    for plan, given in frame.select("item", "label").unique().iter_rows():
        labels.setdefault(plan, set()).add(given)
    file.count(_NO_SEED, frame["seed_id"].null_count())
    frame = frame.with_columns(turn=pl.col("_turn").replace("", None).cast(pl.Int64, strict=False))
    frame = file.without(frame, pl.col("turn").is_null() & (pl.col("_turn") != ""), "a turn that is no whole number")
    defense, turn = pl.col("defense").cast(pl.String), pl.col("turn")
    mode = pl.col("variant").fill_null("")
    return standard(
        frame.with_columns(
            seed_id=pl.coalesce(pl.col("seed_id").cast(pl.String), "item"),
            system=pl.when(defense != "").then(pl.col("model") + " + " + defense).otherwise("model"),
            variant=pl.when(turn.is_null()).then(mode).otherwise(pl.format("{} turn {}", mode, turn).str.strip_chars()),
        ).with_columns(part=pl.coalesce("part", "system")),
        file,
        {"category": "scenario", "mode": "variant"},
    )


def _after(frame: pl.DataFrame, file: FormatFile[Record]) -> pl.DataFrame:
    counts = pl.when(pl.col("metric") == "over_refusal").then(pl.lit("benign")).otherwise(pl.lit("malicious"))
    frame = frame.filter(pl.col("label") == counts)
    odd = pl.col("metric").is_in(_SHARES) & ~pl.col("score").is_in([0.0, 1.0])
    frame = unscored_where(frame, pl.when(odd).then(pl.lit("the score is neither 0 nor 1")))
    ending = pl.when(pl.col("turn").is_null()).then(pl.lit("")).otherwise(pl.lit("/turn"))
    frame = frame.with_columns(pl.col("metric") + ending)
    held = frame["metric"].unique(maintain_order=True)
    file.kept[_WHOLE] = file.kept.get(_WHOLE) or "harmfulness" in held
    return on_scale(frame, file, held.filter(held.str.starts_with("harm_score")).to_list(), {"higher_is_better": False})


def _finish(file: FormatFile[Record]) -> None:
    labels = cast("dict[str, set[str]]", file.kept.get(_LABELLED, {}))
    if both := sorted(plan for plan, given in labels.items() if len(given) > 1):
        file.note(
            f"{plural(len(both), 'plan')} {is_are(len(both))} malicious in some rows and benign in others (such as {both[0]!r}): "
            "each row counts under its own label; give each plan one"
        )
    if not file.kept.get(_WHOLE):  # of turns alone theirs is the headline
        file.metric("harmfulness/turn", **SHARE, higher_is_better=False, primary=True)


LOADER: Final[Format[Any]] = Format(
    name="harmamp",
    title="HarmAmp results (tables; columns assumed, as none are published)",
    version="4",
    upstream="assumed: none is published",
    benchmark="HarmAmp",
    harness=None,
    signs=(
        Sign("plan_id seed_id label target_model", some="harmful refused harm_score", confidence=0.7, shapes=SHAPES),
    ),
    record=Record,
    inner=with_others(_FIELDS.values(), (*_COLUMNS.values(),)),
    fields=_FIELDS,
    scores={metric: f"{column}?" for metric, column in _COLUMNS.items()},
    reads=read,
    about=lambda _: {"note": _NOTE, "dependence": ["seed_id"]},
    arranged=_arranged,
    after=_after,
    finish=_finish,
    of_run=(*OF_RUN, "system"),
    metrics={
        "harmfulness": {**SHARE, "higher_is_better": False, "primary": True},
        "over_refusal": {**SHARE, "higher_is_better": False},
        **{f"{name}/*": {**SHARE, "higher_is_better": False} for name in _SHARES},
        "*": LOWER,
    },
    called="rows",
)
