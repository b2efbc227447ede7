"""A mixed model is told by its own effects and variances, and no more than they say."""

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.mixed.mixed import mixed
from evalstats.analysis.mixed.result import MixedModel
from evalstats.document.terminal import to_text

# Effort to get up from four types of stool, nine people (Pinheiro & Bates 2000, Mixed-Effects Models in S and S-PLUS).
_EFFORT = [
    12, 15, 12, 10, 10, 14, 13, 12, 7, 14, 13, 9, 7, 11, 10, 9, 8, 11, 8, 7, 9, 11, 11, 10, 8, 12, 12, 11, 7, 11, 8, 7,
    9, 13, 10, 8,
]  # fmt: skip


@pytest.fixture(scope="module")
def stools() -> MixedModel:
    people = [f"p{person}" for person in range(9) for _ in range(4)]
    return mixed(
        "effort ~ stool + (1 | person)",
        pl.DataFrame({"effort": _EFFORT, "stool": ["T1", "T2", "T3", "T4"] * 9, "person": people}),
    )


@pytest.fixture(scope="module")
def successes() -> MixedModel:
    rng = np.random.default_rng(1)
    hard = np.repeat(rng.normal(size=60), 2)
    side = np.tile([0.0, 1.0], 60)
    score = (rng.random(120) < 1 / (1 + np.exp(-hard - 0.1 * side))).astype(int)
    table = pl.DataFrame(
        {"score": score, "model": np.where(side > 0, "b", "a"), "item": [f"q{i // 2}" for i in range(120)]}
    )
    return mixed("score ~ model + (1 | item)", table, family="binomial")


def in_one_line(found: MixedModel) -> str:
    return " ".join(to_text(found.document(), full=True, width=10_000).split())


def test_the_effects_are_the_books(stools: MixedModel) -> None:
    text = in_one_line(stools)
    assert "9 levels of person" in text
    # The book has 3.8889 (standard error 0.5187, 24 df) and 0.6667.
    assert "stool[T2] 3.89 2.82 to 4.96" in text
    assert "stool[T4] 0.67 −0.40 to 1.74" in text
    assert stools.document().headline == "effort depends on stool"
    # 1.3325 and 1.1003: shares 1.7755 and 1.2107 of 2.9861.
    assert "person accounts for 59% of the variance" in text
    assert "Residual 1.211 1.100 40.5" in text
    assert "person has 9 levels, and the spread of so few is known only roughly" in text.replace("Person", "person")


def test_log_odds_are_not_percentage_points(stools: MixedModel, successes: MixedModel) -> None:
    words = "in percentage points they depend on the starting point"
    assert words in in_one_line(successes)
    assert words not in in_one_line(stools)


def test_the_effect_of_two_levels_says_which_minus_which() -> None:
    """The first level by the alphabet is the reference, so that "new" is subtracted and a gain would read as a loss."""
    rows = {"y": [1.0, 2.2, 1.4, 2.1, 0.9, 2.3, 1.2, 2.5], "prompt": ["new", "old"] * 4, "item": list("aabbccdd")}
    found = mixed("y ~ prompt + (1 | item)", rows)
    difference = np.mean(rows["y"][1::2]) - np.mean(rows["y"][::2])  # balanced: the difference of the means
    assert found.effect("prompt[old]").estimate == pytest.approx(difference)
    assert "old minus new" in found.summary()
    assert {row.contrast for row in mixed("y ~ 0 + prompt + (1 | item)", rows).fixed} == {None}
