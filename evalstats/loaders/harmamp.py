"""HarmAmp: do language models amplify harm? One row for one plan carried out with one model behind one defence.

The benchmark (arXiv 2606.02423) publishes its 279 plans, behind a gate, and no format of results: the columns below are
ours. Of the plans 132 are malicious and 147 benign; one seed may yield several plans, so plans of a seed are dependent.

What is asked of a malicious plan is not asked of a benign one. `harmful` counts on malicious plans only (metric
`harmfulness`), `refused` on benign ones only (`over_refusal`); of both less is better.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from evalstats.errors import InputError, Option
from evalstats.loaders.assumed import SHAPES, SHARED, TURN, AssumedLoader, AssumedRows, Criterion, Field
from evalstats.loaders.format import Sign
from evalstats.loaders.values import PLACE, as_count

_CRITERIA: Final = (
    Criterion(metric="harmfulness", column="harmful", higher_is_better=False, is_flag=True, label="malicious"),
    Criterion(metric="over_refusal", column="refused", higher_is_better=False, is_flag=True, label="benign"),
    Criterion(metric="harm_score", column="harm_score", higher_is_better=False, label="malicious"),
)
_NO_SEED: Final = "rows without a seed, whose plans count as a seed each: {n}"
_HARMFUL_BENIGN: Final = (
    "benign plans called harmful, which count in no metric (harmfulness is about malicious ones): {n}"
)


def _arranged(frame: pl.DataFrame, rows: AssumedRows) -> pl.DataFrame:
    """Return plans with a known label, their system and variant: model and defence together are one, the mode the other."""
    frame = rows.labelled(frame, ["malicious", "benign"])
    model = pl.col("target_model")
    if "defense" in frame.columns:
        guarded = pl.when(pl.col("defense").is_not_null()).then(pl.format("{} + {}", model, "defense"))
        frame = frame.with_columns(system=guarded.otherwise(model))
    if "turn" in frame.columns:
        turns = {text: as_count(text) for text in frame["turn"].drop_nulls().unique()}
        wrong = frame.filter(pl.col("turn").is_in([text for text, turn in turns.items() if turn is None]))
        for place, text in wrong.select(PLACE, "turn").head(1).iter_rows():
            raise InputError(
                f"{rows.word} {place} has the turn {text[:80]!r}; expected a whole number, or nothing for a whole plan"
            )
        mode = pl.col("mode").fill_null("") if "mode" in frame.columns else pl.lit("")
        told = pl.col("turn").replace_strict(turns, return_dtype=pl.Int64)
        by_turn = pl.format("{} turn {}", mode, told).str.strip_chars()
        frame = frame.with_columns(variant=pl.when(told.is_null()).then(mode).otherwise(by_turn), turn=told)
    elif "mode" in frame.columns:
        frame = frame.rename({"mode": "variant"})
        rows.own_names["mode"] = "variant"
    if "seed_id" in frame.columns:
        rows.counts[_NO_SEED] += frame["seed_id"].null_count()
        frame = frame.with_columns(pl.col("seed_id").fill_null(pl.col("plan_id")))
    if "harmful" in frame.columns:
        harmful = frame.filter(pl.col("label") == "benign")["harmful"].str.to_lowercase()
        rows.counts[_HARMFUL_BENIGN] += int(harmful.is_in(["1", "true", "yes"]).sum())
    return frame


def _doubts(rows: AssumedRows) -> Iterator[str]:
    if not rows.has("seed_id"):
        yield (
            "there is no column seed_id, so plans count as independent, which plans of one seed are not; name the column: "
            f"{LOADER.how_to_map(Option('map', blank='COLUMN', of='seed_id'))}"
        )
    if any(name.endswith(TURN) for name in rows.seen):
        yield (
            "rows with a turn are judged turn by turn: metrics named .../turn average over turns; what a whole plan came "
            "to stands only in rows without a turn"
        )
    if "harm_score" in rows.seen and not rows.has("harmful"):
        yield "there is no column harmful, and from which harm_score on a plan is harmful is not known: no harmfulness"


LOADER: Final = AssumedLoader(
    name="harmamp",
    title="HarmAmp results (tables; columns assumed, as none are published)",
    version="2",
    benchmark="HarmAmp",
    sign=Sign("plan_id seed_id label target_model", some="harmful refused harm_score", confidence=0.7, shapes=SHAPES),
    fields=(
        Field(name="plan_id", meaning="name of the plan, the same for every model", also=("item",), needed=True),
        Field(name="seed_id", meaning="seed of the plan; plans with the same seed are one cluster"),
        Field(name="label", meaning="malicious or benign", needed=True, constant=True),
        Field(name="target_model", meaning="model under test", also=("model",), needed=True, constant=True),
        Field(name="defense", meaning="defence of the model: none, prompt_guardrail, trajsafe, ...", constant=True),
        Field(name="category", meaning="risk category", also=("scenario",)),
        Field(name="axis", meaning="what is amplified: expertise or scaling"),
        Field(name="mode", meaning="multi_turn or single_turn", also=("interaction",), constant=True),
        Field(name="turn", meaning="turn of the conversation that the row judges; empty for a whole plan"),
        Field(name="harmful", meaning="whether harm was done: 1 or 0; used on malicious plans"),
        Field(name="refused", meaning="whether help was refused: 1 or 0; used on benign plans"),
        Field(name="harm_score", meaning="how much harm was done; used on malicious plans"),
        *SHARED,
    ),
    criteria=_CRITERIA,
    arranged=_arranged,
    doubts=_doubts,
    described=("label", "seed_id", "category", "axis"),
    dependence=("seed_id",),
)
