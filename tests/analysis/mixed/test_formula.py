"""Formulas: what R reads in them, and what nobody may read in them."""

import json
from pathlib import Path

import pytest

from evalstats.analysis.mixed.formula import parse_formula
from evalstats.errors import InputError

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "mixing.json").read_text())


def products(terms) -> set[frozenset[str]]:
    return {frozenset(term) for term in terms}


@pytest.mark.parametrize("case", GOLDEN["formulas"], ids=lambda case: case["formula"])
def test_a_formula_stands_for_what_it_stands_for_in_r(case) -> None:
    found = parse_formula(case["formula"])
    assert found.intercept == case["intercept"]
    assert len(found.fixed) == len(case["fixed"])
    assert products(found.fixed) == products(case["fixed"])

    def part(intercept, effects, group):
        return (intercept, frozenset(products(effects)), frozenset(group))

    ours = [part(p.intercept, p.effects, p.group) for p in found.random]
    theirs = [part(p["intercept"], p["effects"], p["group"]) for p in case["random"]]
    assert len(ours) == len(theirs)
    assert set(ours) == set(theirs)


@pytest.mark.parametrize("case", GOLDEN["formulas"], ids=lambda case: case["formula"])
def test_a_formula_written_out_reads_as_the_same(case) -> None:
    found = parse_formula(case["formula"])
    again = parse_formula(str(found))
    assert (again.intercept, again.fixed, again.random) == (found.intercept, found.fixed, found.random)
    assert str(again) == str(found)


def test_nesting_names_the_outer_level_first() -> None:
    groups = [part.group_name for part in parse_formula("y ~ 1 + (1|suite/task/item)").random]
    assert groups == ["suite", "suite:task", "suite:task:item"]


def test_names_in_backticks_may_hold_anything() -> None:
    found = parse_formula("`the score` ~ `a.b` * `(1|g)` + (1 | `user id`:item)")
    assert found.response.column == "the score"
    assert found.fixed == (("a.b",), ("(1|g)",), ("a.b", "(1|g)"))
    assert found.random[0].group == ("user id", "item")
    assert parse_formula(str(found)).fixed == found.fixed


def test_c_makes_levels_of_numbers_and_keeps_the_name() -> None:
    found = parse_formula("y ~ C(day) * factor(site) + (0 + C(day) | C(item))")
    assert found.as_factor == {"day", "site"}
    assert found.fixed == (("day",), ("site",), ("day", "site"))
    assert found.random[0].group == ("item",)
    assert parse_formula(str(found)).as_factor == found.as_factor


def test_successes_and_failures() -> None:
    both = parse_formula("cbind(k, miss) ~ 1 + (1|g)").response
    assert (both.column, both.failures, both.total) == ("k", "miss", None)
    of_total = parse_formula("cbind(k, n - k) ~ 1 + (1|g)").response
    assert (of_total.column, of_total.failures, of_total.total) == ("k", None, "n")
    assert str(of_total) == "cbind(k, n - k)"


