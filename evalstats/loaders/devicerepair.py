"""Consumer device repair: questions about broken phones, computers and lost data, answered in English and in Bangla.

The benchmark (arXiv 2606.03331) has 991 questions in three domains, each with a Bangla translation, and judges answers by
four criteria: correctness, completeness, practicality, safety. It publishes neither results nor their format, nor the
scale of the criteria: the columns below are ours.

Each criterion is a metric of its own; no mean over criteria is made, since none is defined. The headline is correctness:
an answer that is complete, practical and harmless helps nobody if it is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from evalstats.errors import InputError, Option
from evalstats.loaders.assumed import (
    SHARED,
    AssumedForm,
    AssumedTable,
    Field,
    Ledger,
    Scales,
    looks_like,
    with_one_headline,
)
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.column_map import ColumnMap
from evalstats.schema.data import Problem

BENCHMARK: Final = "device-repair"
CRITERIA: Final = ("correctness", "completeness", "practicality", "safety")
PRIMARY: Final = "correctness"

FORM: Final = AssumedForm(
    benchmark=BENCHMARK,
    loader="devicerepair",
    fields=(
        Field(
            name="question_id",
            meaning="name of the question, the same for all models and languages",
            also=("item",),
            needed=True,
        ),
        Field(name="domain", meaning="phone_repair, computer_repair, data_recovery", also=("scenario",), constant=True),
        Field(name="language", meaning="language of question and answer", also=("variant",), constant=True),
        Field(name="model", meaning="model that answered", needed=True, constant=True),
        *(Field(name=name, meaning=f"how good the answer is in {name}; more is better") for name in CRITERIA),
        *SHARED,
    ),
    choice=f"{PRIMARY} is the headline, since no mean over the criteria is defined",
)
_OWN_NAMES: Final = {"domain": "scenario", "language": "variant"}
_NEEDED: Final = frozenset({"question_id", "domain", "language", "model"})


@dataclass(frozen=True, slots=True)
class DeviceRepairLoader(SingleFileLoader):
    """Loader of tables of device-repair results, with columns as `FORM` lists them or as a column map names them.

    Item is the question, variant the language, scenario the domain, so that the languages of a question are one cluster
    and `--contrast language` pairs them; every other column is a factor. Metrics are the four criteria, more being better;
    `correctness` is the headline. Their scale is that of `score_min` and `score_max`, or of the column map; without one
    they have no bounds. A criterion outside the scale is an error, an empty one or one whose judge failed is unscored, and
    a criterion without a column is missing: none of them is 0.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)

    name = "devicerepair"
    title = "device-repair results (tables; columns assumed, none published)"
    version = "1"

    def with_columns(self, column_map: ColumnMap) -> "DeviceRepairLoader":
        """Return a loader that finds the columns by the map."""
        return DeviceRepairLoader(column_map)

    def sniff(self, head: Head) -> Match | None:
        """Recognise the columns question_id, domain, language and model beside a criterion."""
        if looks_like(head, _NEEDED, frozenset(CRITERIA)):
            return Match(confidence=0.7, reason="columns question_id, domain, language, model and a criterion")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, metrics, runs and notes."""
        table = AssumedTable.open(source.path, FORM, self.column_map)
        given = _criteria(table)
        scales = Scales(self.column_map)
        ledger = Ledger(table, source)
        yield from in_batches(_outcomes(table, given, ledger, scales), "outcomes")
        metrics = [scales.metric(BENCHMARK, name, higher_is_better=True, primary=name == PRIMARY) for name in given]
        yield Rows(table="metrics", rows=with_one_headline(metrics, self.column_map))
        names = [f"{own}={name}" for own, name in _OWN_NAMES.items() if table.bound.has(own)]
        yield Rows(table="runs", rows=ledger.run_rows(factor_names=names, dependence=[]))
        yield from source.notes((*table.notes(), *_doubts(given, scales)))


def _criteria(table: AssumedTable) -> tuple[str, ...]:
    unknown = [name for name in table.map_.metrics if name not in CRITERIA]
    if unknown:
        raise InputError(f"there is no metric {unknown[0]!r}; {BENCHMARK} results have {', '.join(CRITERIA)}")
    given = tuple(name for name in CRITERIA if table.bound.has(name))
    if not given:
        raise InputError(
            f"there is none of the columns {', '.join(CRITERIA)}, so nothing is scored; say which column holds one of "
            f"them: {FORM.how_to_map(Option('map', blank='COLUMN', of=PRIMARY))}"
        )
    return given


def _outcomes(
    table: AssumedTable, given: tuple[str, ...], ledger: Ledger, scales: Scales
) -> Iterator[dict[str, object]]:
    for record in table.records():
        question, model = ledger.required(record, "question_id"), ledger.required(record, "model")
        domain, language = record.fields.get("domain"), record.fields.get("language")
        ledger.describe(record, question, {"domain": domain})
        run = ledger.run(record, model, model, parts=(model,))
        key = (run, question, language, record.kept.get("judge"))
        what = f"question {question!r} in {language or 'no language'} answered by {model!r}"
        common = {
            **record.kept,
            **ledger.trial(record, key, what),
            "run": run,
            "model": model,
            "system": model,
            "benchmark": BENCHMARK,
            "item": question,
            "variant": language or "",
            "scenario": domain,
            "locator": record.locator,
        }
        for metric in given:
            yield {**common, "metric": metric, **scales.number(record, metric)}


def _doubts(given: tuple[str, ...], scales: Scales) -> Iterator[str]:
    absent = [name for name in CRITERIA if name not in given]
    if absent:
        yield f"there is no column for {', '.join(absent)}: these criteria are missing, not 0"
    yield from scales.notes(FORM)


LOADER: Final = DeviceRepairLoader()
