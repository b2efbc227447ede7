"""The declared margin, the gate of CI, and the assertion for test suites."""

import json
import re
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

import evalstats as es
from evalstats.analysis.compare.gate import gate
from evalstats.cli.gate import junit_xml
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import t_margin_test, tango_margin_test
from evalstats.stats.paired.means import augmented_t
from evalstats.stats.runs import RunSd, run_effects, run_spread, with_runs
from evalstats.testing import assert_not_worse
from tests.analysis.builders import data_of, printed, rows_of


def pair(both: int, gained: int, lost: int, neither: int, **options):
    """Right-or-wrong scores with these counts of item pairs."""
    old = [1.0] * both + [0.0] * gained + [1.0] * lost + [0.0] * neither
    new = [1.0] * both + [1.0] * gained + [0.0] * lost + [0.0] * neither
    return data_of(rows_of("old", old), rows_of("new", new), **options)


BETTER = pair(60, 30, 4, 6)
WORSE = pair(60, 4, 30, 6)
SAME = pair(450, 8, 8, 34)
UNCLEAR = pair(20, 8, 6, 6)


def test_the_margin_is_tested_by_tangos_score_for_right_or_wrong_scores():
    found = es.compare(SAME, "old", "new", margin="3pp").at_margin
    expected = tango_margin_test(PairedCounts(450, 8, 8, 34), margin=0.03)
    assert found.noninferior
    assert (found.limit, found.noninferior_p) == (expected.low_one_sided, expected.noninferior_p)
    assert found.equivalence_p == expected.tost_p


def test_a_score_that_is_better_when_lower_is_tested_on_the_other_side():
    rng = np.random.default_rng(3)
    old, new = rng.uniform(size=(2, 60))
    sides = (rows_of("old", old.tolist()), rows_of("new", (new * 0.9).tolist()))
    up = es.compare(data_of(*sides, kind="bounded", low=0, high=1), "old", "new", margin=0.05).at_margin
    down = es.compare(
        data_of(*sides, kind="bounded", low=0, high=1, higher_is_better=False), "old", "new", margin=0.05
    ).at_margin
    swapped = es.compare(data_of(*sides, kind="bounded", low=0, high=1), "new", "old", margin=0.05).at_margin
    assert down.noninferior_p == pytest.approx(swapped.noninferior_p)
    assert down.limit == pytest.approx(-swapped.limit)
    assert up.noninferior != down.noninferior


def test_trials_are_tested_with_the_headlines_own_law():
    rng = np.random.default_rng(5)
    old, new = rng.integers(0, 2, (2, 40, 3))
    data = data_of(
        *[rows_of(name, side.ravel().astype(float).tolist(), trials=3) for name, side in (("old", old), ("new", new))]
    )
    found = es.compare(data, "old", "new", margin=0.2).at_margin
    plain = augmented_t((new - old).mean(axis=1))
    expected = t_margin_test(plain, margin=0.2, bound=1.0)
    assert found.noninferior_p == pytest.approx(expected.noninferior_p, rel=1e-12)


@pytest.mark.parametrize("margin", np.linspace(0.02, 0.2, 10))
def test_runs_are_in_the_test_at_the_margin_as_in_the_interval_beside_it(margin):
    rng = np.random.default_rng(5)
    old, new = rng.integers(0, 2, (2, 80, 3))
    data = data_of(
        *[rows_of(name, side.ravel().astype(float).tolist(), trials=3) for name, side in (("old", old), ("new", new))]
    )
    found = es.compare(data, "old", "new", margin=float(margin), runs="sample")
    runs = run_spread(run_effects(old), run_effects(new), prior=RunSd(value=0.01))
    narrower = with_runs(augmented_t((new - old).mean(axis=1), conf_level=0.9), runs)
    assert found.at_margin.limit == pytest.approx(narrower.conf_low) == found.equivalence_low
    assert found.at_margin.noninferior == (narrower.conf_low > -margin) == (found.at_margin.noninferior_p < 0.05)


