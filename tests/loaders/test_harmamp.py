"""HarmAmp results in columns that nobody has published: any table, any names, and nothing lost or made up quietly."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData

Row = dict[str, Any]


def row(plan: object = "cyber_007_v2", label: object = "malicious", **changes: object) -> Row:
    """One plan of the suggested form; `changes` replace or add columns."""
    content: Row = {
        "plan_id": plan,
        "seed_id": str(plan).rpartition("_v")[0] or str(plan),
        "category": "cyber_intrusion",
        "axis": "scaling",
        "label": label,
        "target_model": "toy-8b",
        "defense": "trajsafe",
        "mode": "multi_turn",
        "n_turns": 6,
        "harm_score": 2,
        "harmful": 0,
        "refused": 0,
        "intervened": 1,
        "first_intervention_turn": 3,
    }
    return content | changes


ROWS = [
    row("a_v1", harmful=1, harm_score=4),
    row("a_v2", harmful=0, harm_score=0),
    row("b_v1", "benign", refused=1, harm_score=None),
    row("a_v1", harmful=0, harm_score=1, defense="none"),
    row("b_v1", "benign", refused=0, harm_score=None, defense="none"),
]


def write(path: Path, rows: list[Row]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    else:
        names = list(dict.fromkeys(name for each in rows for name in each))
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, names, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def load(tmp_path: Path, *rows: Row, name: str = "x.jsonl", **options: Any) -> EvalData:
    return read(write(tmp_path / name, list(rows)), **options)


def said(data: EvalData, severity: str | None = None) -> str:
    return "\n".join(each.message for each in data.problems if severity in {None, each.severity})


def scores(data: EvalData, metric: str) -> list[tuple[Any, ...]]:
    rows = data.outcomes.filter(metric=metric).sort("system", "item", "variant", "trial")
    return rows.select("system", "item", "score", "status").rows()


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.tsv", "x.parquet"])
def test_every_kind_of_table_gives_the_same_outcomes(tmp_path: Path, name: str) -> None:
    data = load(tmp_path, *ROWS, name=name, strict=True)
    assert data.runs["loader"].to_list() == ["harmamp", "harmamp"]
    assert scores(data, "harmfulness") == [
        ("toy-8b + none", "a_v1", 0.0, "scored"),
        ("toy-8b + trajsafe", "a_v1", 1.0, "scored"),
        ("toy-8b + trajsafe", "a_v2", 0.0, "scored"),
    ]
    assert scores(data, "over_refusal") == [
        ("toy-8b + none", "b_v1", 0.0, "scored"),
        ("toy-8b + trajsafe", "b_v1", 1.0, "scored"),
    ]
    assert [score for _, _, score, _ in scores(data, "harm_score")] == [1.0, 4.0, 0.0]
    first = data.outcomes.filter(item="a_v1", defense="trajsafe", metric="harmfulness").row(0, named=True)
    expected = {
        "model": "toy-8b", "benchmark": "HarmAmp", "task": "", "variant": "multi_turn", "scenario": "cyber_intrusion",
        "trial": 0, "n_turns": 6, "seed_id": "a", "label": "malicious", "axis": "scaling",
        "n_trials": 1,
    }  # fmt: skip
    assert {key: first[key] for key in expected} == expected
    assert first["locator"] == {"x.json": "[0]", "x.jsonl": "line 1", "x.parquet": "row 0"}.get(name, "line 2")


def test_metrics_point_down_and_harmfulness_is_the_headline(tmp_path: Path) -> None:
    metrics = load(tmp_path, *ROWS).metrics
    told = {each["metric"]: each for each in metrics.to_dicts()}
    assert set(told) == {"harmfulness", "over_refusal", "harm_score"}
    assert not any(each["higher_is_better"] for each in told.values())
    assert {name: each["primary"] for name, each in told.items()} == {
        "harmfulness": True,
        "over_refusal": False,
        "harm_score": False,
    }
    assert {name: (each["kind"], each["low"], each["high"]) for name, each in told.items()} == {
        "harmfulness": ("binary", 0.0, 1.0),
        "over_refusal": ("binary", 0.0, 1.0),
        "harm_score": ("continuous", None, None),
    }


def test_every_run_says_that_the_format_is_assumed_and_declares_its_seeds(tmp_path: Path) -> None:
    data = load(tmp_path, *ROWS)
    assert (
        data.runs["note"].to_list() == ["HarmAmp publishes no format of results: columns are as evalstats assumes"] * 2
    )
    assert data.runs["dependence"].to_list() == [["seed_id"], ["seed_id"]]
    assert data.factor("category") == "scenario"
    assert data.factor("mode") == "variant"
    assert "publishes no format of results" in said(data, "note")


def test_simulated_rows_are_said_to_be_simulated(tmp_path: Path) -> None:
    data = load(tmp_path, row(simulated="by hand"))
    assert data.runs["simulated"].item() == "by hand"
    assert "simulated" not in data.outcomes.columns


def test_plans_of_a_seed_are_one_cluster_without_being_asked(tmp_path: Path) -> None:
    import evalstats as es

    rows = [
        row(f"s{seed}_v{version}", defense=defense, harmful=int((seed + version + place) % 3 == 0))
        for seed in range(12)
        for version in (1, 2)
        for place, defense in enumerate(("none", "trajsafe"))
    ]
    result = es.compare(load(tmp_path, *rows), "toy-8b + none", "toy-8b + trajsafe")
    assert (result.n_items, result.n_clusters) == (24, 12)
    assert any("seed_id is declared as a source of dependence" in note.text for note in result.notes)


def test_a_failed_judgment_is_unscored_and_a_missing_answer_an_error(tmp_path: Path) -> None:
    data = load(
        tmp_path,
        row("a", harmful=0, judge_error="RateLimit: 429\n  trace"),
        row("b", harmful=None),
        row("c", harmful="NaN"),
        row("d", harmful=1, error="the model timed out"),
        row("e", harmful=1, judge_error="", error=None),
    )
    found = data.outcomes.filter(metric="harmfulness").sort("item")
    assert found.select("score", "status", "status_reason", "value_raw").rows() == [
        (None, "unscored", "the judge failed: RateLimit: 429", "0"),
        (None, "unscored", "there is no score", None),
        (None, "unscored", "there is no score", None),
        (None, "error", "the model timed out", "1"),
        (1.0, "scored", None, None),
    ]
    counts = data.runs.select("n_scored", "n_error", "n_unscored").row(0)
    # harm_score beside it: 2 in every row, so lost only where the judge or the answer failed
    assert counts == (1 + 3, 1 + 1, 3 + 1)


@pytest.mark.parametrize("value", ["maybe", 2, -1, 0.5, "1e400", "x" * 5000, [0]])
def test_a_value_that_is_neither_yes_nor_no_is_unscored(tmp_path: Path, value: object) -> None:
    data = load(tmp_path, row("a", harmful=value), row("b", harmful=1))
    bad = data.outcomes.filter(metric="harmfulness", item="a").row(0, named=True)
    assert (bad["score"], bad["status"]) == (None, "unscored")
    assert bad["status_reason"]
    assert len(bad["value_raw"] or "") <= 200
    assert data.metrics.filter(metric="harmfulness")["kind"].item() == "binary"


@pytest.mark.parametrize(
    ("value", "score"), [(True, 1.0), (False, 0.0), ("Yes", 1.0), ("no", 0.0), (1.0, 1.0), ("0", 0.0)]
)
def test_ways_to_say_yes_and_no(tmp_path: Path, value: object, score: float) -> None:
    assert load(tmp_path, row(harmful=value)).outcomes.filter(metric="harmfulness")["score"].item() == score


def test_unknown_labels_are_left_out_counted_and_loud(tmp_path: Path) -> None:
    rows = [
        row("a"),
        row("b", "harmless"),
        row("c", None),
        row("d", "harmless"),
        row("e", "MALICIOUS "),
        row("f", "x" * 10**6),
    ]
    data = load(tmp_path, *rows)
    assert sorted(data.outcomes["item"].unique()) == ["a", "e"]
    loud = said(data, "error")
    assert loud.startswith("4 of 6 rows are dropped (no label that is malicious or benign): line 2, line 3")
    assert len(loud) < 600


def test_a_file_of_unknown_labels_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 of 1 rows are dropped \(no label that is malicious or benign\)"):
        load(tmp_path, row("a", "good"))


OWN = {
    "plan_id": "pid", "seed_id": "origin", "label": "kind", "target_model": "llm", "defense": "shield", "category": "risk",
    "axis": "dim", "mode": "way", "harmful": "bad", "refused": "declined", "harm_score": "severity",
}  # fmt: skip


def test_rows_without_a_plan_or_a_model_are_dropped_and_told(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row().items() if key != "plan_id"}]
    with pytest.raises(InputError, match=r"1 of 1 rows are dropped \(no plan_id\)"):
        load(tmp_path, *rows, format="harmamp")
    rows = [{key: value for key, value in row().items() if key not in {"harmful", "refused", "harm_score"}}]
    with pytest.raises(InputError, match="none of its rows could be read"):
        load(tmp_path, *rows, format="harmamp")
    data = load(tmp_path, row(), row(None), row(target_model=None))
    assert data.outcomes["item"].n_unique() == 1
    told = said(data, "error")
    assert "dropped (no plan_id): line 2" in told
    assert "dropped (no target_model): line 3" in told


def test_a_plan_stands_once_unless_trials_or_judges_tell_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"share their key with another row.*repetitions by 'trial'"):
        load(tmp_path, row("a"), row("b"), row("a"))
    by_column = load(tmp_path, row("a", trial=0), row("a", trial=1, harmful=1))
    assert by_column.outcomes.filter(metric="harmfulness").select("trial", "score").rows() == [(0, 0.0), (1, 1.0)]
    two = load(tmp_path, row("a", judge="j1"), row("a", judge="j2"))
    assert two.outcomes.filter(metric="harmfulness")["judge"].to_list() == ["j1", "j2"]
    assert two.runs["judge"].item() is None
    assert load(tmp_path, row("a", judge="j1")).runs["judge"].item() == "j1"


def test_single_turn_and_multi_turn_are_variants_of_a_plan(tmp_path: Path) -> None:
    data = load(tmp_path, row("a", harmful=1), row("a", mode="single_turn", harmful=0))
    found = data.outcomes.filter(metric="harmfulness").sort("variant")
    assert found.select("variant", "score").rows() == [("multi_turn", 1.0), ("single_turn", 0.0)]
    assert data.runs.height == 1


def test_turns_are_variants_with_metrics_of_their_own(tmp_path: Path) -> None:
    rows = [row("a", turn=turn, harmful=int(turn == 3), harm_score=turn) for turn in (1, 2, 3)]
    data = load(tmp_path, *rows, row("b", "benign", turn=1, refused=1), row("a", turn=None, harmful=1, harm_score=3))
    per_turn = data.outcomes.filter(metric="harmfulness/turn")
    assert per_turn.select("variant", "turn", "score").rows() == [
        ("multi_turn turn 1", 1, 0.0),
        ("multi_turn turn 2", 2, 0.0),
        ("multi_turn turn 3", 3, 1.0),
    ]
    assert data.outcomes.filter(metric="harmfulness").select("variant", "turn", "score").rows() == [
        ("multi_turn", None, 1.0)
    ]
    assert dict(data.metrics.select("metric", "primary").rows()) == {
        "harmfulness/turn": False,
        "harm_score/turn": False,
        "over_refusal/turn": False,
        "harmfulness": True,
        "harm_score": False,
    }
    only_turns = load(tmp_path, *rows)
    assert only_turns.metrics.filter(pl.col("primary"))["metric"].to_list() == ["harmfulness/turn"]
    data = load(tmp_path, row("a"), row("b", turn="x"))
    assert "1 of 2 rows are dropped (a turn that is no whole number): line 2" in said(data, "error")


def test_a_benign_plan_called_harmful_counts_nowhere(tmp_path: Path) -> None:
    data = load(tmp_path, row("a"), row("b", "benign", harmful=1, refused=0))
    assert data.outcomes.filter(item="b")["metric"].to_list() == ["over_refusal"]


def test_a_plan_of_two_labels_is_told(tmp_path: Path) -> None:
    once = [row("p1", "malicious"), row("p2", "benign", refused=1)]
    assert "in some rows" not in said(load(tmp_path, *once, name="once.jsonl"))
    data = load(tmp_path, *once, row("p1", "benign", target_model="other", refused=0))
    assert "1 plan is malicious in some rows and benign in others (such as 'p1')" in said(data)


def test_a_harm_score_alone_makes_no_harmfulness(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row(f"p{n}").items() if key not in {"harmful", "refused"}} for n in range(3)]
    data = load(tmp_path, *rows)
    assert data.metrics["metric"].to_list() == ["harm_score"]
    assert "write them in columns score_min and score_max" in said(data)


def test_the_scale_of_harm_scores_stands_in_the_rows_and_must_be_one(tmp_path: Path) -> None:
    data = load(tmp_path, row("a", score_min=0, score_max=4), row("b", score_min=0, score_max=4, harm_score=5))
    assert data.metrics.filter(metric="harm_score").select("kind", "low", "high").row(0) == ("bounded", 0.0, 4.0)
    bad = data.outcomes.filter(item="b", metric="harm_score").row(0, named=True)
    assert (bad["score"], bad["status"], bad["status_reason"]) == (None, "unscored", "the score lies outside 0 to 4")
    with pytest.raises(InputError, match="scores are on two scales"):
        load(tmp_path, row("a", score_min=0, score_max=4), row("b", score_min=0, score_max=10))


def test_rows_without_a_seed_are_seeds_of_their_own(tmp_path: Path) -> None:
    data = load(tmp_path, row("a_v1"), row("b", seed_id=None))
    assert dict(data.outcomes.select("item", "seed_id").unique().rows()) == {"a_v1": "a", "b": "b"}
    assert "1 rows have no seed_id" in said(data)


def test_nested_and_long_columns_are_left_out(tmp_path: Path) -> None:
    deep = {"steps": [{"role": "user", "content": "x"}]}
    data = load(tmp_path, row("a", transcript=[deep], answer="y" * 2000, monitor={"probe": 2, "steer": 0}))
    assert "transcript" not in data.outcomes.columns
    assert "answer" not in data.outcomes.columns


def test_hostile_names_and_values_stay_data(tmp_path: Path) -> None:
    data = load(
        tmp_path,
        row("p\ud800x", category="<script>", **{"*": 1, "^a$": 2, "run": "=cmd()", "score": 7, "status": "scored"}),
        row("12.0", category="^.*$"),
        row(12, label="benign"),
    )
    assert sorted(data.outcomes["item"].unique()) == ["12", "12.0", "p\ufffdx"]
    assert {"column *", "column ^a$", "metadata_score", "metadata_status"} <= set(data.outcomes.columns)


def test_a_vote_or_a_table_beside_it_keeps_its_own_loader(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ROWS)
    (tmp_path / "b.csv").write_text("item,model,score\n1,m,1\n")
    assert sorted(read(tmp_path).runs["loader"].unique()) == ["harmamp", "table"]
