"""Which files are tasks of a system, and which are its runs or systems themselves."""

from pathlib import Path

import pytest

from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read
from tests.loaders.trees import everything_said as told

TASKS = "each of which is a task: law, math"
DOUBT = "this file and 1 more name no model"


def written(folder: Path, files: dict[str, int | str], column: str = "") -> Path:
    """Write tables with so many items each, or with this text; a column names their model."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (
            "".join(f"{k},{k % 2}{column and ',m'}\n" for k in range(content)) if isinstance(content, int) else content
        )
        path.write_text(f"item,score{column and ','}{column}\n{rows}")
    return folder


@pytest.mark.parametrize(
    ("files", "column", "systems", "said"),
    [
        # A folder for each system, equal byte by byte in one task.
        ({"a/math.csv": 4, "a/law.csv": 3, "b/math.csv": 4, "b/law.csv": 2}, "", ["a", "b"], TASKS),
        # A folder of tasks that all name the same model.
        ({"math.csv": 4, "law.csv": 3}, "model", ["m"], TASKS),
        # A folder for each experiment: what one alone has is a model.
        ({"a/base.csv": 4, "a/mine.csv": 5, "b/base.csv": 6}, "", ["a", "b", "mine"], ""),
        # The same numbers of items, counted anew by files that are called tasks.
        (
            {"a/task1.csv": 4, "a/task2.csv": 4, "b/task1.csv": 4, "b/task2.csv": 4},
            "",
            ["a", "b"],
            "is a task: task1, task2",
        ),
        # The same items, or a number alone: runs.
        ({"strict.csv": 4, "lenient.csv": 4}, "model", ["m"], ""),
        ({"seed-1.csv": 4, "seed-2.csv": 3}, "model", ["m"], ""),
        # A file for each model.
        ({"gpt.csv": 4, "llama.csv": 4}, "", ["gpt", "llama"], ""),
        ({"math.csv": 4, "law.csv": 3}, "", ["law", "math"], DOUBT),
    ],
)
def test_files_are_tasks_where_a_system_has_several_with_other_items(
    tmp_path: Path, files: dict[str, int | str], column: str, systems: list[str], said: str
) -> None:
    data = read(written(tmp_path / "x", files, column))
    assert sorted(data.outcomes["system"].unique()) == systems
    assert data.outcomes.height == sum(int(n) for n in files.values())
    tasks = said.partition("is a task: ")[2].split(", ")
    assert sorted(data.outcomes["benchmark"].unique()) == (tasks if tasks != [""] else ["table"])
    assert said in told(data)
    assert (DOUBT in told(data)) == (said == DOUBT)


def test_files_of_the_model_that_the_map_names_are_its_tasks(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", {"math.csv": 4, "law.csv": 3})
    data = read(folder, column_map=ColumnMap.from_options(["item=item", "score=score", "model=@m"]))
    assert TASKS in told(data)
    assert data.outcomes.select("model", "benchmark").unique().height == 2


def test_a_table_that_names_its_tasks_keeps_them(tmp_path: Path) -> None:
    for name, task in (("one", "x"), ("two", "y")):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"item,model,task,score\n1,m,{task},1\n{name},m,{task},0\n")
    assert sorted(read(tmp_path).outcomes["task"].unique()) == ["x", "y"]


def test_a_map_takes_names_of_files_and_folders_for_tasks_and_models(tmp_path: Path) -> None:
    written(tmp_path, {"old/1.csv": 4, "old/2.csv": 4, "new/1.csv": 4, "new/2.csv": 4})
    map_ = ColumnMap.from_options(["item=item", "score=score", "benchmark=#file", "model=#folder"])
    data = read(tmp_path / "old", tmp_path / "new", column_map=map_)
    assert data.outcomes.select("model", "benchmark").unique().sort("model", "benchmark").rows() == [
        ("new", "1"),
        ("new", "2"),
        ("old", "1"),
        ("old", "2"),
    ]


def test_votes_and_dots_keep_the_names_of_files(tmp_path: Path) -> None:
    path = tmp_path / "judged" / "gpt-4.1.csv"
    path.parent.mkdir()
    path.write_text("model_a,model_b,winner\nx,y,x\nx,y,y\n")
    votes = read(path, column_map=ColumnMap.from_options(["winner=winner", "judge=#folder", "benchmark=#file"]))
    assert set(votes.comparisons["judge"]) == {"judged"}
    assert set(votes.runs["benchmark"]) == {"gpt-4.1"}