def test_too_few_differing_clusters_forbid_non_inferiority():
    factors = {"passage": [f"p{i // 20}" for i in range(120)]}
    same = [1.0, 0.0] * 60
    data = data_of(rows_of("old", same, factors=factors), rows_of("new", same, factors=factors))
    found = es.compare(data, "old", "new", cluster="passage", margin=0.6).at_margin
    assert not found.noninferior
    assert "but only 0 of 6 clusters differ" in found.reason


@pytest.mark.parametrize(
    ("data", "rule", "passed"),
    [
        (BETTER, "worse", True), (BETTER, "not-noninferior", True), (BETTER, "inconclusive", True),
        (WORSE, "worse", False), (WORSE, "not-noninferior", False), (WORSE, "inconclusive", False),
        (SAME, "worse", True), (SAME, "not-noninferior", True), (SAME, "inconclusive", True),
        (UNCLEAR, "worse", None), (UNCLEAR, "not-noninferior", False), (UNCLEAR, "inconclusive", False),
    ],
)  # fmt: skip
def test_the_gate_passes_and_fails_by_its_rule(data, rule, passed):
    found = gate(es.compare(data, "old", "new", margin="3pp"), rule)
    assert found.passed is passed
    assert found.exit_status == {True: 0, False: 1, None: 3}[passed]


@pytest.mark.parametrize("rule", ["worse", "not-noninferior", "inconclusive"])
def test_no_gate_passes_beside_a_powerless_verdict(rule):
    rng = np.random.default_rng(8)
    for n in (3, 5, 20, 60):
        for margin in (None, 0.05, 0.4):
            if margin is None and rule == "not-noninferior":
                continue
            sides = rng.integers(0, 2, (2, n)).astype(float).tolist()
            data = data_of(*(rows_of(name, side) for name, side in zip(("old", "new"), sides, strict=True)))
            result = es.compare(data, "old", "new", margin=margin)
            found = gate(result, rule)
            assert not (result.verdict == "powerless" and found.passed)
            if result.at_margin is not None and result.at_margin.noninferior and n >= 6:
                assert result.verdict != "powerless"


@pytest.mark.parametrize("margin", [0.05, 0.15, 0.005, 0.125])
@pytest.mark.parametrize("kind", ["right or wrong", "graded"])
def test_a_margin_is_shown_as_it_was_given(kind, margin):
    rng = np.random.default_rng(9)
    graded = kind == "graded"
    sides = (
        rng.normal(3, 0.5, (2, 40)).clip(1, 5).tolist()
        if graded
        else rng.integers(0, 2, (2, 40)).astype(float).tolist()
    )
    data = data_of(*(rows_of(f"{k}", side) for k, side in enumerate(sides)), kind="ordinal" if graded else "binary")
    result = es.compare(data, "0", "1", margin=margin)
    given = f"{margin * result.scale:g} {result.unit}".strip()
    found = gate(result, "not-noninferior")
    said = " ".join((found.reason, printed(result, full=True)))
    assert f"within {given}" in found.reason or f"loss of −{given}" in found.reason
    rounded = {f"{margin * result.scale:.1f}", f"{margin * result.scale:.2f}"} - {given, given.split()[0]}
    for wrong in rounded:
        assert not re.search(rf"(±|within |margin of ){re.escape(wrong)}(?!\d)", said)


def test_a_level_that_is_worse_fails_the_gate_though_the_whole_is_not():
    scenario = {"scenario": ["calm"] * 60 + ["angry"] * 40}
    old = [0.0] * 30 + [1.0] * 30 + [1.0] * 35 + [0.0] * 5
    new = [1.0] * 60 + [0.0] * 40
    data = data_of(rows_of("old", old, factors=scenario), rows_of("new", new, factors=scenario))
    whole = es.compare(data, "old", "new")
    assert whole.verdict != "worse"
    assert gate(whole, "worse").passed
    split = gate(es.compare(data, "old", "new", by="scenario"), "worse")
    assert split.passed is False
    assert "angry" in split.reason


