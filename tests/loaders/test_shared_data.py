"""Every real result file is read in full, or refused by name with a reason: no third outcome.

`EXPECTED` holds every file: which loader reads it and how many rows come of it by state, or the words of the refusal. Beside
it stands an independent count of the records in the file, by the standard library's csv, json and zipfile.
"""

import csv
import gzip
import json
import re
import shlex
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import read
from evalstats.errors import EvalStatsError
from evalstats.loaders.column_map import ColumnMap
from evalstats.schema.data import EvalData
from tests.loaders.trees import to_copy

# --- independent counts ---


def text_of(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")


def document(path: Path) -> Any:
    return json.loads(text_of(path))


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in text_of(path).splitlines() if line.strip()]


def csv_rows(path: Path) -> list[dict[str, str | None]]:
    return list(csv.DictReader(text_of(path).splitlines(keepends=True)))


def n_csv(path: Path) -> int:
    return len(csv_rows(path))


def n_lines(path: Path) -> int:
    return len(lines(path))


def n_parquet(path: Path) -> int:
    return pl.read_parquet(path).height


def n_list(path: Path) -> int:
    return len(document(path))


def is_number(cell: object) -> bool:
    if isinstance(cell, bool) or cell is None:
        return False
    try:
        return float(str(cell)) == float(str(cell))
    except ValueError:
        return False


def cells_of(*columns: str) -> Callable[[Path], int]:
    """Count the numbers in these columns; without columns, in all but the first, equal rows once."""

    def count(path: Path) -> int:
        rows = csv_rows(path)
        names = columns or tuple(rows[0])[1:]
        distinct = rows if columns else list({tuple(row.values()): row for row in rows}.values())
        return sum(is_number(row.get(name)) for row in distinct for name in names)

    return count


def all_but_length(path: Path) -> int:
    return cells_of()(path) - cells_of("Output Length")(path)


def evaluations(path: Path) -> int:
    return len(document(path)["evaluation_results"])


def inspect_json(path: Path) -> int:
    """Count samples times scorers; a log without results has each sample once."""
    log = document(path)
    return len(log.get("samples") or []) * max(1, len((log.get("results") or {}).get("scores") or []))


