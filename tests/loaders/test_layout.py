"""What the paths of tables say: which files are models, tasks of a model, or its runs."""

import json
import re
from itertools import product
from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read
from tests.loaders.trees import everything_said as told

TASKS = "files={benchmark}"
BOTH = "files={model}/{benchmark}"
DOUBT = "names no task, nor do 1 more files; if their paths do: --map files={model}/{benchmark}"
UNCLEAR = "{benchmark}; or: --map files={trial}"


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
        ({"a/math.csv": 4, "a/law.csv": 3, "b/math.csv": 4, "b/law.csv": 2}, "", ["a", "b"], BOTH),
        # A folder of tasks that all name the same model.
        ({"math.csv": 4, "law.csv": 3}, "model", ["m"], TASKS),
        # A folder for each experiment: what one alone has is a model.
        ({"a/base.csv": 4, "a/mine.csv": 5, "b/base.csv": 6}, "", ["a", "b", "mine"], ""),
        # The same numbers of items, counted anew by files that are called tasks.
        (
            {"a/task1.csv": 4, "a/task2.csv": 4, "b/task1.csv": 4, "b/task2.csv": 4},
            "",
            ["a", "b"],
            BOTH,
        ),
        # The same items, or a number alone: runs.
        ({"strict.csv": 4, "lenient.csv": 4}, "model", ["m"], UNCLEAR),
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
    tasks = {Path(name).stem for name in files} if said in {TASKS, BOTH} else {"table"}
    assert {*data.outcomes["benchmark"].unique()} == tasks
    notes = told(data).replace("'", "")
    assert said in notes
    assert ("files=" in notes) == bool(said)


def test_files_of_the_model_that_the_map_names_are_its_tasks(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", {"math.csv": 4, "law.csv": 3})
    data = read(folder, column_map=ColumnMap.from_options(["item=item", "score=score", "model=@m"]))
    assert TASKS in told(data).replace("'", "")
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


MODELS, LAWS = ("alpha", "beta"), {"arc": range(20), "law": range(25), "gsm8k": range(22)}
LAYOUTS = [
    ("{model}__{task}.jsonl", "{model}__{benchmark}"),
    ("{model}_{task}.csv", "{model}_{benchmark}"),
    ("{task}/{model}.jsonl", "{benchmark}/{model}"),
    ("{model}/{task}.csv", "{model}/{benchmark}"),
    ("runs/{model}/{task}/results.json", "{model}/{benchmark}/results"),
    ("{task}/{model}/seed{seed}.jsonl", "{benchmark}/{model}/{trial}"),
    ("{model}/{task}_run-{seed}.csv", "{model}/{benchmark}_{trial}"),
]


@pytest.mark.parametrize("are_numbered", [True, False])
@pytest.mark.parametrize(("layout", "template"), LAYOUTS)
def test_a_layout_is_found_and_its_template_reads_the_same(
    tmp_path: Path, layout: str, template: str, *, are_numbered: bool
) -> None:
    for model, task, seed in product(MODELS, LAWS, (1, 2) if "{seed}" in layout else (1,)):
        path = tmp_path / "x" / layout.format(model=model, task=task, seed=seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"id": k if are_numbered else f"{task}-{k}", "correct": (k * seed) % 2} for k in LAWS[task]]
        header = "id,correct\n" + "".join(f"{row['id']},{row['correct']}\n" for row in rows)
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        path.write_text({".csv": header, ".json": json.dumps(rows)}.get(path.suffix, lines))
    data = read(tmp_path)
    cells = data.outcomes.select("system", "benchmark", "trial").unique()
    assert [{*cells["system"]}, {*cells["benchmark"]}] == [{*MODELS}, {*LAWS}]
    assert cells.height == 6 * (2 if "trial" in template else 1)
    assert f"files={template}" in told(data).replace("'", "")
    given = f"files={template}{Path(layout).suffix * are_numbered}"  # with the ending or without
    assert read(tmp_path, column_map=ColumnMap.from_options([given])).outcomes.equals(data.outcomes)


