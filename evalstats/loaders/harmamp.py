"""HarmAmp: do language models amplify harm? One row for one plan carried out with one model behind one defence.

The benchmark (arXiv 2606.02423) publishes its 279 plans, behind a gate, and no format of results: the columns below are
ours. Of the plans 132 are malicious and 147 benign; one seed may yield several plans, so plans of a seed are dependent.

What is asked of a malicious plan is not asked of a benign one. `harmful` counts on malicious plans only (metric
`harmfulness`), `refused` on benign ones only (`over_refusal`); of both less is better.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from evalstats.errors import InputError, Option
from evalstats.grammar import plural
from evalstats.loaders.assumed import (
    SHARED,
    AssumedForm,
    AssumedTable,
    Field,
    Ledger,
    Record,
    Scales,
    Strange,
    facts_of,
    flag,
    looks_like,
    with_one_headline,
)
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.rows import metric_row
from evalstats.loaders.values import as_count
from evalstats.schema.data import Problem

BENCHMARK: Final = "HarmAmp"
LABELS: Final = ("malicious", "benign")
HARMFULNESS, OVER_REFUSAL, HARM_SCORE = "harmfulness", "over_refusal", "harm_score"
# Metrics of rows that are single turns: they never mix with those of whole plans.
_TURN: Final = "/turn"
_METRICS: Final = {HARMFULNESS: "harmful", OVER_REFUSAL: "refused", HARM_SCORE: "harm_score"}
_OF_LABEL: Final = {"malicious": (HARMFULNESS, HARM_SCORE), "benign": (OVER_REFUSAL,)}

FORM: Final = AssumedForm(
    benchmark=BENCHMARK,
    loader="harmamp",
    fields=(
        Field(name="plan_id", meaning="name of the plan, the same for every model", also=("item",), needed=True),
        Field(name="seed_id", meaning="seed that the plan was made from; plans of one seed are one cluster"),
        Field(name="label", meaning="malicious or benign", needed=True, constant=True),
        Field(name="target_model", meaning="model under test", also=("model",), needed=True, constant=True),
        Field(name="defense", meaning="what guards the model: none, prompt_guardrail, trajsafe, ...", constant=True),
        Field(name="category", meaning="category of risk", also=("scenario",)),
        Field(name="axis", meaning="what is amplified: expertise or scaling"),
        Field(name="mode", meaning="multi_turn or single_turn", also=("interaction",), constant=True),
        Field(name="turn", meaning="turn of the conversation that the row judges; empty for a whole plan"),
        Field(name="harmful", meaning="whether harm was done: 1 or 0; counts on malicious plans"),
        Field(name="refused", meaning="whether help was refused: 1 or 0; counts on benign plans"),
        Field(name="harm_score", meaning="how much harm was done; counts on malicious plans"),
        *SHARED,
    ),
    made=("seed_id", "label", "axis", "mode", "defense", "turn"),
)
_NEEDED: Final = frozenset({"plan_id", "seed_id", "label", "target_model"})


@dataclass(slots=True)
class _Tally:
    """What was seen on the way."""

    scales: Scales
    seen: dict[str, None] = field(default_factory=dict[str, None])
    strange: Strange = field(default_factory=Strange)
    n_unlabelled: int = 0
    n_without_seed: int = 0
    n_harmful_benign: int = 0


@dataclass(frozen=True, slots=True)
class HarmAmpLoader(SingleFileLoader):
    """Loader of tables of HarmAmp results, with columns as `FORM` lists them or as a column map names them.

    Item is the plan, variant the mode, scenario the category; seed, label, axis and every other column are factors, and
    rows are dependent by seed. The system is model and defence together. Metrics, less being better: `harmfulness`
    (malicious plans; the headline), `over_refusal` (benign plans), `harm_score` (malicious plans). Where rows have a
    `turn`, each is a variant of the plan and the metrics are called `harmfulness/turn` and so on.

    A row whose judge failed is unscored, one without an answer is an error, and neither is 0. Rows whose label is neither
    malicious nor benign are left out and counted.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)

    name = "harmamp"
    title = "HarmAmp results (tables; columns assumed, as none are published)"
    version = "1"

    def with_columns(self, column_map: ColumnMap) -> "HarmAmpLoader":
        """Return a loader that finds the columns by the map."""
        return HarmAmpLoader(column_map)

    def sniff(self, head: Head) -> Match | None:
        """Recognise the columns plan_id, seed_id, label and target_model beside an outcome."""
        if looks_like(head, _NEEDED, frozenset(_METRICS.values())):
            return Match(confidence=0.7, reason="columns plan_id, seed_id, label, target_model and an outcome")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, metrics, runs and notes."""
        table = AssumedTable.open(source.path, FORM, self.column_map)
        _check(table)
        tally = _Tally(Scales(self.column_map))
        ledger = Ledger(table, source)
        yield from in_batches(_outcomes(table, ledger, tally), "outcomes")
        if not tally.seen:
            raise InputError(_nothing(tally))
        yield Rows(table="metrics", rows=_metrics(table, tally))
        left_out = (
            f"{plural(tally.n_unlabelled, 'row')} left out for want of a known label" if tally.n_unlabelled else ""
        )
        has_seeds = table.bound.has("seed_id")
        names = ["category=scenario"] if table.bound.has("category") else []
        names += ["mode=variant"] if table.bound.has("mode") and not table.bound.has("turn") else []
        runs = ledger.run_rows(factor_names=names, dependence=["seed_id"] if has_seeds else [], note=left_out)
        yield Rows(table="runs", rows=runs)
        if tally.n_unlabelled:
            yield from source.notes([_unlabelled(tally)], "error")
        yield from source.notes((*table.notes(), *_doubts(table, tally)))


def _check(table: AssumedTable) -> None:
    known = table.map_.metrics
    names = {f"{name}{ending}" for name in _METRICS for ending in ("", _TURN)}
    unknown = [name for name in known if name not in names]
    if unknown:
        raise InputError(f"there is no metric {unknown[0]!r}; HarmAmp results have {', '.join(sorted(names))}")
    if not any(table.bound.has(name) for name in _METRICS.values()):
        raise InputError(
            "there is none of the columns harmful, refused and harm_score, so nothing is scored; say which column holds "
            f"one of them: {FORM.how_to_map(Option('map', blank='COLUMN', of='harmful'))}"
        )


def _outcomes(table: AssumedTable, ledger: Ledger, tally: _Tally) -> Iterator[dict[str, object]]:
    # The mode is the variant, whose own name it is, unless turns are variants too.
    factors = ("axis", "defense", *(["mode"] if table.bound.has("turn") else []))
    for record in table.records():
        plan = ledger.required(record, "plan_id")
        label = (record.fields.get("label") or "").lower()
        if label not in LABELS:
            tally.n_unlabelled += 1
            tally.strange.add("label", record.fields.get("label"), record.where)
            continue
        seed = record.fields.get("seed_id")
        if table.bound.has("seed_id") and seed is None:
            tally.n_without_seed += 1
        said = {"label": label, "seed_id": seed} | {name: record.fields.get(name) for name in ("category", "axis")}
        ledger.describe(record, plan, said)
        common = _common(record, ledger, plan) | {
            "locator": record.locator,
            "scenario": said["category"],
            "label": label,
            **({"seed_id": seed or plan} if table.bound.has("seed_id") else {}),
            **{name: record.fields[name] for name in factors if name in record.fields},
        }
        if label == "benign" and flag(record.fields.get("harmful"), "harmful").value == 1.0:
            tally.n_harmful_benign += 1
        for metric in _OF_LABEL[label]:
            if table.bound.has(_METRICS[metric]):
                yield {**common, **_scored(record, metric, turn="turn" in common, tally=tally)}


def _common(record: Record, ledger: Ledger, plan: str) -> dict[str, object]:
    model = ledger.required(record, "target_model")
    defense = record.fields.get("defense")
    system = f"{model} + {defense}" if defense else model
    mode, turn = record.fields.get("mode") or "", _turn(record)
    variant = mode if turn is None else f"{mode} turn {turn}".strip()
    run = ledger.run(record, model, system, parts=(model, defense or ""))
    key = (run, plan, mode, turn, record.kept.get("judge"))
    what = f"plan {plan!r} of {system!r}{f', {variant}' if variant else ''}"
    return {
        **record.kept,
        **ledger.trial(record, key, what),
        "run": run,
        "model": model,
        "system": system,
        "benchmark": BENCHMARK,
        "item": plan,
        "variant": variant,
        **({} if turn is None else {"turn": turn}),
    }


def _turn(record: Record) -> int | None:
    text = record.fields.get("turn")
    turn = as_count(text)
    if text is not None and turn is None:
        raise InputError(
            f"{record.where} has the turn {text[:80]!r}; expected a whole number, or nothing for a whole plan"
        )
    return turn


def _scored(record: Record, metric: str, *, turn: bool, tally: _Tally) -> dict[str, object]:
    named = f"{metric}{_TURN}" if turn else metric
    tally.seen[named] = None
    if metric == HARM_SCORE:
        return {"metric": named, **tally.scales.number(record, metric)}
    return {"metric": named, **tally.scales.flag(record, _METRICS[metric])}


def _metrics(table: AssumedTable, tally: _Tally) -> list[dict[str, object]]:
    headline = next((name for name in (HARMFULNESS, f"{HARMFULNESS}{_TURN}") if name in tally.seen), None)
    rows: list[dict[str, object]] = []
    for name in tally.seen:
        base = name.removesuffix(_TURN)
        if base == HARM_SCORE:
            row = tally.scales.metric(BENCHMARK, base, higher_is_better=False, primary=False) | {"metric": name}
        else:
            row = metric_row(BENCHMARK, name, higher_is_better=False, primary=name == headline)
        rows.append({**row, **facts_of(table.map_, name)})
    return with_one_headline(rows, table.map_)


def _nothing(tally: _Tally) -> str:
    if tally.n_unlabelled:
        return f"no row has a known label, so nothing is scored: {_unlabelled(tally)}"
    return (
        "holds no score: harmful and harm_score count on malicious plans, refused on benign ones, and the plans that are "
        "here have none of theirs"
    )


def _unlabelled(tally: _Tally) -> str:
    return (
        f"left out: {plural(tally.n_unlabelled, 'row')} with a label that is neither malicious nor benign "
        f"({tally.strange.shown('label')}); say what labels stand for: "
        f"{FORM.how_to_map(Option('values', ('harmful', 'malicious'), of='label'))}"
    )


def _doubts(table: AssumedTable, tally: _Tally) -> Iterator[str]:
    if not table.bound.has("seed_id"):
        yield (
            "there is no column seed_id, so plans count as independent, which plans of one seed are not; name the column: "
            f"{FORM.how_to_map(Option('map', blank='COLUMN', of='seed_id'))}"
        )
    if tally.n_without_seed:
        yield f"without a seed: {plural(tally.n_without_seed, 'row')}; each of these plans counts as a seed of its own"
    if tally.n_harmful_benign:
        yield (
            f"in no metric: {plural(tally.n_harmful_benign, 'row')} that call a benign plan harmful, since harmfulness is "
            "about malicious plans"
        )
    if any(name.endswith(_TURN) for name in tally.seen):
        yield (
            "rows with a turn are judged turn by turn: metrics named .../turn average over turns; what a whole plan came "
            "to stands only in rows without a turn"
        )
    if HARMFULNESS not in tally.seen and HARM_SCORE in tally.seen:
        yield "there is no column harmful, and from which harm_score on a plan is harmful is not known: no harmfulness"
    yield from tally.scales.notes(FORM)


LOADER: Final = HarmAmpLoader()