def inspect_archive(scorers: int) -> Callable[[Path], int]:
    def count(path: Path) -> int:
        with zipfile.ZipFile(path) as archive:
            samples = {name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")}
        return len(samples) * scorers

    return count


def metrics_of_lines(path: Path) -> int:
    return sum(len(line["metrics"]) for line in lines(path))


def code_trials(path: Path) -> int:
    raw = document(path)["raw_scored_generations"] if "raw_scored_generations" in document(path) else document(path)
    return sum(len(trials) for trials in raw.values())


def completions(path: Path) -> int:
    return sum(len(item["completions"]) for item in document(path)["results"])


def issues(path: Path) -> int:
    return sum(len(instances) for instances in document(path).values())


def helm_stats(path: Path) -> int:
    """Count the scores in HELM's statistics, by instance or in all; counts of tokens, times and such are no scores."""
    found = document(path)
    stats = [stat for each in found for stat in each.get("stats", [each])]
    return sum("exact_match" in stat["name"]["name"] for stat in stats)


def numbers(value: object) -> int:
    """Count the numbers anywhere inside."""
    if isinstance(value, dict):
        return sum(numbers(each) for each in value.values())
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def pass_rates(path: Path) -> int:
    """Count what a tau2 submission publishes: pass^k and costs, and how its voice behaved, whatever it counts beside that."""
    submission = document(path)
    domains = (submission.get("interaction_metrics") or {}).get("domains", {})
    return numbers(submission["results"]) + sum(
        numbers(each) - numbers(each.get("counts")) for each in domains.values()
    )


def indexed(path: Path) -> int:
    """Count the simulations that stand one a file in a folder beside this one."""
    return len(list((path.parent / "simulations").iterdir()))


def results_and_samples(path: Path) -> int:
    """Count the metrics of an lm-eval results file, and those of the samples that are read with it.

    Standard errors stand beside the former.
    """
    samples = path.parent.glob(f"samples_*_{path.stem.removeprefix('results_')}.jsonl")
    return sum(map(metrics_of_lines, samples)) + sum(
        is_number(value) and "," in name and "_stderr," not in name
        for task in document(path)["results"].values()
        for name, value in task.items()
    )


def bench_scores(path: Path) -> int:
    """Count the scores of a Tenacious evaluation: of each task, whether it passed, and of each of its dimensions."""
    return sum(2 + len(result["dimension_results"]) for result in document(path)["results"])


def wildbench_numbers(path: Path) -> int:
    """Count what the tables of WildBench publish of each model."""
    table = document(path)
    if "config" in table:
        return sum(isinstance(each, dict) for each in table[next(key for key in table if key != "config")].values())
    return len(table)


def was_measured(name: str, model: dict[str, Any]) -> bool:
    if "reward" not in name.lower():
        return True
    family = name.partition("reward")[0] if "reward" in name else ""
    return any(
        is_number(value) and float(value)
        for other, value in model.items()
        if other.startswith(family) and "reward" in other
    )


def wildbench_cells(path: Path) -> int:
    """Count numbers of all models; lengths and ranks are no scores, and rewards that are all 0 were not measured."""
    return sum(
        1
        for model in document(path).values()
        for name, value in model.items()
        if is_number(value) and not name.startswith(("Rank_", "Length")) and was_measured(name, model)
    )


# --- what is expected of each file ---


@dataclass(frozen=True)
class Reads:
    """A loader and its rows by state, over all files of the pattern; `count` counts the records of one."""

    loader: str
    rows: dict[str, int]
    count: Callable[[Path], int]
    says: str = ""  # words of a note that must stand with it


@dataclass(frozen=True)
class Refused:
    """Words of the refusal; with `rows`, the `--map` of its own advice, or `better`, reads so many rows."""

    words: str
    rows: int = 0
    better: str = ""
    count: Callable[[Path], int] | None = None


COMMENT = "no known format"
BESIDE = "holds no results but"

EXPECTED: dict[str, Reads | Refused] = {
    "SOURCES.md": Refused("but none looks like a score"),
    "alpaca_eval/annotations_long.parquet": Reads(
        "alpaca-eval", {"comparisons": 108_665}, n_parquet, says="64 of 108,665 votes have no outcome"
    ),
    "alpaca_eval/raw_head/*.json": Reads("alpaca-eval", {"comparisons": 80}, n_list),
    "alpaca_eval/benchmarks.csv": Reads("score-table", {"aggregates": 530}, all_but_length),
    "alpaca_eval/source_files.csv": Refused(COMMENT),
    "alpaca_eval/*leaderboard.csv": Reads(
        "leaderboard", {"aggregates": 1683}, cells_of("win_rate", "length_controlled_winrate", "discrete_win_rate")
    ),
    "arena_scores/comparia/*.json": Reads("leaderboard", {"aggregates": 279}, lambda path: 3 * len(document(path)["models"])),
    "arena_scores/fboulnois-csv/*.csv": Reads("leaderboard", {"aggregates": 371}, cells_of("arena_score")),
    "benchbench/*.csv": Reads("benchbench", {"aggregates": 6448}, cells_of()),
    "benchbench/old/*.txt": Refused("text without columns"),
    "cruxeval/*.json.gz": Reads("cruxeval", {"scored": 16_000}, code_trials),
    "cruxeval/trials_long.parquet": Reads("table", {"scored": 16_000}, n_parquet, says="score='correct'"),
    "every_eval_ever/98ea850e-*.json": Reads("every-eval-ever", {"aggregates": 6}, evaluations),
    "every_eval_ever/community_evals_converter/aggregate.jsonl": Refused(f"{BESIDE} an index of logs"),
    "every_eval_ever/community_evals_converter/datastore/*.json": Reads(
        "every-eval-ever", {"aggregates": 15}, evaluations
    ),
    "every_eval_ever/helm/*/per_instance_stats.json": Reads("helm", {"scored": 160}, helm_stats),
    "every_eval_ever/helm/*/stats.json": Reads("helm", {"aggregates": 72}, helm_stats),
    "every_eval_ever/helm/*/run_spec.json": Refused("has no scores"),
    "every_eval_ever/helm/*/scenario.json": Refused(BESIDE),
    "every_eval_ever/helm/*/scenario_state.json": Refused("has no scores"),
    "every_eval_ever/inspect/*.json": Reads("inspect", {"scored": 8, "aggregates": 3}, inspect_json),
    "every_eval_ever/lm_eval/results_*.json": Reads("lm-eval", {"aggregates": 2, "scored": 10}, results_and_samples),
    "every_eval_ever/lm_eval/samples_*.jsonl": Reads("lm-eval", {"scored": 10}, metrics_of_lines),
    "every_eval_ever/skill_reference_conversion/README.md": Refused("text without columns"),
    "every_eval_ever/skill_reference_conversion/*_samples.jsonl": Reads("every-eval-ever", {"scored": 1}, n_lines),
    "every_eval_ever/skill_reference_conversion/*.json": Reads(
        "every-eval-ever", {"aggregates": 1}, evaluations
    ),
    "inspect_logs/generated_mockllm_0.3.285/*.eval": Reads(
        "inspect", {"scored": 33, "error": 3, "aggregates": 3}, inspect_archive(3)
    ),
    "inspect_logs/*.eval": Reads("inspect", {"scored": 23, "unscored": 10, "aggregates": 10}, inspect_archive(1)),
    "inspect_logs/*.json": Reads("inspect", {"scored": 46, "error": 3, "unscored": 1, "aggregates": 14}, inspect_json),
    "llmfao/*-comparisons.csv": Reads("arena-votes", {"comparisons": 19_681}, n_csv),
    "llmfao/*.jsonl": Refused(f"{BESIDE} LLMFAO's list of models or prompts"),
    "lm_eval/*/results_*.json": Reads("lm-eval", {"aggregates": 7, "scored": 60}, results_and_samples),
    "lm_eval/*/samples_*.jsonl": Reads("lm-eval", {"scored": 60}, metrics_of_lines),
    "lm_eval/task_yaml_used/*.yaml": Refused("no known format"),
    "lmarena_140k_sample/*.md": Refused("but none looks like a score"),
    "lmarena_140k_sample/arena_bt_prob_by_category_top21.csv": Refused("appears twice"),
    "lmarena_140k_sample/arena_ranking_full.csv": Refused("appears twice"),
    "lmarena_140k_sample/arena_human_preference_full_metadata.json.gz": Refused("5 rows"),
    "lmarena_140k_sample/*.text_removed.csv": Reads("arena-votes", {"comparisons": 100}, n_csv),
    "lmarena_140k_sample/*.text_removed.jsonl": Reads("arena-votes", {"comparisons": 100}, n_lines),
    "mmlu_pro/predictions_long.parquet": Reads(
        "table", {"scored": 314_518, "unscored": 32_697}, n_parquet, says="32,697 rows have no score"
    ),
    "reasoning_gym/alignment.csv": Refused(COMMENT),
    "reasoning_gym/item_hashes.csv.gz": Refused(COMMENT),
    "reasoning_gym/completions_long.parquet": Refused(
        "item='item_idx'", rows=191_050, better="item=item_idx score=score model=model trial=trial task=dataset benchmark=config",
        count=n_parquet,
    ),
    "reasoning_gym/raw/*.json.gz": Reads("reasoning-gym", {"scored": 300}, completions),
    "swebench_verified_mini/info_for_leaderboard.json": Reads("swe-bench-systems", {"scored": 2000}, issues),
    "tau_bench/gpt-4o-airline.json.gz": Reads("tau-bench", {"scored": 200}, n_list),
    "tau_bench/summary.parquet": Reads("table", {"scored": 200}, n_parquet, says="score='reward'"),
    "tau_bench/tau2_domains_retail_*.json": Refused(f"{BESIDE} task definitions"),
    "tau_bench/tau2_results_dirformat/results.json": Reads("tau2-bench", {"unscored": 1}, indexed),
    "tau_bench/tau2_results_dirformat/simulations/*": Refused("give the folder that holds both"),
    "tau_bench/tau2_submissions/A_EXAMPLE_*.json": Refused(f"{BESIDE} the template"),
    "tau_bench/tau2_submissions/*.json": Reads("tau2-submission", {"aggregates": 815}, pass_rates),
    "tenacious/*held_out_traces.jsonl": Reads("tenacious", {"scored": 528}, lambda path: 4 * n_lines(path)),
    "tenacious/*ablation_results.json": Reads(
        "tenacious-ablation", {"aggregates": 63}, lambda path: 7 * len(document(path)["splits"])
    ),
    "tenacious/outputs/bench_*_eval.json": Reads("tenacious-evaluation", {"scored": 1406}, bench_scores),
    "tenacious/bench_head/README.md": Refused("text without columns"),
    "tenacious/*tasks.jsonl": Refused(f"{BESIDE} task definitions"),
    "tenacious/*contamination_check.json": Refused(f"{BESIDE} a contamination check"),
    "tenacious/outputs/inter_rater_pass?.json": Refused(f"{BESIDE} one pass of a rater"),
    "tenacious/outputs/inter_rater_*.json": Refused(f"{BESIDE} agreement of two passes"),
    "tenacious/*": Refused(BESIDE),
    "wildbench/leaderboard/all_stat*.json": Reads("leaderboard", {"aggregates": 2176}, wildbench_cells),
    "wildbench/leaderboard/pairwise-*.json": Reads("leaderboard", {"aggregates": 1085}, lambda path: 7 * n_list(path)),
    "wildbench/leaderboard/score.json": Reads("leaderboard", {"aggregates": 549}, lambda path: 9 * n_list(path)),
    "wildbench/leaderboard/wb_elo_results.json": Reads("leaderboard", {"aggregates": 67}, wildbench_numbers),
    "wildbench/raw_head/*.json": Reads("wildbench", {"scored": 25}, n_list),
    "wildbench/scores_long.parquet": Reads("wildbench", {"scored": 29_653}, n_parquet),
}  # fmt: skip


# --- the files ---


@dataclass
class Outcome:
    """What a file became."""

    path: Path
    data: EvalData | None = None
    error: str = ""
    rows: Counter[str] = field(default_factory=Counter)


def rows_of(data: EvalData) -> Counter[str]:
    """Count rows: outcomes by their status, other tables by name."""
    found = Counter(data.outcomes["status"].to_list())
    for table in ("comparisons", "ratings", "aggregates"):
        found[table] += getattr(data, table).height
    return +found


def files_of(shared_data: Path) -> Iterator[Path]:
    return (path for path in sorted(shared_data.rglob("*")) if path.is_file())


def pattern_of(name: str) -> str | None:
    return next((pattern for pattern in EXPECTED if fnmatchcase(name, pattern)), None)


@pytest.fixture(scope="session")
def outcomes(shared_data: Path) -> dict[str, Outcome]:
    """Every file, read alone as a user would."""
    found: dict[str, Outcome] = {}
    for path in files_of(shared_data):
        name = path.relative_to(shared_data).as_posix()
        try:
            data = read(path)
        except EvalStatsError as error:
            found[name] = Outcome(path, error=str(error))
        else:
            found[name] = Outcome(path, data=data, rows=rows_of(data))
    return found


def of_pattern(outcomes: dict[str, Outcome], pattern: str) -> list[Outcome]:
    return [each for name, each in outcomes.items() if pattern_of(name) == pattern]


def test_every_file_is_in_the_table(shared_data: Path) -> None:
    names = [path.relative_to(shared_data).as_posix() for path in files_of(shared_data)]
    assert [name for name in names if pattern_of(name) is None] == []
    matched = {pattern_of(name) for name in names}
    assert [pattern for pattern in EXPECTED if pattern not in matched] == []


READ = {pattern: each for pattern, each in EXPECTED.items() if isinstance(each, Reads)}
REFUSED = {pattern: each for pattern, each in EXPECTED.items() if isinstance(each, Refused)}


@pytest.mark.parametrize("pattern", READ)
def test_what_is_read_is_what_the_table_says(outcomes: dict[str, Outcome], pattern: str) -> None:
    expected, found = READ[pattern], of_pattern(outcomes, pattern)
    assert [(each.path.name, each.error) for each in found if each.data is None] == []
    total: Counter[str] = Counter()
    for each in found:
        assert each.data is not None
        assert set(each.data.runs["loader"]) == {expected.loader}, each.path
        total += each.rows
    assert dict(total) == expected.rows


@pytest.mark.parametrize("pattern", READ)
def test_every_record_is_scored_an_error_or_unscored_and_none_is_left_out(
    outcomes: dict[str, Outcome], pattern: str
) -> None:
    expected = READ[pattern]
    # Logs hold published numbers beside their samples; how many stands in the table.
    beside = expected.loader == "inspect"
    for each in of_pattern(outcomes, pattern):
        assert each.data is not None
        rows = each.rows.total() - (each.rows["aggregates"] if beside else 0)
        assert rows == expected.count(each.path), each.path
        said = " ".join(problem.message for problem in each.data.problems)
        assert expected.says in said


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_has_no_results_is_refused_by_name_with_a_reason(outcomes: dict[str, Outcome], pattern: str) -> None:
    expected = REFUSED[pattern]
    for each in of_pattern(outcomes, pattern):
        assert each.data is None, each.path
        assert str(each.path) in each.error
        assert expected.words in each.error


@pytest.mark.parametrize("pattern", [pattern for pattern, each in REFUSED.items() if each.rows])
def test_the_advice_of_a_refusal_reads_the_file(outcomes: dict[str, Outcome], pattern: str) -> None:
    """The error names columns that fit; with them, or with what they lack, every row is read."""
    expected = REFUSED[pattern]
    (each,) = of_pattern(outcomes, pattern)
    fits = [f"{name}={column}" for name, column in re.findall(r"(\w+)='([^']*)'", to_copy(each.error)[0])]
    columns = shlex.split(expected.better) or fits
    assert columns[0].startswith("item=")
    data = read(each.path, column_map=ColumnMap.from_options(columns))
    assert rows_of(data).total() == expected.rows
    assert expected.count is None or expected.rows == expected.count(each.path)


# --- whole folders ---

# What a folder has less than its files one by one: the same results told twice. Of logs a note says so; HELM writes clean
# numbers again as those of the worst perturbation, and run_spec.json, beside them in the folder, says that there was none.
TWICE = {
    "inspect_logs": (Counter({"scored": 3, "aggregates": 3}), "has the task id and model of", 3),
    "benchbench": (Counter(), "", 0),
    "cruxeval": (Counter(), "", 0),
    "every_eval_ever": (
        Counter({"aggregates": 48, "scored": 10}),
        "",
        0,
    ),  # samples beside results, as are those of lm_eval
    "llmfao": (Counter(), "read only one", 2),
    "lm_eval": (Counter({"scored": 60}), "", 0),
    "reasoning_gym": (Counter(), "", 0),
    "tau_bench": (Counter(), "", 0),
    "tenacious": (Counter(), "", 0),
    "wildbench": (Counter(), "", 0),
}


@pytest.mark.parametrize("folder", TWICE)
def test_a_folder_is_its_files(outcomes: dict[str, Outcome], shared_data: Path, folder: str) -> None:
    """Reading a folder loses nothing of its files but what stands twice, and names every file that it does not read."""
    lost, words, times = TWICE[folder]
    data = read(shared_data / folder)
    inside = {name: each for name, each in outcomes.items() if name.startswith(f"{folder}/")}
    apart: Counter[str] = sum((each.rows for each in inside.values()), Counter())
    assert apart - rows_of(data) == lost
    assert sum(words in problem.message for problem in data.problems) == times or not words
    named = {problem.path for problem in data.problems if problem.severity == "error"}
    results = re.compile(r"\.(jsonl?|csv|tsv|parquet|eval)(\.gz)?$")
    refused = [each for each in inside.values() if COMMENT in each.error and results.search(each.path.name)]
    assert {str(each.path) for each in refused} == named