def test_no_answer_is_neither_a_pass_nor_a_failure():
    factors = {"passage": ["a", "b"] * 50}
    data = data_of(rows_of("old", [0.0, 1.0] * 50, factors=factors), rows_of("new", [1.0, 1.0] * 50, factors=factors))
    found = gate(es.compare(data, "old", "new", cluster="passage"), "worse")
    assert found.passed is None
    assert found.exit_status == 3
    with pytest.raises(CannotAnswerError, match="cluster"):
        assert_not_worse(data, "old", "new", cluster="passage")


def test_rules_are_checked():
    with pytest.raises(InputError, match="there are worse, worse-overall, not-noninferior, inconclusive"):
        gate(es.compare(SAME, "old", "new"), "bad")
    with pytest.raises(InputError, match="margin"):
        gate(es.compare(SAME, "old", "new"), "not-noninferior")


def test_the_assertion_fails_where_the_candidate_is_worse():
    assert assert_not_worse(BETTER, "old", "new").verdict == "better"
    assert assert_not_worse(UNCLEAR, "old", "new").verdict == "inconclusive"
    with pytest.raises(AssertionError, match="new is worse"):
        assert_not_worse(WORSE, "old", "new")
    with pytest.raises(AssertionError, match=r"non-inferiority within 3 pp is not established"):
        assert_not_worse(UNCLEAR, "old", "new", margin="3pp")


