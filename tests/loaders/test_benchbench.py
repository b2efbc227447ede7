"""BenchBench: the name of a file says the benchmark, its day and its tag; a list of the project says where low is good."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.benchbench import FORMAT
from evalstats.loaders.registry import read, read_source
from evalstats.schema.data import EvalData

LONG = "model,score,scenario,source,aggragated_from,tag\n"


def tables(tmp_path: Path, **files: str) -> EvalData:
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return read(tmp_path)


def told(data: EvalData) -> list[str]:
    return [problem.message for problem in data.problems]


def test_a_wide_table_by_hand(tmp_path: Path) -> None:
    data = tables(tmp_path, my_bench_240829_safety="model,total,Part/A\nlab/m,61.5,0.5\nn*,,1\n")
    assert data.aggregates.select("model", "benchmark", "metric", "estimate", "date", "tag").rows() == [
        ("lab/m", "my_bench", "total", 61.5, date(2024, 8, 29), "safety"),
        ("lab/m", "my_bench", "Part/A", 0.5, date(2024, 8, 29), "safety"),
        ("n*", "my_bench", "Part/A", 1.0, date(2024, 8, 29), "safety"),
    ]
    assert data.aggregates["std_error"].null_count() == 3
    assert set(data.metrics["higher_is_better"]) == {True}
    assert data.runs.select("loader", "benchmark").rows() == [("benchbench", "my_bench")]
    assert told(data) == ["1 cells are empty: those scores are missing, not 0"]


def test_a_long_table_has_scenarios(tmp_path: Path) -> None:
    text = LONG + "m,1.5,a,old_bench_240612,[],other\nm,2.5,b,old_bench_240612,[],other\n"
    data = tables(tmp_path, whatever=text)
    assert data.aggregates.select("benchmark", "metric", "scenario", "estimate", "date", "tag").rows() == [
        ("old_bench", "score", "a", 1.5, date(2024, 6, 12), "other"),
        ("old_bench", "score", "b", 2.5, date(2024, 6, 12), "other"),
    ]
    assert told(data) == []


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("helm_airbench_240916_safety", False),
        ("llm_trustworthy_241001_safety", False),
        ("helm_airbench_240917_safety", True),  # another day is another table
        ("helm_lite_240916_holistic", True),
    ],
)
def test_the_list_of_the_project_says_where_low_is_good(tmp_path: Path, name: str, better: bool) -> None:
    data = tables(tmp_path, **{name: "model,x\nm,0.1\nn,0.2\n"})
    assert data.metrics["higher_is_better"].to_list() == [better]
    assert any("Check the direction" in note for note in told(data)) == name.startswith("llm_trustworthy")


def test_a_day_that_is_none_and_rows_that_stand_twice(tmp_path: Path) -> None:
    data = tables(tmp_path, lvbench_241189_longcontext="llm_model,average\nm,1\nm,1\nk,2\nk,3\na,4\nb,5\nc,6\n")
    assert data.aggregates["estimate"].to_list() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert data.aggregates["date"].null_count() == 6
    assert told(data) == [
        "241189 in its name is not a day (yymmdd), so the table has no date",
        "1 rows repeat earlier ones cell by cell, and count once",
        "1 number stands more than once under one name (k); all are kept",
    ]


def test_two_days_in_a_name_and_two_tables_of_one_benchmark(tmp_path: Path) -> None:
    data = tables(
        tmp_path,
        code_240601_230701_code="model,p\nm,1\nn,2\n",
        live_240701_holistic="model,live_240624\nm,1\nn,2\n",
        live_240829_holistic="model,live_240725\nm,1\nn,2\n",
    )
    assert sorted(set(data.aggregates["benchmark"])) == ["code", "live"]
    assert data.aggregates.filter(benchmark="live")["date"].n_unique() == 2
    assert data.runs.height == 3


def test_a_table_without_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a_240829_code.csv"
    path.write_text("model,x\nm,\n")
    with pytest.raises(UnreadableFileError, match="no published number of any model"):
        read_source(FORMAT, with_digest(Source(path=path)))


def test_all_published_tables_are_read(shared_data: Path) -> None:
    folder = shared_data / "benchbench"
    data = read(folder)
    files = sorted(path.name for path in folder.glob("*/*.csv"))
    assert len(files) == 44
    assert sorted(Path(source).name for source in data.runs["source"]) == files
    assert set(data.runs["loader"]) == {"benchbench"}
    assert not [problem for problem in data.problems if problem.severity == "error"]
    # The number of filled cells, counted without the loader; whole rows that stand twice count once.
    n = 0
    for path in folder.glob("*/*.csv"):
        table = pl.read_csv(path, infer_schema=False).unique()
        scores = ["score"] if "score" in table.columns else table.columns[1:]
        n += sum((table[name].fill_null("-").str.strip_chars() != "-").sum() for name in scores)
    assert data.aggregates.height == n
    elo = data.aggregates.filter(benchmark="chatbot_arena", model="koala-13b")
    assert elo.select("metric", "estimate").rows() == [("arena_elo", 901.4444159097708)]  # as the file has it
    low = data.metrics.filter(higher_is_better=False)["benchmark"].value_counts()
    assert sorted(low.rows()) == [("helm_airbench", 17), ("llm_trustworthy", 1)]
