"""The plan as data: its checks, its digest, and what it says of departures."""

import json
from collections.abc import Mapping

import polars as pl
import pytest

from evalstats.analysis.result import json_safe
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Margin, Plan, departures, plan_account, settled, with_aliases
from evalstats.schema.tables import frame_from_rows

WHY = "nobody notices less"


def margin(value: float | str, metric: str | None = None, benchmark: str | None = None) -> Margin:
    return Margin(value=value, reason=WHY, metric=metric, benchmark=benchmark)


FULL = Plan(
    source="evalstats.toml",
    baseline="v1",
    conf_level=0.9,
    adjust="holm",
    clusters=("passage", "user"),
    families=("scenario", "difficulty"),
    accept=("judge", "n_shots"),
    fail_on=("worse", "inconclusive"),
    primary={"bench": "acc"},
    margins=(margin("2pp", "acc", "bench"), margin(0.05, "acc"), margin("3pp", benchmark="bench"), margin(0.1)),
    aliases={"gpt-x-0613": "gpt-x"},
    column_map={"columns": {"item": "q"}},
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"conf_level": 1.0}, "conf_level is 1.0"),
        ({"conf_level": 0.5}, "above 0.5"),
        ({"conf_level": float("nan")}, "conf_level is nan"),
        ({"adjust": "holmes"}, "adjust is 'holmes'; it must be one of max-t, holm"),
        ({"accept": ("judje",)}, "did you mean 'judge'"),
        ({"fail_on": ("better",)}, "fail_on is 'better'"),
        ({"margins": (margin("2pp"), margin("3pp"))}, "two margins are declared for everything"),
        ({"margins": (margin(1, "acc"), margin(2, "acc"))}, "two margins are declared for metric 'acc'"),
        ({"aliases": {"a": "b", "b": "c"}}, "'b', which has an alias itself"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(options: Mapping[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Plan(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -0.1, "0pp", "-2pp", "two points", "2 points", float("inf"), float("nan"), ""])
def test_a_margin_that_is_no_difference_is_refused(value: float | str) -> None:
    with pytest.raises(InputError, match="margin"):
        margin(value)


def test_a_margin_has_a_reason() -> None:
    with pytest.raises(InputError, match="the margin of 2pp has no reason"):
        Margin(value="2pp", reason="  ")


# --- which margin holds ---


@pytest.mark.parametrize(
    ("benchmark", "metric", "expected"),
    [("bench", "acc", "2pp"), ("other", "acc", 0.05), ("bench", "f1", "3pp"), ("other", "f1", 0.1)],
)
def test_the_nearest_margin_holds(benchmark: str, metric: str, expected: float | str) -> None:
    found = FULL.margin_for(benchmark, metric)
    assert found is not None
    assert found.value == expected
    # In whatever order they stand.
    turned = Plan(margins=FULL.margins[::-1]).margin_for(benchmark, metric)
    assert turned == found


def test_a_metric_s_margin_goes_before_a_benchmark_s() -> None:
    found = Plan(margins=(margin("3pp", benchmark="bench"), margin("1pp", "acc"))).margin_for("bench", "acc")
    assert found is not None
    assert found.value == "1pp"


def test_without_a_margin_there_is_none() -> None:
    assert Plan(margins=(margin(1, "acc"),)).margin_for("bench", "f1") is None
    assert Plan().primary_for("bench") is None


# --- the digest ---


def changed(**options: object) -> Plan:
    parts = {name: getattr(FULL, name) for name in FULL.__slots__} | options
    return Plan(**parts)  # type: ignore[arg-type]


def test_the_digest_is_of_what_is_declared() -> None:
    same = changed(
        source="another.toml",
        clusters=("user", "passage"),
        accept=("n_shots", "judge"),
        fail_on=("inconclusive", "worse"),
        families=("difficulty", "scenario"),
        margins=(
            margin(0.1),
            margin("3.0 pp", benchmark="bench"),
            margin("0.05", "acc"),
            margin("2 percent", "acc", "bench"),
        ),
    )
    assert same.digest == FULL.digest
    assert len(FULL.digest) == 64


@pytest.mark.parametrize(
    "options",
    [
        {"baseline": "v2"},
        {"conf_level": 0.95},
        {"adjust": "bh"},
        {"clusters": ("passage",)},
        {"families": ()},
        {"accept": ("judge",)},
        {"fail_on": ("worse",)},
        {"primary": {"bench": "f1"}},
        {"margins": FULL.margins[:1]},
        {"margins": (margin("3pp", "acc", "bench"), *FULL.margins[1:])},
        {"margins": (Margin(value="2pp", reason="another", metric="acc", benchmark="bench"), *FULL.margins[1:])},
        {"aliases": {}},
        {"column_map": {"columns": {"item": "question"}}},
    ],
)
def test_whatever_is_declared_otherwise_has_another_digest(options: Mapping[str, object]) -> None:
    assert changed(**options).digest != FULL.digest


def test_the_digest_does_not_move_between_versions() -> None:
    """Stored results hold digests: made by hand from the canonical form, JSON with sorted keys of what is declared."""
    import hashlib

    canonical = '{"conf_level":0.9,"margins":[["","acc","2pp","why"]]}'
    plan = Plan(conf_level=0.9, margins=(Margin(value="2.0pp", reason=" why ", metric="acc"),))
    assert plan.digest == hashlib.sha256(canonical.encode()).hexdigest()
    assert Plan().digest == hashlib.sha256(b"{}").hexdigest()


# --- departures ---


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"margin": None, "conf_level": None}, []),
        ({"margin": "2pp"}, []),
        ({"margin": 0.02}, []),
        ({"margin": "2.0 %"}, []),
        ({"margin": "5pp"}, ["margin 5pp given, 2pp declared"]),
        ({"margin": 0.05}, ["margin 0.05 given, 2pp declared"]),
        ({"conf_level": 0.9}, []),
        ({"conf_level": 0.95}, ["conf_level 0.95 given, 0.9 declared"]),
        ({"clusters": ["user", "passage"]}, []),
        ({"clusters": "passage"}, ["cluster passage given, passage, user declared"]),
        ({"families": "scenario"}, []),
        ({"families": "language"}, ["by language given, scenario, difficulty declared"]),
        ({"accept": ["judge"]}, []),
        ({"accept": ["judge", "prompt"]}, ["accept judge, prompt given, judge, n_shots declared"]),
        ({"fail_on": ["worse"]}, ["fail_on worse given, worse, inconclusive declared"]),
        ({"primary": "f1", "baseline": "v0"}, ["metric f1 given, acc declared", "baseline v0 given, v1 declared"]),
        ({"adjust": "bh"}, ["adjust bh given, holm declared"]),
    ],
)  # fmt: skip
def test_what_contradicts_the_plan_is_said(given: Mapping[str, object], expected: list[str]) -> None:
    found = departures(FULL, benchmark="bench", metric="acc", **given)
    assert found == tuple(f"Departs from the plan: {text}" for text in expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"margin": "5pp"}, ["margin 5pp given, none declared"]),
        ({"families": "scenario"}, ["by scenario given, none declared"]),
        ({"clusters": ["user"]}, ["cluster user given, none declared"]),
        ({"clusters": []}, []),
        ({"accept": ["judge"]}, ["accept judge given, none declared"]),
        ({"conf_level": 0.95}, []),
        ({"conf_level": 0.8}, ["conf_level 0.8 given, none declared"]),
        # A command has to be told these.
        ({"baseline": "v1", "primary": "acc", "fail_on": ["worse"]}, []),
    ],
)
def test_what_the_plan_does_not_declare_is_a_departure(given: Mapping[str, object], expected: list[str]) -> None:
    assert departures(Plan(), **given) == tuple(f"Departs from the plan: {text}" for text in expected)


