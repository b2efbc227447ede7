"""A mix of the live world: percent or proportions by their sum, and nothing that is no mix."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError
from evalstats.schema.plan import LiveMix, live_mix_of

ROUNDING = 1e-12  # of sums of a few floats


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), st.sampled_from([1.0, 100.0]), st.floats(0.99, 1.24))
def test_shares_keep_their_ratios_and_sum_to_one(parts: list[float], unit: float, labels: float) -> None:
    total = math.fsum(parts)
    raw = {f"level {place}": part / total * unit * labels for place, part in enumerate(parts)}
    mix = live_mix_of(raw)
    assert math.fsum(mix.shares.values()) == pytest.approx(1.0, abs=ROUNDING)
    for place, part in enumerate(parts):
        assert mix.shares[f"level {place}"] == pytest.approx(part / total, abs=ROUNDING)
    assert dict(mix.raw) == raw


def test_what_was_done_is_said_and_only_then() -> None:
    assert live_mix_of({"a": 25.0, "b": 75.0}).note == ""
    assert live_mix_of({"a": 0.25, "b": 0.75}, note="counted").note == "counted"
    assert "sum to 104%" in live_mix_of({"a": 0.26, "b": 0.78}).note
    assert live_mix_of({"a": 33.33, "b": 33.33, "c": 33.34}).note == ""


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({}, "names no level"),
        ({"a": 0.4, "b": 0.3}, "sum to 0.7; give percentages that sum to 100 or proportions that sum to 1"),
        ({"a": 40.0, "b": 30.0}, "sum to 70"),
        ({"a": 90.0, "b": 50.0}, "sum to 140"),
        ({"a": 1.5, "b": -0.5}, "the share of 'b' is -0.5"),
        ({"a": math.nan, "b": 1.0}, "the share of 'a' is nan"),
        ({" ": 1.0}, "has no name"),
    ],
)
def test_what_is_no_mix_is_refused(raw: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        live_mix_of(raw)


def test_a_mix_made_by_hand_is_checked_too() -> None:
    with pytest.raises(InputError, match=r"sum to 0\.9, not 1"):
        LiveMix(factor="scenario", shares={"a": 0.9})
