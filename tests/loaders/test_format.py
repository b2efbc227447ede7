"""A declared format: the page's example as another package offers it, and what `Format` makes of any declaration."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec import Struct

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders import registry
from evalstats.loaders.base import Loader, Source, read_head, with_digest
from evalstats.loaders.format import (
    FAILED,
    HIGHER,
    JSON,
    LOWER,
    RECORDS,
    TABLE,
    UNSCORED,
    Format,
    FormatFile,
    Sample,
    Sign,
)
from evalstats.loaders.record_columns import number, numbers, series, verdict
from evalstats.loaders.registry import loaders, read_source
from evalstats.loaders.rows import as_row
from evalstats.schema.data import EvalData

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "your-own.md"
ANSWERS: list[dict[str, Any]] = [
    {"case": "a", "bot": "old", "points": 4, "topic": "law"},
    {"case": "a", "bot": "new", "points": 5.0, "topic": "law"},
    {"case": "b", "bot": "old", "points": "2", "topic": None},
    {"case": "b", "bot": "new", "points": 0, "crashed": "Timeout"},
    {"case": "a", "bot": "new", "points": 6},
    {"case": "c", "bot": "new"},
    {"bot": "new", "points": 1},
]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[Format[Any]]:
    """The format of the page, as if a package offered it by an entry point."""
    space: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0], space)  # noqa: S102 - our own page

    class Point:
        @staticmethod
        def load() -> Loader:
            return space["FORMAT"]

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point()] if group == "evalstats.loaders" else [])
    loaders.cache_clear()
    yield space["FORMAT"]
    monkeypatch.undo()
    loaders.cache_clear()


def test_the_format_of_another_package_is_found_and_read(offered: Format[Any], tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(answer)}\n" for answer in ANSWERS))
    data = es.read(path)
    columns = ("item", "model", "trial", "status", "score", "topic", "locator")
    assert data.outcomes.select(columns).rows() == [
        ("a", "old", 0, "scored", 4.0, "law", "line 1"),
        ("a", "new", 0, "scored", 5.0, "law", "line 2"),
        ("b", "old", 0, "scored", 2.0, None, "line 3"),
        ("b", "new", 0, "error", None, None, "line 4"),
        ("a", "new", 1, "unscored", None, None, "line 5"),
        ("c", "new", 0, "unscored", None, None, "line 6"),
    ]
    runs = data.runs.select("model", "loader", "harness", "n_scored", "n_error", "n_unscored").rows()
    assert runs == [("old", offered.name, "bot-bench", 2, 0, 0), ("new", offered.name, "bot-bench", 1, 1, 2)]
    assert data.metrics.select("kind", "low", "high", "higher_is_better", "primary").row(0) == (
        "bounded",
        0,
        5,
        True,
        True,
    )
    assert [str(problem.message) for problem in data.problems] == ["1 of 7 records are dropped (no case): line 7"]
    assert es.compare(data, "old", "new").n_items == 1


def test_the_page_names_what_there_is() -> None:
    text = PAGE.read_text()
    for name in re.findall(r"file\.(\w+)", text):
        assert hasattr(FormatFile, name) or name in {"factors", "source", "runs", "members"}, name
    for name in ("at", "keep", "columns", "rows", "finish", "record"):
        assert f"`{name}" in text
        assert name in Format.__dataclass_fields__


class Answer(Struct):
    case: str
    bot: str | None = None
    points: Any = None
    config: str | None = None


def say(answer: Answer, file: FormatFile[Answer]) -> Iterator[Sample]:
    run = file.run(answer.bot, judge=answer.config)
    yield {"run": run, "item": answer.case, "locator": file.locator}, [("points", number(answer.points))]


BASE = Format(
    name="x",
    title="X",
    version="1",
    upstream="a/b at 1, c",
    benchmark="Bench",
    harness="H",
    signs=(Sign("case points", shapes=RECORDS),),
    record=Answer,
    rows=say,
)


def load(form: Format[Any], folder: Path, *answers: object, name: str = "x.jsonl") -> EvalData:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, answers)))
    return read_source(form, with_digest(Source(path=path)))


def told(data: EvalData) -> list[str]:
    return [problem.message for problem in data.problems]


def test_columns_give_what_rows_give(tmp_path: Path) -> None:
    def columns(answers: list[Answer], file: FormatFile[Answer]) -> pl.DataFrame:
        frame = pl.DataFrame(
            {
                "item": [answer.case for answer in answers],
                "model": [answer.bot for answer in answers],
                "judge": pl.Series([answer.config for answer in answers], dtype=pl.String),
                "metric": "points",
                "locator": file.locators,
            }
        )
        return frame.hstack(numbers([answer.points for answer in answers]))

    answers = [{"case": f"q{n}", "bot": "ab"[n % 2], "points": (n, "x", None, 0.5)[n % 4]} for n in range(40)]
    flat = load(replace(BASE, rows=None, columns=columns, of_run=("judge",)), tmp_path, *answers)
    nested = load(BASE, tmp_path, *answers)
    assert flat.outcomes.equals(nested.outcomes)
    assert flat.metrics.equals(nested.metrics)
    assert flat.runs.equals(nested.runs)


def test_what_differs_within_a_run_is_null_and_a_file_names_what_has_no_name(tmp_path: Path) -> None:
    answers = [{"case": "a", "points": 1, "config": "x"}, {"case": "b", "points": 2, "config": "y"}]
    data = load(BASE, tmp_path, *answers, name="gpt.jsonl")
    assert data.runs.select("model", "system", "judge").rows() == [("gpt", "gpt", None)]
    assert told(data) == [
        "the file does not name its model; it is called 'gpt' after the file. Rename the file to say otherwise"
    ]
    advised = load(replace(BASE, naming="Log it."), tmp_path, *answers, name="gpt.jsonl")
    assert told(advised)[0].endswith("after the file. Log it.")


def test_ranges_belong_to_the_benchmark_of_a_run(tmp_path: Path) -> None:
    def rows(answer: Answer, file: FormatFile[Answer]) -> Iterator[Sample]:
        run = file.run("m", str(answer.config), benchmark=answer.config)
        yield {"run": run, "item": answer.case}, [("points", number(answer.points))]

    answers = [{"case": "a", "points": 1, "config": "one"}, {"case": "a", "points": 7, "config": "two"}]
    data = load(replace(BASE, rows=rows, metrics={"points": HIGHER, "p*": LOWER, "*": LOWER}), tmp_path, *answers)
    found = data.metrics.select("benchmark", "kind", "high", "higher_is_better").rows()
    assert found == [("one", "binary", 1.0, True), ("two", "continuous", None, True)]
    assert data.outcomes["benchmark"].to_list() == ["one", "two"]


def test_the_end_of_a_file_has_the_last_word(tmp_path: Path) -> None:
    class Pairs:
        def __init__(self, file: FormatFile[Answer]) -> None:
            self.file, self.points = file, dict[str, list[float]]()

        def rows(self, record: Answer) -> Iterator[Sample]:
            self.points.setdefault(record.case, []).append(record.points)
            if not record.points:
                yield (
                    {"run": self.file.run("m"), "item": record.case},
                    [("zero", 1.0)],
                )

        def finish(self) -> Iterator[Sample]:
            run = self.file.run("m")
            for case, points in self.points.items():
                yield {"run": run, "item": case}, [("mean", number(sum(points) / len(points)))]
            self.file.runs[run]["system"] = "m with a prompt"
            self.file.metric("mean", higher_is_better=False)
            self.file.add(
                "aggregates", {"run": run, "model": "m", "benchmark": "Bench", "metric": "all", "estimate": 0.5}
            )

    form = replace(
        BASE,
        rows=lambda record, file: file.state(Pairs).rows(record),
        finish=lambda file: file.state(Pairs).finish(),
    )
    answers = [{"case": "a", "points": 1}, {"case": "b", "points": 0}, {"case": "a", "points": 0.5}]
    data = load(form, tmp_path, *answers)
    found = data.outcomes.select("item", "metric", "score", "system").rows()
    assert found == [
        ("b", "zero", 1.0, "m with a prompt"),
        ("a", "mean", 0.75, "m with a prompt"),
        ("b", "mean", 0.0, "m with a prompt"),
    ]
    assert dict(data.metrics.select("metric", "higher_is_better").rows()) == {"zero": None, "mean": False}
    assert data.aggregates["estimate"].to_list() == [0.5]


def test_notes_count_states_and_cases(tmp_path: Path) -> None:
    form = replace(BASE, counts={"{n} of {all} answers have no points": UNSCORED, "{n} failed": FAILED})
    assert told(load(form, tmp_path, {"case": "a", "bot": "m", "points": 1}, {"case": "b", "bot": "m"})) == [
        "1 of 2 answers have no points"
    ]


def test_a_file_without_a_record_is_refused_in_words(tmp_path: Path) -> None:
    said = r"none of its records could be read; 1 of 1 records are dropped \(no case\): line 1\. Say `run`"
    with pytest.raises(UnreadableFileError, match=said):
        load(replace(BASE, expected="Say `run`"), tmp_path, {"points": 1})
    with pytest.raises(UnreadableFileError, match="none of its records could be read; it holds none at all"):
        load(BASE, tmp_path, [], name="x.json")


def test_what_is_left_out_of_several_files_is_told_at_once_with_the_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"case": "{name}", "points": 1}}\n{{"points": 2}}\nno\n')
    source = Source(path=tmp_path / "a.jsonl", companions=(tmp_path / "b.jsonl", tmp_path / "c.jsonl"))
    data = read_source(BASE, source)
    beside = f"{tmp_path.name}/b.jsonl"
    assert data.outcomes["locator"].to_list() == ["line 1", f"{beside} line 1"]
    assert [problem.path for problem in data.problems[:3]] == [str(tmp_path / f"{name}.jsonl") for name in "caa"]
    assert told(data)[1:3] == [
        f"2 of 6 records are dropped (no case): line 2, {beside} line 2",
        f"2 of 6 records are dropped (no JSON, or cut off): line 3, {beside} line 3",
    ]


def test_factors_name_their_source(tmp_path: Path) -> None:
    def rows(answer: Answer, file: FormatFile[Answer]) -> Iterator[Sample]:
        shared = {"run": file.run("m"), "item": answer.case, **file.factors.of({"category": "law", "item": 3})}
        yield shared, [("points", number(answer.points))]

    data = load(replace(BASE, rows=rows), tmp_path, {"case": "a", "points": 1})
    assert data.outcomes.select("scenario", "metadata_item").rows() == [("law", 3)]
    assert data.runs["factor_names"].to_list() == [["category=scenario"]]


@pytest.mark.parametrize(
    ("sign", "shown"),
    [
        (Sign("a b"), "a, b"),
        (Sign("a", some="x b"), "a, b"),
        (Sign("a", text=('"deep"',)), 'a, "deep"'),
        (Sign(name=".jsonl"), ".jsonl"),
        (Sign("a", skip="a manifest"), "a manifest"),
        (Sign("a z"), None),
        (Sign("a", some="x y"), None),
        (Sign("a", without="b"), None),
        (Sign("a", text=("deeper",)), None),
        (Sign("a", name=".csv"), None),
        (Sign("a", shapes=TABLE), None),
    ],
)
def test_signs(tmp_path: Path, sign: Sign, shown: str | None) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1, "b": {"deep": 1}}\n{"c": 1}\n')
    match = sign.match(read_head(path))
    assert (None if match is None else match.reason) == shown
    assert match is None or match.skip == bool(sign.skip)


def test_the_surest_sign_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    form = replace(
        BASE, signs=(Sign("a", 0.4, shapes=TABLE), Sign("b", 0.7, shapes=TABLE), Sign("a b", 1.0, shapes=JSON))
    )
    match = form.sniff(read_head(path))
    assert match is not None
    assert match.confidence == 0.7


@pytest.mark.parametrize(
    ("value", "status", "score"),
    [
        (3, "scored", 3.0),
        ("2.5", "scored", 2.5),
        (True, "unscored", None),
        (None, "unscored", None),
        ("good", "unscored", None),
        (11, "unscored", None),
        (-1, "unscored", None),
        (float("nan"), "unscored", None),
        ([1], "unscored", None),
        (10**400, "unscored", None),
    ],
)
def test_numbers_are_told_apart_one_by_one_and_in_columns(value: object, status: str, score: float | None) -> None:
    one = as_row(number(value, 0, 10))
    assert (one["status"], one.get("score")) == (status, score)
    assert (one.get("status_reason") is None) == (status == "scored")
    many = numbers([value, 4], 0, 10)
    assert many.row(0) == (one["status"], one.get("status_reason"), one.get("score"), one.get("value_raw"))
    assert many.row(1) == ("scored", None, 4.0, None)


@pytest.mark.parametrize(
    ("value", "score"), [(True, 1.0), (False, 0.0), (1, 1.0), (2, None), ("yes", None), (None, None)]
)
def test_verdicts(value: object, score: float | None) -> None:
    found = as_row(verdict(value))
    assert found.get("score") == score
    assert found["status"] == ("unscored" if score is None else "scored")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, 2], [1, 2]),
        ([1, 0.5], [1.0, 0.5]),
        ([True, None], [True, None]),
        (["a", 1, 2.0, None, [3], {}], ["a", "1", "2", None, None, None]),
        ([1 << 70, 1], ["1180591620717411303424", "1"]),
        (["\ud800"], ["\ufffd"]),
        ([], []),
    ],
)
def test_series_of_any_values(values: list[object], texts: list[object]) -> None:
    assert series(values).to_list() == texts