def test_the_assertion_reads_files(tmp_path):
    scores = {"old": lambda i: int(i % 3 == 0), "new": lambda _: 1}
    rows = [{"model": name, "item": f"q{i}", "score": scores[name](i)} for name in scores for i in range(40)]
    lines = [json.dumps(row) for row in rows]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(lines))
    assert assert_not_worse(file, "old", "new").n_items == 40
    assert assert_not_worse([str(file)], "old", "new").n_items == 40
    with pytest.raises(InputError, match="list is empty"):
        assert_not_worse([], "old", "new")
    for name in scores:
        own = "\n".join(json.dumps(row) for row in rows if row["model"] == name)
        (tmp_path / f"{name}.jsonl").write_text(own)
    result = assert_not_worse(str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl"))
    assert (result.baseline.name, result.candidate.name) == ("old", "new")


def test_two_runs_of_one_model_are_named_where_the_model_is_named_twice(tmp_path):
    for week in ("one", "two"):
        (tmp_path / f"{week}.csv").write_text("item,model,score\na,m,1\nb,m,0\n")
    data = es.read(tmp_path / "one.csv", tmp_path / "two.csv")
    with pytest.raises(
        InputError, match=r"both 'm'; name two different runs or models, such as two of its runs: 'one.m~"
    ):
        es.compare(data, "m", "m")


@pytest.mark.parametrize(
    ("data", "rule", "outcome"), [(BETTER, "worse", None), (WORSE, "worse", "failure"), (WORSE, None, None)]
)
def test_junit_counts_what_fails(data, rule, outcome):
    result = es.compare(data, "old", "new")
    suite = fromstring(junit_xml(result, None if rule is None else gate(result, rule))).find("testsuite")  # noqa: S314 - our own text
    assert suite.get("tests") == "1"
    assert suite.get("failures") == str(int(outcome == "failure"))
    assert (suite.find(".//failure") is not None) == (outcome == "failure")


def test_junit_holds_any_name():
    bad = "<evil>\x00\x1b[31m & ]]>"
    data = data_of(rows_of("old", [1.0, 0.0] * 20), rows_of(bad, [1.0, 1.0] * 20))
    suite = fromstring(junit_xml(es.compare(data, "old", bad), None)).find("testsuite")  # noqa: S314 - our own text
    assert r"<evil>\u0000\u001b[31m & ]]>" in suite.find("testcase").get("name")


def test_a_candidate_that_crashes_is_not_shown_to_be_as_good():
    """It fails on a fifth of the items, all of which the baseline got right: left out, the two look alike."""
    old = [1.0] * 200 + [0.0] * 40 + [1.0] * 60
    new = [1.0] * 200 + [0.0] * 40 + [None] * 60
    result = es.compare(data_of(rows_of("old", old), rows_of("new", new, status="error")), "old", "new", margin="5pp")
    assert result.verdict != "equivalent"
    assert not result.at_margin.noninferior
    assert "missing scores against the candidate" in result.at_margin.reason
    assert not gate(result, "not-noninferior").passed


def test_one_missing_item_leaves_the_claim_with_a_word_of_caution():
    sides = (
        rows_of("old", [1.0] * 299 + [0.0] * 201),
        rows_of("new", [1.0] * 299 + [0.0] * 200 + [None], status="error"),
    )
    result = es.compare(data_of(*sides), "old", "new", margin="5pp")
    assert result.at_margin.noninferior


def test_one_run_twice_is_not_shown_to_be_as_good_at_any_look():
    scores = np.random.default_rng(0).uniform(size=200).tolist()
    data = data_of(rows_of("a", scores), rows_of("b", scores), kind="bounded", low=0, high=1)
    watched = es.compare(data, "a", "b", margin=0.2, sequential=True)
    assert not watched.at_margin.noninferior


def test_a_level_fails_in_junit_only_under_a_rule_that_looks_at_levels():
    scenario = {"scenario": ["calm"] * 400 + ["angry"] * 40}
    old = [1.0] * 200 + [0.0] * 200 + [1.0] * 35 + [0.0] * 5
    new = [1.0] * 235 + [0.0] * 165 + [0.0] * 40
    data = data_of(rows_of("old", old, factors=scenario), rows_of("new", new, factors=scenario))
    result = es.compare(data, "old", "new", by="scenario", margin="20pp")
    assert "worse" in [group.verdict for group in result.groups]
    for rule in ("worse", "not-noninferior"):
        found = gate(result, rule)
        suite = fromstring(junit_xml(result, found)).find("testsuite")  # noqa: S314 - our own text
        assert (suite.get("failures") == "0") == found.passed


def suite_of_three():
    """The candidate loses on one of three tasks and gains on the others: no worse on average."""
    old, new = ([1.0] * 20 + [0.0] * 20) * 2, [1.0] * 70 + [0.0] * 10
    tasks = [("algebra", old, new), ("history", old, new), ("law", new, old)]
    rows = [
        rows_of(name, scores, benchmark=task)
        for task, *sides in tasks
        for name, scores in zip(("old", "new"), sides, strict=True)
    ]
    return es.compare(data_of(*rows), "old", "new")


def test_of_a_suite_the_average_and_each_task_are_cases_that_fail_by_themselves():
    result = suite_of_three()
    assert [group.verdict for group in result.groups] == ["better", "better", "worse"]
    found = gate(result, "worse")
    assert not found.passed
    assert "worse in task: law" in found.reason
    suite = fromstring(junit_xml(result, found)).find("testsuite")  # noqa: S314 - our own text
    failed = {case.get("name"): case.find("failure") is not None for case in suite.iter("testcase")}
    title = "new against old"
    assert failed == {
        title: False,
        f"{title} [task=algebra]": False,
        f"{title} [task=history]": False,
        f"{title} [task=law]": True,
    }
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")


def test_the_gate_may_look_at_the_average_alone():
    result = suite_of_three()
    found = gate(result, "worse-overall")
    assert found.passed
    suite = fromstring(junit_xml(result, found)).find("testsuite")  # noqa: S314 - our own text
    assert (suite.get("tests"), suite.get("failures")) == ("4", "0")
    turned = gate(
        es.compare(data_of(rows_of("old", [1.0] * 40), rows_of("new", [0.0] * 40)), "old", "new"), "worse-overall"
    )
    assert not turned.passed
