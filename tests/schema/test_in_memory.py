"""Whatever is in memory is read as the table that it would be in a file."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError, NothingSharedError
from evalstats.schema.in_memory import as_polars

pytestmark = pytest.mark.filterwarnings("ignore:the table is read as:evalstats.errors.EvalStatsWarning")
RNG = np.random.default_rng(7)
N = 60
OLD = pd.Series((RNG.random(N) < 0.4).astype(float), index=[f"q{i}" for i in range(N)], name="correct")
NEW = pd.Series((RNG.random(N) < 0.7).astype(float), index=OLD.index, name="correct")
LONG = pd.concat([OLD, NEW], keys=["old", "new"], names=["model", "item"]).reset_index()
EXPECTED = float((NEW - OLD).mean())


def rows_of(side: pd.Series) -> list[dict[str, Any]]:
    return [{"question_id": name, "correct": value} for name, value in side.items()]


def harness(side: pd.Series) -> dict[str, Any]:
    """What a call of lm-evaluation-harness returns: tuples and nested lists beside the scores."""
    samples = [
        {"doc_id": i, "doc": {"query": f"q{i}"}, "target": "a", "arguments": [("q", " a")], "resps": [[(-1.2, False)]]}
        | {"filtered_resps": [(-1.2, False)], "doc_hash": f"h{i}", "prompt_hash": "p", "target_hash": "t", "acc": value}
        for i, value in enumerate(side)
    ]
    return {
        "results": {"arc": {"alias": "arc", "acc,none": float(side.mean())}},
        "configs": {"arc": {"task": "arc", "metric_list": [{"metric": "acc", "higher_is_better": True}]}},
        "versions": {"arc": 1.0},
        "n-shot": {"arc": 0},
        "config": {"model": "hf", "model_args": "pretrained=a/b"},
        "samples": {"arc": samples},
    }


@pytest.mark.parametrize(
    "both",
    [
        lambda: {"old": OLD, "new": NEW.sample(frac=1, random_state=1)},
        lambda: {"old": OLD.to_dict(), "new": NEW.to_dict()},
        lambda: {"old": rows_of(OLD), "new": rows_of(NEW)[::-1]},
        lambda: {"old": pd.DataFrame(rows_of(OLD)), "new": pl.DataFrame(rows_of(NEW))},
        lambda: {"old": harness(OLD), "new": harness(NEW)},
        lambda: {"old": harness(OLD)["samples"]["arc"], "new": harness(NEW)["samples"]["arc"]},
        lambda: LONG.set_index(["model", "item"]),
        lambda: LONG.set_index(["model", "item"])["correct"],
        lambda: LONG.pivot_table(index="item", columns="model", values="correct")[["old", "new"]],
        lambda: LONG.assign(run="2026-01-01"),
        lambda: LONG.assign(
            model=LONG["model"].astype("category"), correct=LONG["correct"].astype(bool).astype(object)
        ),
        lambda: {name: {"law": [*side[:20]], "math": [*side[20:]]} for name, side in (("old", OLD), ("new", NEW))},
        lambda: {"old": [*OLD], "new": [*NEW]},
        lambda: {"old": OLD.to_numpy(), "new": NEW.to_numpy()},
    ],
)
def test_two_sides_in_any_form_are_the_same_pairs(both: Callable[[], Any]) -> None:
    found = es.compare(both(), "old", "new")
    assert (found.n_items, found.estimate) == (N, pytest.approx(EXPECTED, rel=1e-12))


def test_series_are_put_together_by_their_index_and_lists_by_place() -> None:
    found = es.compare({"old": OLD[:50], "new": NEW[10:]}, "old", "new")
    assert found.n_items == 40
    assert found.estimate == pytest.approx(float((NEW - OLD)[10:50].mean()), rel=1e-12)


def test_lists_that_are_not_equally_long_are_on_items_of_their_own() -> None:
    sides = {"old": [*OLD], "new": [*NEW[:40]]}
    with pytest.raises(NothingSharedError, match="paired=False"):
        es.compare(sides, "old", "new")
    found = es.compare(sides, "old", "new", paired=False)
    assert found.estimate == pytest.approx(NEW[:40].mean() - OLD.mean(), rel=1e-12)
    tasks = {"old": {"law": [1, 0, 1], "math": [1, 1]}, "new": {"law": [1, 0], "math": [0, 1]}}
    assert as_polars(tasks)["item"].to_list()[:2] == ["old/0", "old/1"]


def test_lists_whose_rows_are_not_the_same_items_are_two_samples() -> None:
    old, new = [*OLD], [*NEW]
    found = es.compare({"old": old, "new": new}, paired=False)
    rows = es.compare(
        es.from_frame(LONG.drop(columns="item"), item="#row", score="correct", model="model"), "old", "new"
    )
    assert (found.conf_low, found.conf_high) == (rows.conf_low, rows.conf_high)
    assert es.leaderboard({"a": old, "b": new, "c": new[::-1]}, paired=False).rows[0].n_items == N


def test_arrays_of_items_and_seeds_are_trials() -> None:
    scores = {name: (RNG.random((30, 4)) < 0.5).astype(float) for name in ("a", "b")}
    found = es.score(es.from_frame(scores).where(model="a"))
    assert (found.n_items, found.estimate) == (30, pytest.approx(scores["a"].mean(), rel=1e-12))
    assert as_polars({name: cells.tolist() for name, cells in scores.items()}).equals(as_polars(scores))


def test_names_of_several_levels_are_joined_and_numbers_that_nobody_gave_are_no_column() -> None:
    wide = LONG.pivot_table(index="item", columns="model", values=["correct"])
    assert as_polars(wide).columns == ["item", "correct_new", "correct_old"]
    assert as_polars(LONG[LONG["correct"] > 0]).columns == ["model", "item", "correct"]
    assert as_polars(pd.concat([LONG, LONG], keys=["x", "y"])).columns[:2] == ["level_0", "level_1"]
    # A level that is a column, too, stands once.
    assert as_polars(LONG.set_index("item", drop=False)).columns == ["model", "item", "correct"]


def test_a_summary_of_each_model_is_published_and_no_scores_by_item() -> None:
    board = {
        name: {"accuracy": mean, "stderr": 0.02, "n": 500}
        for name, mean in (("gpt-4o", 0.5), ("claude", 0.6), ("llama", 0.7))
    }
    assert es.leaderboard(board).rows[0].estimate == 0.7
    with pytest.raises(CannotAnswerError, match="published numbers"):
        es.compare(board, "gpt-4o", "llama")


def test_labels_that_repeat_name_no_rows() -> None:
    assert as_polars(pd.DataFrame({"ok": [1, 0, 1]}, index=["math", "code", "math"])).columns == ["ok"]
    assert as_polars(pd.DataFrame({"ok": [1, 0, 1]}, index=["q1", "q2", "q3"])).columns == ["index", "ok"]


def test_votes_in_tuples_have_columns_that_can_be_named() -> None:
    votes = [("x", "y", "x"), ("y", "z", "tie"), ("z", "x", "x")] * 20
    said = r"from_votes\(table, model_a='column_0', model_b='column_1', winner='column_2'\)"
    with pytest.raises(InputError, match=said):
        es.arena(votes)
    named = es.from_votes(votes, model_a="column_0", model_b="column_1", winner="column_2")
    assert named.comparisons["outcome"].to_list()[:3] == ["a", "tie", "b"]


def test_what_is_no_table_is_refused_in_words() -> None:
    for given in ({"id": ["a", "b"], "ok": [1]}, np.zeros((3, 2))):
        with pytest.raises(InputError, match=r"cannot be read|is not a table"):
            es.compare(given)
    # One value of numpy beside a list stands in each row, as in any table.
    assert as_polars({"a": np.float64(1), "b": [1, 2]}).rows() == [(1.0, 1), (1.0, 2)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"paired": "no"}, "paired='no' cannot be; give True or False"),
        ({"by": ["model"]}, r"by=\['model'\] cannot be; give a text"),
        ({"cluster": False}, "cluster=False cannot be; give a text or several"),
        ({"seed": "one"}, "seed='one' cannot be; give a whole number"),
        ({"alpha": 0.1}, r"compare\(\) got an unexpected keyword argument 'alpha'; the option is 'conf_level'"),
        ({"metrics": "x"}, "the option is 'metric'"),
        ({"score": "correct"}, r"columns are named by from_frame\(table, score=...\)"),
        ({"n_boot": 9}, "options are data, baseline"),
    ],
)
def test_an_option_of_another_type_or_name_is_refused_in_words(options: dict[str, Any], said: str) -> None:
    with pytest.raises((InputError, TypeError), match=said):
        es.compare(LONG, "old", "new", **options)