HOSTILE = [
    "__import__('os').system('id') ~ 1 + (1|g)",
    "y ~ __import__('os') + (1|g)",
    "y ~ __import__(os) + (1|g)",
    "y ~ os.system + (1|g)",
    "y ~ x.__class__ + (1|g)",
    "y ~ exp(x) + (1|g)",
    "y ~ I(x + 1) + (1|g)",
    "y ~ C(x, levels) + (1|g)",
    "y ~ C(f(x)) + (1|g)",
    "y ~ C(C) (x) + (1|g)",
    "y ~ {x + 1} + (1|g)",
    "y ~ Q('x') + (1|g)",
    'y ~ "x" + (1|g)',
    "y ~ x[0] + (1|g)",
    "y ~ x if x else z + (1|g)",
    "y ~ lambda x: x + (1|g)",
    "y ~ x; import os + (1|g)",
    "y ~ x := 1 + (1|g)",
    "y ~ x @ z + (1|g)",
    "y ~ %s + (1|g)",
    "y ~ x\\n + (1|g)",
    "y ~ . + (1|g)",
    "y ~ x\x00 + (1|g)",
    "log(y) ~ x + (1|g)",
    "`y`(x) ~ x + (1|g)",
    "y ~ `x`(1) + (1|g)",
    "y ~ `x + (1|g)",
    "y ~ `` + (1|g)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_code_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"the formula .* cannot be read: "):
        parse_formula(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y", "has no '~'"),
        ("", "has no '~'"),
        ("~ x + (1|g)", "nothing stands before the '~'"),
        ("y ~", "the end of the formula stands where a column is expected"),
        ("y ~ x +", "the end of the formula stands where a column is expected"),
        ("y ~ x ~ z", "'~' is not expected here"),
        ("y ~ x + 1|g", "'|' stands outside parentheses"),
        ("y ~ (1|g", "the end of the formula stands where '\\)' is expected"),
        ("y ~ x) + (1|g)", "'\\)' is not expected here"),
        ("y ~ (0|g)", "has no effect"),
        ("y ~ (1|a + b)", "write one random part for each grouping"),
        ("y ~ (1|a*b)", "write one random part for each grouping"),
        ("y ~ a * (1|g)", "random parts can only be added"),
        ("y ~ a - (1|g)", "cannot be taken away"),
        ("y ~ (a + (1|h) | g)", "a random part stands inside another"),
        ("y ~ (a|b|c)", "'|' stands where '\\)' is expected"),
        ("y ~ 2 * x + (1|g)", "the number 2 has no meaning here"),
        ("y ~ 1:x + (1|g)", "1 can only be added"),
        ("y ~ x:1 + (1|g)", "'1' stands where a column is expected"),
        ("y ~ (1 + a) * b + (1|g)", "not inside other parentheses"),
        ("y ~ a^0 + (1|g)", "a whole number from 1 to 20 is needed"),
        ("y ~ a^b + (1|g)", "a whole number from 1 to 20 is needed"),
        ("y ~ a^1.5 + (1|g)", "a whole number from 1 to 20 is needed"),
        ("y ~ a^", "a whole number from 1 to 20 is needed"),
        ("y ~ a^99999999999999999999 + (1|g)", "a whole number from 1 to 20 is needed"),
        ("y ~ x + user.id + (1|g)", "in backticks"),
        ("cbind(k, n - m) ~ 1 + (1|g)", "cbind\\(\\) understands"),
        ("y + z ~ x + (1|g)", "the left-hand side is one column"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_formula(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y ~ x + (1|g) + (1|g)", "the random effect of \\(Intercept\\) by g stands twice"),
        ("y ~ x + (1|g) + (1 + x|g)", "the random effect of \\(Intercept\\) by g stands twice"),
        ("y ~ x + (1|a:b) + (1|b:a)", "stands twice"),
        ("y ~ (1|a/b) + (1|a)", "stands twice"),
        ("y ~ x + C(x) + (1|g)", "both bare and in C\\(\\)"),
        ("y ~ y + (1|g)", "on both sides"),
    ],
)
def test_what_cannot_be_meant_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_formula(text)


def test_long_and_deep_formulas_end_soon() -> None:
    with pytest.raises(InputError, match="at most 5,000 are read"):
        parse_formula("y ~ " + "x + " * 5000 + "x")
    with pytest.raises(InputError, match="nested more than 40 deep"):
        parse_formula("y ~ " + "(" * 2000 + "x" + ")" * 2000)
    names = " + ".join(f"x{i}" for i in range(60))
    with pytest.raises(InputError, match="more than 400 terms"):
        parse_formula(f"y ~ ({names})^20 + (1|g)")
    with pytest.raises(InputError, match="the formula is a int"):
        parse_formula(3)  # type: ignore[arg-type]