@pytest.mark.parametrize(
    ("files", "systems"),
    [
        (["gpt-4", "gpt-3.5", "claude-4", "claude-3.5"], 4),
        (["llama_7b", "llama_13b", "qwen_7b", "qwen_13b"], 4),
        (["alpha_1", "alpha_2", "beta_1", "beta_2"], 4),
        (["gpt-4o/cot", "gpt-4o/direct", "o1/cot", "o1/direct"], 4),
        (["gpt_seed1", "gpt_seed2", "o1_seed1", "o1_seed2"], 2),
        (["seed1", "seed2", "seed3"], 1),
        (["control", "treatment"], 2),
        (["gpt/1", "gpt/2", "o1/1", "o1/2"], 2),
        (["gpt/2026-01-02", "gpt/2026-01-03", "o1/2026-01-02", "o1/2026-01-03"], 2),
        # Seeds and dates of their own.
        (["gpt/seed1", "gpt/seed2", "o1/seed41", "o1/seed42"], 2),
        (["gpt_run1", "gpt_run2", "o1_run3", "o1_run4", "o1_run5"], 2),
        (["gpt/2026-01-02", "gpt/2026-01-04", "o1/2026-01-03", "o1/2026-01-05"], 2),
        # A date is that of a run; versions of models are called by dates, too.
        (["2026-01-02", "2026-01-03", "2026-01-04"], 1),
        (["nightly-20260102_0930", "nightly-20260103_0930"], 1),
        (["2026-01-02/gpt", "2026-01-02/o1", "2026-01-03/gpt", "2026-01-03/o1"], 2),
        (["gpt-4o-2024-05-13", "gpt-4o-2024-08-06"], 2),
    ],
)
def test_models_of_one_set_of_items_are_no_tasks(tmp_path: Path, files: list[str], systems: int) -> None:
    written(tmp_path / "x", {f"{name}.csv": "".join(f"q{k},{k % 2}\n" for k in range(9)) for name in files})
    data = read(tmp_path)
    assert data.outcomes["system"].n_unique() == systems
    assert set(data.outcomes["benchmark"]) == {"table"}
    is_dated = re.search(r"20\d\d-?\d\d", files[0]) is not None
    assert data.outcomes.select("system", "timestamp" if is_dated else "trial").unique().height == len(files)


def test_a_model_is_called_by_its_folder_where_each_has_a_date_of_its_own(tmp_path: Path) -> None:
    data = read(written(tmp_path, {f"{name}.csv": "qa,1\nqb,0\n" for name in ("gpt/2026-01-02", "o1/2026-01-03")}))
    assert {*data.outcomes["system"]} == {"gpt", "o1"}


@pytest.mark.parametrize("template", ["files={trial}", "files={timestamp}"])
def test_a_template_of_all_of_a_name_leaves_the_folder_to_the_model(tmp_path: Path, template: str) -> None:
    folder = written(tmp_path / "bot", {f"2026-01-0{k}.csv": "qa,1\nqb,0\n" for k in (1, 2)})
    data = read(folder, column_map=ColumnMap.from_options([template]))
    assert {*data.outcomes["system"]} == {"bot"}
    assert data.outcomes[template[7:-1]].n_unique() == 2


def test_files_called_by_dates_are_the_sides_of_a_question_that_names_them(tmp_path: Path) -> None:
    folder = written(tmp_path, {f"2026-01-0{k}.csv": "qa,1\nqb,0\n" for k in (1, 2)})
    assert {*read(folder, sides=["2026-01-01"]).outcomes["system"]} == {"2026-01-01", "2026-01-02"}
    one = read(folder / "2026-01-01.csv", alongside=[folder / "2026-01-02.csv"])
    assert {*one.outcomes["system"]} == {"2026-01-01"}


def test_a_column_of_days_tells_when_runs_were_made(tmp_path: Path) -> None:
    days = ["2026-01-01", "2026-01-02"]
    (tmp_path / "both.csv").write_text(
        "id,ok,date\n" + "".join(f"q{k},{k % 2},{day}\n" for day in days for k in range(9))
    )
    # The dates of items are not those of a run.
    (tmp_path / "items.csv").write_text(
        "id,ok,date\n" + "".join(f"q{k},1,{days[k % 2]}\n" for k in range(8)) + "q9,0,\n"
    )
    assert [str(at.date()) for at in read(tmp_path / "both.csv").runs["timestamp"].sort()] == days
    assert read(tmp_path / "items.csv").runs["timestamp"].to_list() == [None]


def test_a_table_above_a_folder_of_tasks_leaves_its_layout_and_is_said_to_count(tmp_path: Path) -> None:
    sizes = {f"{model}/{task}.csv": 6 + k for model in ("gpt", "o1") for k, task in enumerate(("arc", "gsm8k", "law"))}
    folder = written(tmp_path, sizes)
    tasks = read(folder).outcomes
    assert {*tasks["benchmark"]} == {"arc", "gsm8k", "law"}
    written(folder, {"summary.csv": "arc,1,gpt\ngsm8k,0,gpt\n"}, "model")
    data = read(folder)
    assert data.outcomes.filter(data.outcomes["benchmark"] != "table").height == tasks.height
    assert "names no task, where 6 paths do: it counts as one more" in told(data)


def test_each_template_that_is_shown_reads_the_files(tmp_path: Path) -> None:
    folder = written(tmp_path, {f"{side}/{name}.csv": 6 for side in ("old", "new") for name in ("strict", "lenient")})
    shown = re.findall(r"files='?(\{[^' ;]+)", told(read(folder)))
    assert shown == ["{model}/{benchmark}", "{benchmark}/{model}"]
    for template in shown:
        data = read(folder, column_map=ColumnMap.from_options([f"files={template}"]))
        assert data.outcomes.select("system", "benchmark").unique().height == 4


