"""Which of two systems is the baseline where nobody said."""

import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.table.systems import only_two, rows_among
from evalstats.testing import assert_not_worse


def data_of(*names: str) -> es.EvalData:
    rows = [{"item": f"q{k}", "model": name, "score": float(k % 2)} for name in names for k in range(12)]
    return es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")


@pytest.mark.parametrize(
    ("names", "sides"),
    [
        (("treatment", "control"), ("control", "treatment")),
        (("new", "old"), ("old", "new")),
        (("aardvark", "my-baseline-2"), ("my-baseline-2", "aardvark")),
        (("B", "A"), ("A", "B")),
        (("v10", "v2"), ("v2", "v10")),
        (("goldfish", "eel"), ("eel", "goldfish")),
    ],
)
def test_the_baseline_is_the_one_called_so_else_the_first_by_name(
    names: tuple[str, str], sides: tuple[str, str]
) -> None:
    """Rows of an A/B test come in any order, and so do the sides: which stands first says nothing."""
    for order in (names, names[::-1]):
        assert only_two(data_of(*order), (None, None)) == sides
    assert only_two(data_of(*names), (sides[1], None)) == sides[::-1]
    assert only_two(data_of(*names), (None, sides[0])) == sides[::-1]


@pytest.mark.parametrize("names", [("stable", "canary"), ("base-1", "base-2")])
def test_a_gate_is_told_which_side_is_the_baseline(names: tuple[str, str]) -> None:
    """By the alphabet `canary` is the baseline, and a loss of the candidate passes for a gain of `stable`."""
    first, second = sorted(names)
    both = f"(?s)baseline='{first}', candidate='{second}'.*baseline='{second}', candidate='{first}'"
    with pytest.raises(InputError, match=both):
        only_two(data_of(*names), (None, None), gated=True)
    with pytest.raises(InputError, match=both):
        assert_not_worse(data_of(*names))
    assert only_two(data_of(*names), (second, None), gated=True) == (second, first)
    assert only_two(data_of(*names), (None, None), declared=second, gated=True) == (second, first)
    assert only_two(data_of("new", "old"), (None, None), gated=True) == ("old", "new")


def test_a_name_without_its_organisation_is_one_of_the_two() -> None:
    assert only_two(data_of("org/a", "org/b"), ("b", None)) == ("b", "org/a")


def test_three_systems_need_names() -> None:
    with pytest.raises(InputError, match=r"holds 3 systems \(a, b, c\); name two of them"):
        only_two(data_of("a", "b", "c"), (None, None))


@pytest.mark.parametrize(
    "among",
    [
        [True, True, True, True],
        [False, True, True, False],
        [True, False, False, True],
        [False, False, False, False],
        [None, True, True, None],
        [True, None, True, False],
    ],
)
def test_rows_that_stand_together_are_a_part_of_the_table_and_others_are_picked(among: list[bool | None]) -> None:
    rows, marked = (
        pl.DataFrame({"item": ["a", "b", "c", "d"], "score": [0.0, 1.0, 2.0, 3.0], "metric": ["m"] * 4}),
        pl.Series(among, dtype=pl.Boolean),
    )
    assert rows_among(rows, marked).equals(rows.filter(marked))
    assert rows_among(rows.clear(), marked.clear()).equals(rows.clear())