def test_points_are_read_in_the_metric_s_unit() -> None:
    plan = Plan(margins=(margin("2pp"),))
    assert departures(plan, margin=2.0, span=100.0) == ()
    assert departures(plan, margin=0.02, span=100.0) != ()
    assert departures(plan, margin=0.02, span=None) != ()
    assert departures(Plan(margins=(margin(0.3),)), margin=0.1 + 0.2) == ()


def test_options_in_force() -> None:
    found = settled(FULL, benchmark="bench", metric="acc", margin=None, conf_level=0.99, clusters=None, primary=None)
    assert found == {"margin": "2pp", "conf_level": 0.99, "clusters": ("passage", "user"), "primary": "acc"}
    assert settled(None, margin=None, conf_level=0.9) == {"margin": None, "conf_level": 0.9}
    assert settled(Plan(), clusters=None) == {"clusters": None}


def test_the_account_is_json_and_says_what_was_declared() -> None:
    account = plan_account(FULL, benchmark="bench", metric="acc", margin="5pp")
    assert account.source == "evalstats.toml"
    assert account.digest == FULL.digest
    declared = dict(account.declared)
    assert declared["margin"] == "2pp"
    assert declared["reason for the margin"] == WHY
    assert declared["clusters"] == "passage, user"
    assert account.departures == ("Departs from the plan: margin 5pp given, 2pp declared",)
    assert json.loads(json.dumps(json_safe(account)))["declared"][0] == ["baseline", "v1"]
    assert plan_account(Plan()).declared == ()


# --- aliases ---


def test_models_are_renamed_in_every_table() -> None:
    outcome = {
        "run": "r", "model": "gpt-x-0613", "system": "gpt-x-0613", "benchmark": "b", "item": "q", "metric": "m",
        "status": "unscored",
    }  # fmt: skip
    other = {**outcome, "model": "other", "system": "other (react)", "item": "p"}
    battle = {"run": "r", "battle": "1", "model_a": "gpt-x-0613", "model_b": "other", "status": "unscored"}
    data = EvalData(
        outcomes=frame_from_rows([outcome, other], "outcomes"), comparisons=frame_from_rows([battle], "comparisons")
    )
    renamed = with_aliases(data, {"gpt-x-0613": "gpt-x"})
    assert renamed.outcomes["model"].to_list() == ["gpt-x", "other"]
    assert renamed.outcomes["system"].to_list() == ["gpt-x", "other (react)"]
    assert renamed.comparisons["model_a"].to_list() == ["gpt-x"]
    assert renamed.outcomes.drop("model", "system").equals(data.outcomes.drop("model", "system"))
    assert with_aliases(data, {}) is data
    assert isinstance(renamed.runs, pl.DataFrame)
