"""What was typed becomes a value of Python, or is refused in a sentence that names the option."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.cli.values import read_values, with_names
from evalstats.errors import InputError
from evalstats.options import offered
from evalstats.questions import signature_of
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of


def value(question: str, name: str, typed: Any, *sides: EvalData, **more: Any) -> Any:
    """Read one option of a question, and names by the data of both sides; all others are left to their defaults."""
    options = list(offered(signature_of(question)))
    given = read_values(options, {each.name: each.default for each in options} | more | {name: typed})
    return (with_names(options, given, sides) if sides else given)[name]


@pytest.mark.parametrize(
    ("question", "name", "typed", "expected"),
    [
        ("compare", "cluster", ("none",), "none"),
        ("compare", "cluster", ("user", "topic"), ("user", "topic")),
        ("compare", "accept", ("judge",), ("judge",)),
        ("compare", "margin", "2pp", "2pp"),
        ("arena", "cluster", ("auto",), "auto"),
        ("arena", "covariates", ("auto",), "auto"),
        ("leaderboard", "top", ("1,3", "5"), (1, 3, 5)),
        ("contamination", "cutoffs", ("a=b=2024-01-01",), {"a=b": "2024-01-01"}),
        ("judges", "families", ("our-judge=OpenAI",), {"our-judge": "OpenAI"}),
        ("power", "accuracy", "70%", 0.7),
        ("power", "n_trials", "3", 3.0),
        ("power", "n_trials", "3,5", (3.0, 5.0)),
        ("power", "variance", ("0.1",), 0.1),
        ("power", "variance", ("item=.1", "trial=.2"), {"item": 0.1, "trial": 0.2}),
        ("power", "costs", ("item=2",), {"item": 2.0}),
        ("scenarios", "weights", ("observed",), "observed"),
        ("scenarios", "weights", ("a=1, b=2",), {"a": 1.0, "b": 2.0}),
        ("scenarios", "weights", ("a=75%", "b=0.25"), {"a": 0.75, "b": 0.25}),
        ("scenarios", "weights", ("a=b=0.5,c=0.5",), {"a=b": 0.5, "c": 0.5}),
        ("scenarios", "weights", ("one, two=0.5", "c=0.5"), {"one, two": 0.5, "c": 0.5}),
    ],
)
def test_texts_are_read(question: str, name: str, typed: Any, expected: object) -> None:
    assert value(question, name, typed) == expected


@pytest.mark.parametrize(
    ("question", "name", "typed", "words"),
    [
        ("compare", "cluster", ("none", "user"), "--cluster none stands beside other columns"),
        ("arena", "cluster", ("rater", "none"), "--cluster none stands beside other columns"),
        ("arena", "covariates", ("tokens", "auto"), "--covariate auto stands beside"),
        ("leaderboard", "top", ("3,x",), "--top is '3,x'; give whole numbers"),
        ("contamination", "cutoffs", ("gpt",), "--cutoff 'gpt' is not understood; give MODEL=DATE"),
        ("contamination", "cutoffs", ("m=2024-01-01", "m=2024-02-01"), "--cutoff names 'm' twice"),
        ("judges", "families", ("our-judge",), "give NAME=FAMILY"),
        ("power", "accuracy", "most", "'most' is no amount"),
        ("power", "n_trials", "1,2,3", "--trials '1,2,3' is no number of trials"),
        ("power", "n_trials", "few", "--trials 'few' is no number of trials"),
        ("power", "variance", ("much",), "--variance 'much' is no number"),
        ("power", "costs", ("item=x",), "--cost 'item=x' is not understood"),
        ("power", "costs", ("2",), "--cost '2' is not understood"),
        *(
            ("scenarios", "weights", texts, "--weights")
            for texts in (("most",), ("a=",), ("a=x",), ("equal", "observed"), ("a=1,a=2",), (",",), ("=1",))
        ),
    ],
)
def test_texts_that_are_not_understood(question: str, name: str, typed: Any, words: str) -> None:
    with pytest.raises(InputError) as refused:
        value(question, name, typed)
    assert words in str(refused.value)


def test_names_split_at_commas_unless_they_hold_one() -> None:
    data = EvalData(comparisons=pl.DataFrame({"model_a": ["a,b"], "model_b": ["c"]}))
    assert value("arena", "models", ("a,b", "c,d"), data) == ["a,b", "c", "d"]
    assert value("gap", "models", ("x,y",), data, aliases=None) == ["x", "y"]


@pytest.mark.parametrize(
    ("given", "split"),
    [
        (None, None),
        ("correct", "correct"),
        ("acc,none", "acc,none"),
        ("acc,none,correct", ["acc,none", "correct"]),
        ("correct, acc,none", ["correct", "acc,none"]),
        ("correct,acc,none,f1", ["correct", "acc,none", "f1"]),
        ("correct,other", ["correct", "other"]),
    ],
)
def test_metrics_split_at_commas_except_within_a_name(given: str | None, split: str | list[str] | None) -> None:
    rows = [row for name in ("acc,none", "correct", "f1", "none,f1") for row in rows_of("m", [1, 0], metric=name)]
    assert value("compare", "metric", given, data_of(rows)) == split


def test_files_of_shares(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_text("level,share\nplain,0.75\nhard,0.25\n", encoding="utf-8")
    shipped, own = value("gap", "mix", "rutbench"), value("gap", "mix", str(path), by=("difficulty",))
    assert sum(shipped.shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert (own.factor, own.shares) == ("difficulty", {"plain": 0.75, "hard": 0.25})
    assert value("compare", "weights", path, over="difficulty") == {"plain": 0.75, "hard": 0.25}
