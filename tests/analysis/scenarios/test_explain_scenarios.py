"""Where models break, explained: every method has words, the numbers are this result's, and what would change it is true."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evalstats
from evalstats.analysis.explaining.explain import explain, explain_text
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.scenarios.result import ScenarioModel, TermTest
from evalstats.document.blocks import Bullets, Heading, Paragraph
from tests.analysis.scenarios import example

ALL: dict[str, Callable[[], ScenarioModel]] = {
    "rut": example.rut,
    "small": example.small,
    "medium": example.medium,
    "random": example.random_scenarios,
    "missing": example.with_missing_cells,
    "singular": example.singular,
    "separated": example.separated,
    "without answer": example.without_answer,
    "costs": example.costs,
    "hostile": example.hostile,
}
# Functions of scipy and numpy that take a method of their own.
_NOT_OURS = {"minimize", "minimize_scalar", "root_scalar", "linprog", "quantile", "percentile", "solve_ivp"}


def in_one_line(found: ScenarioModel) -> str:
    return " ".join(explain_text(found, width=10_000).split())


def _literal(node: ast.expr) -> str | None:
    """Return the text of a string, with 7 in the place of what an f-string fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return None


def _names_in(folder: str) -> set[str]:
    """Every text that a module gives to a parameter or field called `method` or `covariance_method`."""
    names: set[str] = set()
    for path in (Path(evalstats.__file__).parent / folder).glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "attr", getattr(call.func, "id", "")) in _NOT_OURS:
                continue
            for word in call.keywords:
                if word.arg in ("method", "covariance_method"):
                    value = word.value
                    choices = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    names.update(text for each in choices if (text := _literal(each)))
    return names - {"auto", "none"}


@pytest.mark.parametrize("folder", ["stats/mixed", "analysis/mixing", "analysis/scenarios"])
def test_every_method_that_the_code_names_has_words(folder: str) -> None:
    names = _names_in(folder)
    if folder == "stats/mixed":
        assert len(names) >= 5  # so that this cannot pass on nothing
    assert not {name for name in names if not texts_for(name)}


@pytest.mark.parametrize(
    "name",
    [
        "REML", "ML", "Laplace", "AGHQ", "nAGQ=0", "z", "t (Kenward-Roger)", "t (Satterthwaite)", "kenward-roger",
        "satterthwaite", "linear mixed model (REML)", "binomial mixed model (Laplace)",
    ],
)  # fmt: skip
def test_every_method_of_a_mixed_model_has_words(name: str) -> None:
    assert texts_for(name)


def test_a_fit_and_its_criterion_are_told_apart() -> None:
    whats = [text.what for text in texts_for("binomial mixed model (Laplace)")]
    assert len(whats) == 2
    assert whats[0].startswith("log-odds of success")
    assert texts_for("CR2 covariance of 234 clusters") != texts_for("CR2")
    assert len(texts_for("CR2 covariance of 234 clusters")) == 1


@pytest.mark.parametrize("name", ALL)
def test_an_explanation_is_whole(name: str) -> None:
    found = ALL[name]()
    blocks = explain(found)
    titles = [block.text for block in blocks if isinstance(block, Heading)]
    for title in (
        "What was asked",
        "How it was answered",
        "What this takes for granted, and how it could fail here",
        "What a change means",
    ):
        assert title in titles
    for block in blocks:
        if isinstance(block, Paragraph):
            assert block.text.endswith(".")
        if isinstance(block, Bullets):
            assert all(item.endswith(".") or re.search(r"\d", item) for item in block.items)
    assert max(map(len, explain_text(found).splitlines())) <= 80
    line = in_one_line(found)
    for wrong in ("None", "nan", " ,", "—", "..", "There is no description"):
        assert wrong not in line, wrong


def test_the_largest_change_and_an_open_one_are_explained() -> None:
    text = in_one_line(example.small())
    assert "The change of alpha in impatient against ideal is −27.00 pp. The interval runs from" in text
    assert "That beta changes in impatient is not shown" in text
    assert "That is not the finding that it does not" in text


def test_lower_is_better_turns_the_largest_change_round() -> None:
    text = in_one_line(example.costs())
    assert "of which lower is better" in text
    assert "The change of slow in de against en is +10.70 s." in text


def test_all_changes_are_one_family() -> None:
    assert (
        "All 114 changes of the table are judged together (Benjamini & Hochberg). Were there none at all, the chance that any "
        "is shown would be at most 5%" in in_one_line(example.rut())
    )


@pytest.mark.parametrize(("p", "words"), [(0.3, "nor that it does"), (0.001, "the data say that it does not.")])
def test_the_interaction_is_one_test_and_open_where_it_is(p: float, words: str) -> None:
    test = TermTest(term="model:scenario", method="Wald F test", role="headline", p_value=p)
    assert words in in_one_line(replace(example.small(), tests=(test,)))


def test_weakest_claim_and_nearest_miss_are_those() -> None:
    found = example.rut()
    text = in_one_line(found)
    shown = [row for row in found.drops if row.verdict == "drop"]
    missed = [row for row in found.drops if row.verdict == "not shown"]
    weakest = max(shown, key=lambda row: row.p_adjusted or 0.0)
    nearest = min(missed, key=lambda row: row.p_adjusted or 1.0)
    assert f"The weakest claim is {weakest.model} in {weakest.scenario} (" in text
    assert f"The nearest miss is {nearest.model} in {nearest.scenario} (" in text


def test_more_items_are_asked_for_by_the_square_of_what_is_missing() -> None:
    found = example.small()
    row = found.drop("beta", "impatient")
    assert row.estimate is not None
    assert row.conf_low is not None
    assert row.conf_high is not None
    half = (row.conf_high - row.conf_low) / 2
    needed = row.n_items * (half / row.estimate) ** 2
    number = re.search(r"some ([\d,]+), would make its interval just exclude zero", in_one_line(found))
    assert number is not None
    assert needed <= int(number[1].replace(",", "")) <= 1.11 * needed + 1


def test_items_that_no_two_scenarios_share_are_a_warning() -> None:
    words = "No item was scored in two scenarios, so a scenario with harder items looks like one in which models break"
    found = example.small()
    bare = replace(found, drops=tuple(replace(row, paired=None) for row in found.drops))
    assert words in in_one_line(bare)
    assert words not in in_one_line(found)
    # Against an average there is no paired difference, whatever items scenarios share.
    average = example.medium()
    assert words not in in_one_line(replace(average, drops=tuple(replace(row, paired=None) for row in average.drops)))


def test_a_singular_fit_and_a_failed_one_are_told() -> None:
    assert "A variance came out as 0 (item:model)" in in_one_line(example.singular())
    assert "its numbers are not an answer" in in_one_line(example.without_answer())


def test_shares_of_log_odds_are_no_percentage_points() -> None:
    assert "no shares of the differences in percentage points" in in_one_line(example.rut())
    assert "no shares of the differences" not in in_one_line(example.costs())


def test_a_single_model_has_no_other_order() -> None:
    found = example.made(np.array([[0.8, 0.5]]), ("alpha",), ("ideal", "vague"), n_items=200)
    text = in_one_line(replace(found, tests=(), ranking=None, pairs=()))
    assert "Where 1 model on RUT-Bench breaks" in text
    assert "Other weights" not in text