def test_long_tables_share_items_wherever_these_stand(tmp_path: Path) -> None:
    for seed, (model, task) in enumerate(product(MODELS, LAWS)):
        ids = sorted(range(5000), key=lambda k: k * (7919 + 12 * seed) % 5000)
        path = tmp_path / f"{task}@{model}.csv"
        path.write_text("id,correct,note\n" + "".join(f"{task}{k},{k % 2},{'x' * 40}\n" for k in ids))
    assert "files={benchmark}@{model}" in told(read(tmp_path)).replace("'", "")


def test_a_template_that_fits_no_path_is_an_error(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a/x.csv": 2})
    with pytest.raises(InputError, match="does not fit"):
        read(folder, column_map=ColumnMap.from_options(["files={model}__{benchmark}"]))
    for wrong in ("files=model", "files={item}", "files={modle}"):
        with pytest.raises(InputError, match=r"not understood|did you mean"):
            ColumnMap.from_options([wrong])


IDS = {0: "q{}", 1: "{}-{{}}"}


@pytest.mark.parametrize(
    ("files", "are_named", "template", "systems"),
    [
        # Names say what files are, whatever their items are called.
        ("gsm8k.csv arc.csv mmlu.csv", 0, "{model}/{benchmark}", {"x"}),
        ("gpt-4o/gsm8k.csv gpt-4o/arc.csv o1/gsm8k.csv o1/arc.csv", 0, "{model}/{benchmark}", {"gpt-4o", "o1"}),
        ("accuracy.csv toxicity.csv", 0, "{model}/{metric}", {"x"}),
        ("a/accuracy.csv a/toxicity.csv b/accuracy.csv b/toxicity.csv", 0, "{model}/{metric}", {"a", "b"}),
        ("gpt4_judge.csv claude_judge.csv", 0, "{model}/{judge}", {"x"}),
        ("judge_gpt4/a.csv judge_gpt4/b.csv judge_o1/a.csv judge_o1/b.csv", 0, "{judge}/{model}", {"a", "b"}),
        ("en.csv de.csv fr.csv", 0, "{model}/{variant}", {"x"}),
        # Three files without a common item are no three models.
        ("sales.csv support.csv coding.csv", 1, "{model}/{benchmark}", {"x"}),
        # Nothing says that these are no models.
        ("sales.csv support.csv coding.csv", 0, "", {"sales", "support", "coding"}),
        ("gpt.csv llama.csv qwen.csv", 1, "", {"gpt", "llama", "qwen"}),
        ("control.csv treatment.csv", 1, "", {"control", "treatment"}),
    ],
)
def test_names_of_paths_say_first_what_they_are(
    tmp_path: Path, files: str, are_named: int, template: str, systems: set[str]
) -> None:
    for k, name in enumerate(files.split()):
        path = tmp_path / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        form = IDS[are_named].format(path.stem) if are_named else IDS[0]
        path.write_text("id,correct\n" + "".join(f"{form.format(q)},{(q * k + k) % 3 % 2}\n" for q in range(12)))
    data = read(tmp_path / "x")
    assert {*data.outcomes["system"]} == systems
    assert ("files=" in told(data)) == bool(template)
    assert f"files={template}" in told(data).replace("'", "") or not template
    for role in re.findall(r"\{(metric|judge|benchmark|variant)\}", template):
        assert data.outcomes[role].n_unique() > 1


def test_two_models_of_the_same_scores_are_two_and_an_old_copy_is_no_third(tmp_path: Path) -> None:
    written(tmp_path, {"gpt-4o/r.csv": 4, "o1/r.csv": 4})
    assert {*read(tmp_path).outcomes["system"]} == {"gpt-4o", "o1"}
    written(tmp_path, {"gpt-4o/backup/r.csv": 4})
    data = read(tmp_path)
    assert {*data.outcomes["system"]} == {"gpt-4o", "o1"}
    assert "above it, and is left out as an old copy" in told(data)
    named = read(tmp_path, tmp_path / "gpt-4o" / "backup" / "r.csv")
    assert named.outcomes["system"].n_unique() == 3


def test_a_table_whose_rows_have_no_names_is_a_part_of_its_layout(tmp_path: Path) -> None:
    for model, task in product(("gpt-4o", "o1"), ("gsm8k", "arc")):
        path = tmp_path / model / f"{task}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("correct\n1\n0\n" if task == "arc" else "id,correct\na,1\nb,0\n")
    data = read(tmp_path)
    assert {*data.outcomes.select("system", "benchmark").unique().rows()} == {
        *product(("gpt-4o", "o1"), ("gsm8k", "arc"))
    }
