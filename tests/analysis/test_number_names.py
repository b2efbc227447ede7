"""Models and levels that are numbers can be asked for as numbers, by every question."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evalstats
from evalstats.errors import InputError

es: Any = evalstats  # numbers go where the types say text
_N = 40


def _frame(kind: type = int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "item": list(range(_N)) * 3,
            "model": [kind(model) for model in (1, 2, 3) for _ in range(_N)],
            "score": rng.integers(0, 2, 3 * _N),
            "group": [kind(place % 4) for place in range(3 * _N)],
            "cost_usd": rng.random(3 * _N),
        }
    )


def _data(kind: type = int) -> Any:
    return es.from_frame(_frame(kind), item="item", score="score", model="model", group="group")


_ASKED: dict[str, tuple[Callable[..., Any], dict[str, object], dict[str, object]]] = {
    "compare": (es.compare, {"baseline": 1, "candidate": np.int64(2)}, {"baseline": "1", "candidate": "2"}),
    "score": (es.score, {"name": 1.0}, {"name": "1"}),
    "leaderboard": (
        es.leaderboard,
        {"models": np.array([1, 2]), "baseline": 1.0},
        {"models": ("1", "2"), "baseline": "1"},
    ),
    "frontier": (es.frontier, {"models": [1, 2]}, {"models": ["1", "2"]}),
    "audit": (es.audit, {"models": (1, 2)}, {"models": ("1", "2")}),
}


@pytest.mark.parametrize("question", _ASKED)
def test_a_number_is_the_name_of_a_model(question: str) -> None:
    function, numbers, texts = _ASKED[question]
    assert function(_data(), **numbers).to_dict() == function(_data(), **texts).to_dict()


@pytest.mark.parametrize(("kind", "zero"), [(int, "0"), (float, "0.0")])
def test_a_number_is_the_name_of_a_level(kind: type, zero: str) -> None:
    data = _data(kind)
    found = es.contamination(data, split="group", old=0, new=[1, 2], suspects=1, references=[2, 3])
    assert [row.model for row in found.rows] == ["1"]
    assert found.settings.options["old"] == zero
    shares = dict.fromkeys(range(4), 0.25)
    assert es.scenarios(data, scenario="group", reference=0, weights=shares, models=[1, 2]).reference == zero
    assert es.compare(data, 1, 2, over="group", weights=shares).baseline.name == "1"


def test_one_model_is_one_name_and_no_row_of_letters() -> None:
    with pytest.raises(InputError, match="models names 1 system"):
        es.frontier(_data(), models="12")


def test_a_result_gives_the_row_of_a_number() -> None:
    assert es.leaderboard(_data()).row(2).name == "2"


def test_an_unknown_name_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"no model, system or run '1\.5'; closest: 1; all 3: 1, 2, 3"):
        es.compare(_data(), "1.5", "2")
    with pytest.raises(InputError, match=r"baseline is \[1\]; give one name"):
        es.compare(_data(), [1], 2)
    with pytest.raises(InputError, match=r"holds 3 systems \(1, 2, 3\); name two of them: .*candidate=NAME"):
        es.compare(_data(), 1)


def test_people_and_judges_may_be_numbers() -> None:
    rng = np.random.default_rng(1)
    long = pd.DataFrame(
        {"id": list(range(_N)) * 2, "rater": [1.0] * _N + [2.0] * _N, "value": rng.integers(1, 6, 2 * _N)}
    )
    assert es.judges(es.from_ratings(long, item="id", humans=1), humans=1, n_resamples=200).row(2).name == "2"
    wide = pd.DataFrame({"id": range(_N), 1: rng.integers(1, 6, _N), 2: rng.integers(1, 6, _N)})
    assert set(es.from_ratings(wide, item="id", raters=[1, 2], humans=[1]).ratings["rater"]) == {"1", "2"}


def test_models_of_votes_and_their_aliases_may_be_numbers() -> None:
    rng = np.random.default_rng(2)
    votes = pd.DataFrame({"a": rng.integers(1, 3, 300), "b": rng.integers(3, 5, 300)})
    votes["winner"] = rng.choice(["model_a", "model_b"], 300)
    live = es.from_votes(votes, winner="winner", model_a="a", model_b="b")
    found = es.arena(live, anchor=1, models=[1, 2, 3, 4], n_resamples=100)
    assert {row.name for row in found.rows} == {"1", "2", "3", "4"}
    assert es.gap(_data(), live, aliases={1: 1, 2: 2, 3: 3}).n_models == 3
