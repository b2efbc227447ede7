"""What was asked and answered in an item, found again in its file: in every format, and only in files of the source."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.item_texts import texts_of_rows
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from tests.loaders.seeds import SEEDS
from tests.loaders.trees import encoded

TABLE = [
    {
        "id": f"q{n}",
        "model": "m",
        "question": f"{n}+{n}?",
        "expected": 2 * n,
        "response": f"it is\n{n}",
        "correct": n % 2,
    }
    for n in range(4)
]
OF_TABLE = {"question": "1+1?", "expected": "2", "answer": "it is\n1"}


def written(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(name, content))
    return folder


def texts(folder: Path, data: EvalData | None = None, *, most_chars: int = 400) -> dict[str, dict[str, str]]:
    """Texts of every locator of what lies in a folder, which may have been read."""
    data = data or read(folder)
    of_run = {run: (digest, source) for run, digest, source in data.runs["run", "source_digest", "source"].iter_rows()}
    rows = {(of_run[run][0], locator) for run, locator in data.outcomes["run", "locator"].drop_nulls().iter_rows()}
    paths = [Path(source) for _, source in of_run.values()]
    return {place: found for (_, place), found in texts_of_rows(rows, [*paths, folder], most_chars=most_chars).items()}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.tsv"])
def test_a_table_with_the_usual_names(tmp_path: Path, name: str) -> None:
    found = texts(written(tmp_path, {name: TABLE}))
    assert OF_TABLE in found.values()
    assert len(found) == 4


def test_a_parquet_table(tmp_path: Path) -> None:
    pl.DataFrame(TABLE).write_parquet(tmp_path / "t.parquet")
    assert texts(tmp_path)["row 1"] == OF_TABLE


@pytest.mark.parametrize(
    "document",
    [
        {"results": {"items": TABLE}},
        {"runs": [{"name": "r", "items": TABLE[:1]}, {"name": "s", "items": TABLE[1:]}]},
        {name: [row[name] for row in TABLE] for name in TABLE[0]},
    ],
)
def test_rows_inside_a_document(tmp_path: Path, document: dict[str, Any]) -> None:
    found = texts(written(tmp_path, {"t.json": document}))
    assert sorted(each["question"] for each in found.values()) == ["0+0?", "1+1?", "2+2?", "3+3?"]
    assert OF_TABLE in found.values()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"prompt": "?", "reference": "4", "output": "5"}, ("?", "4", "5")),
        ({"input": "?", "answer": "4", "prediction": "5"}, ("?", "4", "5")),  # the answer is the key here
        ({"question": "?", "gold": "4", "answer": "5"}, ("?", "4", "5")),
        ({"Question": "?", "Ground Truth": "4", "modelOutput": "5"}, ("?", "4", "5")),
        ({"prompt": '[{"role": "user", "content": "?"}]', "target": "4", "completion": "5"}, ("?", "4", "5")),
    ],
)
def test_columns_are_found_as_people_call_them(
    tmp_path: Path, columns: dict[str, str], expected: tuple[str, ...]
) -> None:
    rows = [{"item": f"q{n}", "model": "m", "score": n % 2, **columns} for n in range(3)]
    found = texts(written(tmp_path, {"t.csv": rows}))["line 2"]
    assert tuple(found[name] for name in ("question", "expected", "answer")) == expected


# Of a seed of the format, the texts of one of its rows.
OF_SEEDS: list[tuple[str, int, dict[str, str]]] = [
    ("lm-eval", 0, {"question": "Q: question 0", "expected": "1"}),
    ("inspect", 0, {"question": "question 1", "expected": "4", "answer": "4"}),  # an archive
    ("inspect", 1, {"question": "question 3", "expected": "4", "answer": "4"}),  # JSON
    ("promptfoo", 0, {"question": "What is 3+3?", "expected": "type: equals\nvalue: 6\nmetric: exact", "answer": "4"}),
    ("promptfoo", 1, {"question": "What is 2+2?", "answer": "Error: Request failed after 4 retries\n    at fetch"}),
    ("deepeval", 1, {"question": "question 1", "expected": "answer 1", "answer": "an answer"}),
    ("langsmith", 0, {"question": "2+2", "expected": "4", "answer": "4"}),  # columns inputs.q, reference.a
    ("langsmith-runs", 0, {"question": "2+2", "answer": "4"}),
    ("langfuse", 0, {"question": "2+2", "answer": "4"}),
    ("braintrust", 0, {"question": "t2", "expected": "4", "answer": "4"}),
    ("tau-bench", 0, {"question": "..", "answer": "done"}),
    ("tau2-bench", 0, {"question": "hi", "answer": "hi"}),
    ("human-eval", 0, {"answer": "return 1"}),
    ("mt-bench-single", 0, {"question": "[Question] ..", "answer": "Good. Rating: [[8]]"}),
    ("mmlu-pro", 0, {"question": "Which?", "expected": "B", "answer": "The answer is (B)."}),
    ("azure-evaluation", 0, {"question": "2 + 1?", "expected": "3", "answer": "2"}),
    ("phoenix", 0, {"question": "2+2", "expected": "4", "answer": "4"}),
    ("ragas", 0, {"question": "question 1", "expected": "answer 1", "answer": "an answer, with a comma"}),
    ("trulens", 0, {"question": "What is it?", "answer": "That."}),
    ("lmms-eval", 0, {"question": "Is it?", "expected": "Yes", "answer": "Yes"}),
    ("reasoning-gym", 0, {}),  # files of one run in several folders
    ("bfcl", 0, {}),
]


@pytest.mark.parametrize(("name", "seed", "wanted"), OF_SEEDS, ids=lambda value: str(value)[:20])
def test_the_texts_of_a_format(tmp_path: Path, name: str, seed: int, wanted: dict[str, str]) -> None:
    found = texts(written(tmp_path, dict(SEEDS[name][seed])))
    assert any(wanted.items() <= each.items() for each in found.values()), found


# Places that are no path through their document: of EQ-bench those of its own parts, of older EvalPlus a list by another name.
NO_PATH = {("eq-bench", 0), ("eq-bench-raw", 0), ("evalplus", 1)}
OF_OUTCOMES = [(name, k) for name, trees in SEEDS.items() for k in range(len(trees)) if name != "evalstats-tables"]


@pytest.mark.parametrize(("name", "seed"), OF_OUTCOMES, ids=str)
def test_every_row_of_every_format_is_found_again(tmp_path: Path, name: str, seed: int) -> None:
    written(tmp_path, dict(SEEDS[name][seed]))
    try:
        data = read(tmp_path)
    except InputError:
        pytest.skip("a file that is opened by its name alone")
    places = data.outcomes["locator"].drop_nulls().unique()
    found = texts(tmp_path, data)
    assert len(found) == (0 if (name, seed) in NO_PATH else len({*places}))


@pytest.mark.parametrize(
    ("where", "locator", "wanted"),
    [
        (
            "lm_eval/genuine_lm_eval_0.4.13_dummy_model",
            "samples_toy_gen_2026-11-21T20-31-50.724826.jsonl line 1",
            {"question": "Question: Toy: 2+0=?\nAnswer:", "expected": "We add. #### 2", "answer": "[invalid]"},
        ),
        (
            "inspect_logs/scorer/logs/2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval",
            "samples/5_epoch_1.json",
            {"expected": "Yes", "answer": "Yes"},
        ),
        (
            "inspect_logs/analysis/test_logs/2025-05-12T20-28-13-04-00_popularity.json",
            "samples[0]",
            {"expected": "Yes", "answer": "Yes"},
        ),
        (
            "reasoning_gym/raw/easy__anthropic_claude-3.5-sonnet_20250315_163713__complex_arithmetic.json.gz",
            "results[0].completions[0]",
            {
                "question": "Add the complex numbers: (5.0 - 2.0i) + (-8.0 - 1.0i)",
                "expected": "-3.0 - 3.0i",
                "answer": "-3.0 - 3.0i",
            },
        ),
    ],
)
def test_real_files(shared_data: Path, where: str, locator: str, wanted: dict[str, str]) -> None:
    assert wanted.items() <= texts(shared_data / where)[locator].items()


def test_real_trajectories(shared_data: Path) -> None:
    found = texts(shared_data / "tau_bench" / "gpt-4o-airline.json.gz", most_chars=60)["[0]"]
    assert found["question"].startswith("You are mia_li_3668.")
    assert found["answer"].startswith("Your flight from New York (JFK) to Seattle")
    assert all(len(text) <= 61 for text in found.values())


def test_a_text_is_cut_behind_its_length(tmp_path: Path) -> None:
    rows = [{**TABLE[0], "response": "abc" * 9_999}, TABLE[1]]
    found = texts(written(tmp_path, {"t.jsonl": rows}), most_chars=7)
    assert found["line 1"]["answer"] == "abcabca…"
    assert found["line 2"]["answer"] == OF_TABLE["answer"]


def row_of(folder: Path) -> tuple[str, str, Path]:
    data = read(folder)
    run = data.runs.row(0, named=True)
    return run["source_digest"], data.outcomes["locator"][0], Path(run["source"])


def test_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    digest, place, source = row_of(written(tmp_path, {"t.jsonl": TABLE}))
    source.write_bytes(source.read_bytes().replace(b"it is", b"it was"))
    with pytest.raises(InputError, match=r"cannot be found again in .*t\.jsonl: moved, or changed since it was read"):
        texts_of_rows({(digest, place)}, [source], most_chars=9)
    source.unlink()
    with pytest.raises(InputError, match="cannot be found again"):
        texts_of_rows({(digest, place)}, [source], most_chars=9)


def test_a_file_that_moved_is_found_where_it_is_said_to_be(tmp_path: Path) -> None:
    digest, place, source = row_of(written(tmp_path / "a", {"t.jsonl": TABLE}))
    (tmp_path / "b" / "c").mkdir(parents=True)
    moved = source.rename(tmp_path / "b" / "c" / "other.jsonl")
    for where in (moved, tmp_path / "b"):
        assert texts_of_rows({(digest, place)}, [where], most_chars=99)[digest, place]["question"] == "0+0?"


@pytest.mark.parametrize(
    "locator", ["../secret.json", "../secret.json[0]", "/etc/hostname line 1", "secret.json line 1"]
)
def test_a_locator_opens_no_other_file(tmp_path: Path, locator: str) -> None:
    (tmp_path / "secret.json").write_text(json.dumps([{"question": "secret"}]))
    folder = written(tmp_path / "runs", {"t.json": TABLE, "secret.json": [{"question": "secret"}]})
    data = read(folder / "t.json")
    digest = data.runs["source_digest"][0]
    assert texts_of_rows({(digest, locator)}, [folder / "t.json"], most_chars=99) == {}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    digest, place, source = row_of(written(tmp_path / "outside", {"t.jsonl": TABLE}))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "t.jsonl").symlink_to(source)
    with pytest.raises(InputError, match="cannot be found again"):
        texts_of_rows({(digest, place)}, [tmp_path / "runs"], most_chars=9)


def test_places_that_lead_nowhere_have_no_texts(tmp_path: Path) -> None:
    digest, _, source = row_of(written(tmp_path, {"t.json": TABLE}))
    for place in ("[99]", "[0].question.more", "results[0]", "[0][0]", "line 99"):
        assert texts_of_rows({(digest, place)}, [source], most_chars=9) == {}, place
