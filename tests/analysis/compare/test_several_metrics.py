"""Several metrics in one comparison: each as it is alone at Bonferroni's level, in its own unit and direction."""

from collections.abc import Sequence
from functools import cache
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare import figures
from evalstats.analysis.compare.gate import each_gate, gate_of
from evalstats.cli.gate import junit_xml
from evalstats.document import formats, terminal
from evalstats.document.model import Figure, Note, Tabs
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.plan import Margin
from evalstats.testing import assert_not_worse
from tests.analysis.builders import data_of, printed, rows_of

METRICS = ("correct", "cost", "latency_s")
UNITS = {"cost": "USD", "latency_s": "s"}


def frame(n: int = 150, *, right: float = 0.18, dearer: float = 2.0, seed: int = 0) -> pl.DataFrame:
    """Two models on the same items: `new` is right more often by `right`, and costs `dearer` times as much."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        [
            {
                "item": f"q{i:03d}",
                "model": model,
                "topic": "abcdefghij"[i % 10],
                "correct": int(rng.random() < share),
                "cost": float(0.02 * price * rng.lognormal(0, 0.3)),
                "latency_s": float(3 * rng.lognormal(0, 0.5)),
            }
            for model, share, price in (("old", 0.5, 1.0), ("new", 0.5 + right, dearer))
            for i in range(n)
        ]
    )


def data(
    table: pl.DataFrame | None = None, scores: Sequence[str] = ("correct", "cost:lower", "latency_s:lower")
) -> es.EvalData:
    return es.from_frame(
        frame() if table is None else table,
        item="item",
        model="model",
        score=list(scores),
        metrics={name: {"unit": unit} for name, unit in UNITS.items() if any(each.startswith(name) for each in scores)},
    )


@pytest.fixture(scope="module")
def found() -> es.Comparisons:
    return es.compare(data(), "old", "new", metric=METRICS)


@cache
def by_itself(name: str, cluster: str | None) -> es.Comparison:
    return es.compare(data(), "old", "new", metric=name, cluster=cluster)


@pytest.mark.parametrize(("cluster", "level"), [(None, 0.95), ("topic", 0.9)])
def test_each_metric_is_the_comparison_alone_at_the_level_of_bonferroni(cluster: str | None, level: float) -> None:
    several = es.compare(data(), "old", "new", metric=METRICS, cluster=cluster, conf_level=level)
    assert several.conf_level == level
    for name in METRICS:
        row = several.row(name)
        plain = by_itself(name, cluster)
        alone = es.compare(data(), "old", "new", metric=name, cluster=cluster, conf_level=1 - (1 - level) / 3)
        assert row.estimate == plain.estimate
        assert row.p_value == plain.p_value
        assert (row.conf_low, row.conf_high, row.verdict) == (alone.conf_low, alone.conf_high, alone.verdict)
        assert row.p_adjusted == min(1.0, 3 * (plain.p_value or 0.0))
        # The interval and the adjusted p beside it say the same.
        assert row.excludes_zero == ((row.p_adjusted or 0.0) <= 1 - level)


def test_every_metric_keeps_its_unit_and_its_direction(found: es.Comparisons) -> None:
    assert [(row.unit, row.scale, row.higher_is_better) for row in found.rows] == [
        ("pp", 100.0, True),
        ("USD", 1.0, False),
        ("s", 1.0, False),
    ]
    assert [row.verdict for row in found.rows] == ["better", "worse", "inconclusive"]
    assert (found.row("cost").estimate or 0.0) > 0
    document = found.document()
    assert (document.label, document.tone) == ("trade-off", "caution")
    assert document.headline == "new is better than old in correct and worse in cost; not shown to differ in latency_s"
    # No number is of all metrics together.
    assert document.number == ""


def test_swapped_sides_flip_every_sign(found: es.Comparisons) -> None:
    swapped = es.compare(data(), "new", "old", metric=METRICS)
    for row, back in zip(found.rows, swapped.rows, strict=True):
        assert back.estimate == pytest.approx(-(row.estimate or 0.0))
        assert back.conf_low == pytest.approx(-(row.conf_high or 0.0))
        assert back.p_adjusted == pytest.approx(row.p_adjusted)
    assert [row.verdict for row in swapped.rows] == ["worse", "better", "inconclusive"]


def test_the_order_of_rows_and_of_metrics_moves_nothing(found: es.Comparisons) -> None:
    shuffled = es.compare(data(frame().sample(fraction=1, shuffle=True, seed=1)), "old", "new", metric=METRICS[::-1])
    assert shuffled.metrics == METRICS[::-1]
    for name in METRICS:
        one, other = found.row(name), shuffled.row(name)
        assert (one.estimate, one.conf_low, one.p_adjusted) == pytest.approx(
            (other.estimate, other.conf_low, other.p_adjusted)
        )


def test_the_order_of_a_family_is_never_that_of_the_rows() -> None:
    wide = frame(40).select("item", "model", "latency_s", "correct")
    long = wide.with_columns(pl.col("correct").cast(pl.Float64)).unpivot(
        index=["item", "model"], variable_name="metric", value_name="score"
    )
    for seed in range(3):
        # Names in rows have no order, so the alphabet's counts; columns have one.
        rows = long.sample(fraction=1, shuffle=True, seed=seed)
        assert es.compare(es.from_frame(rows), "old", "new").metrics == ("correct", "latency_s")
        table = wide.sample(fraction=1, shuffle=True, seed=seed)
        assert es.compare(data(table, ["latency_s", "correct"]), "old", "new").metrics == ("latency_s", "correct")


def test_one_metric_in_a_list_is_a_family_of_one() -> None:
    several, alone = (es.compare(data(), "old", "new", metric=name) for name in (["cost"], "cost"))
    assert isinstance(several, es.Comparisons)
    assert isinstance(alone, es.Comparison)
    assert several.rows[0].conf_level == alone.conf_level == 0.95
    assert several.rows[0].ends == alone.ends
    assert "the interval is at 95%" in printed(several)


def test_it_is_saved_and_read_back_whole(found: es.Comparisons, tmp_path: Any) -> None:
    found.save(tmp_path / "r.json")
    back = es.load_result(tmp_path / "r.json")
    assert back == found
    assert back.document() == found.document()
    assert es.Comparisons.from_dict(found.to_dict()) == found
    with pytest.raises(InputError, match="no metric is compared"):
        es.Comparisons.from_dict({**found.to_dict(), "rows": []})


def test_the_frame_has_a_row_for_each_metric(found: es.Comparisons) -> None:
    rows = found.to_frame()
    assert rows["metric"].to_list() == list(METRICS)
    assert rows["estimate"].to_list() == [row.estimate for row in found.rows]
    assert rows["conf_level"].to_list() == pytest.approx([1 - 0.05 / 3] * 3)
    p = rows["p_value"].to_list()
    order = sorted(range(3), key=p.__getitem__)
    slow = [0.0] * 3
    for place, i in enumerate(order):
        slow[i] = max(min(1.0, (3 - place) * p[i]), *(slow[k] for k in order[:place]), 0.0)
    assert rows["p_holm"].to_list() == pytest.approx(slow)
    assert (rows["p_holm"] <= rows["p_adjusted"]).all()


def test_a_metric_without_an_interval_keeps_its_place() -> None:
    table = frame(60).with_columns(pl.when(pl.col("item") == "q000").then("latency_s").alias("latency_s"))
    several = es.compare(data(table), "old", "new", metric=METRICS)
    lone = several.row("latency_s")
    assert (lone.n_items, lone.conf_low, lone.p_adjusted) == (1, None, None)
    assert several.row("correct").p_adjusted == min(1.0, 3 * (several.row("correct").p_value or 0.0))
    assert several.to_frame()["p_holm"].to_list()[2] is None
    text = printed(several, full=False)
    assert "On the 1 to 60 items" in text
    assert "none" in text


# --- what is said ---


def test_the_adjustment_is_said_once_in_every_view(found: es.Comparisons) -> None:
    text = " ".join(printed(found, full=False).split())
    assert text.count("adjusted for 3 metrics") == 1
    assert "Nothing is averaged over metrics." in " ".join(printed(found).split())
    assert max(map(len, printed(found, full=False).splitlines())) <= 80
    document = found.document()
    assert "adjusted for 3 metrics" in formats.summary(document)
    assert terminal.headline(document).startswith("TRADE-OFF: new is better than old in correct")
    (tabs,) = [block for block in document.evidence[0].blocks if isinstance(block, Tabs)]
    assert [panel.heading for panel in tabs.panels] == [
        "correct",
        "cost (lower is better)",
        "latency_s (lower is better)",
    ]


def test_a_long_unit_stands_once_behind_the_name() -> None:
    told = data().with_metric("latency_s", unit="seconds of wall-clock time")
    row = es.compare(told, "old", "new", metric=["cost", "latency_s"]).document().tables["metrics"].written()[1]
    assert row[0] == "latency_s (seconds of wall-clock time, lower is better)"
    assert not any("seconds" in cell for cell in row[1:])


def test_the_figure_of_each_metric_is_that_of_the_comparison_alone(found: es.Comparisons) -> None:
    figures = found.document().figures
    assert list(figures) == ["metrics", "difference-m1", "difference-m2", "difference-m3"]
    alone = es.compare(data(), "old", "new", metric="cost", conf_level=1 - 0.05 / 3)
    assert figures["difference-m2"].rows == alone.document().figures["difference"].rows


def test_what_is_known_of_one_metric_names_it_and_of_all_stands_once(found: es.Comparisons) -> None:
    document = found.document()
    assert len([note for note in document.notes if "do not say how the runs were made" in note.text]) == 1
    assert document.scope.endswith("; higher is assumed better in correct")


def test_what_is_open_for_others_stands_in_the_headline_with_its_metric() -> None:
    table = pl.DataFrame(
        [
            {
                "item": i,
                "model": m,
                "topic": f"t{i // 10}",
                "a": float(m == "new" and i < 30),
                "b": float(m == "new" or i % 4 == 0),
            }
            for m in ("old", "new")
            for i in range(80)
        ]
    )
    found = es.compare(
        es.from_frame(table, item="item", model="model", score=["a", "b"]), "old", "new", metric=["a", "b"]
    )
    assert [row.verdict for row in found.rows] == ["inconclusive", "better"]
    assert found.document().headline == (
        "new is better than old in b; higher on these items, open on other topics, in a"
    )
    verdicts = found.document().tables["metrics"].written()
    assert [row[-1] for row in verdicts] == ["inconclusive", "better"]


@pytest.mark.parametrize(
    ("right", "dearer", "label"),
    [
        (0.3, 1.0, "better in 1 of 2"),
        (-0.3, 1.0, "worse in 1 of 2"),
        (-0.3, 2.0, "worse"),
        (0.3, 0.5, "better"),
        (0.0, 1.0, "inconclusive"),
    ],
)
def test_the_label_counts_and_never_averages(right: float, dearer: float, label: str) -> None:
    made = data(frame(right=right, dearer=dearer, seed=5))
    assert es.compare(made, "old", "new", metric=["correct", "cost"]).document().label == label


def test_runs_that_cannot_be_compared_are_refused_for_every_metric() -> None:
    whole = data()
    outcomes = whole.outcomes.with_columns(run=pl.col("model"))
    runs = pl.concat([whole.runs.head(1)] * 2).with_columns(run=pl.Series(["old", "new"]), n_shots=pl.Series([0, 5]))
    found = es.compare(
        es.EvalData(outcomes=outcomes, runs=runs, metrics=whole.metrics), "old", "new", metric=["correct", "cost"]
    )
    assert [row.verdict for row in found.rows] == ["invalid", "invalid"]
    assert found.document().headline == "new and old cannot be compared: they differ in number of worked examples"
    assert gate_of(found, "worse").passed is None


# --- where none is named ---


def test_without_a_headline_every_metric_is_asked(found: es.Comparisons) -> None:
    every = es.compare(data(), "old", "new")
    assert isinstance(every, es.Comparisons)
    assert every.rows == found.rows
    headed = es.compare(data(), "old", "new", plan=es.Plan(primary={"table": "cost"}, source="p"))
    assert isinstance(headed, es.Comparison)
    assert headed.metric == "cost"


def test_the_headline_of_a_plan_holds_for_a_suite() -> None:
    both = [frame().with_columns(benchmark=pl.lit(name)) for name in ("one", "two")]
    suite = es.from_frame(pl.concat(both), item="item", model="model", score=["correct", "cost:lower"])
    assert isinstance(es.compare(suite, "old", "new"), es.Comparisons)
    headed = es.compare(suite, "old", "new", plan=es.Plan(primary={"one": "correct", "two": "correct"}, source="p"))
    assert isinstance(headed, es.Comparison)
    assert headed.metric == "correct"


def test_what_one_side_alone_has_is_noted_and_not_asked() -> None:
    shared = [rows_of(model, [1, 0] * 20, metric=name) for model in ("old", "new") for name in ("acc", "f1")]
    more = rows_of("old", [2.0] * 40, metric="cost")
    every = es.compare(data_of(*shared, more), "old", "new")
    assert isinstance(every, es.Comparisons)
    assert every.metrics == ("acc", "f1")
    alone = es.compare(data_of(shared[0], shared[2], more), "old", "new")
    assert isinstance(alone, es.Comparison)
    assert alone.metric == "acc"
    for result in (every, alone):
        assert result.notes[0].text == "Not compared in cost: it is not on every side and task"


def test_of_a_suite_every_metric_of_all_tasks_is_asked() -> None:
    parts = [
        rows_of(model, [1, 0] * 20, metric=name, benchmark=task)
        for task in ("one", "two")
        for name in ("acc", "f1")
        for model in ("old", "new")
    ]
    every = es.compare(data_of(*parts, rows_of("new", [1.0] * 40, metric="bleu", benchmark="two")), "old", "new")
    assert isinstance(every, es.Comparisons)
    assert every.metrics == ("acc", "f1")
    assert every.to_frame()["benchmark"].to_list() == ["2 tasks", "2 tasks"]
    assert "Not compared in bleu" in every.notes[0].text


# --- what is refused ---


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": ["correct", "costs"]}, "no metric 'costs'"),
        ({"metric": ["correct", "correct"]}, "named twice"),
        ({"metric": []}, "is empty"),
        ({"by": "topic"}, "leave out by="),
        ({"sequential": True}, "leave out sequential="),
        ({"pass_hat": 2}, "leave out pass_hat="),
        ({"higher_is_better": True}, "direction of its own"),
        ({"margin": "2pp"}, "several units"),
        ({"margin": 0.1}, "several units"),
        ({"method": "tango"}, "metric 'cost': method 'tango'"),
    ],
)
def test_what_speaks_of_one_metric_is_refused_in_words(options: dict[str, Any], words: str) -> None:
    asked: dict[str, Any] = {"metric": ["correct", "cost"], **options}
    with pytest.raises(InputError, match=words):
        es.compare(data(), "old", "new", **asked)


def test_a_metric_that_one_side_lacks_is_named() -> None:
    made = data_of(rows_of("old", [1, 0] * 20), rows_of("new", [1, 1] * 20), rows_of("old", [2.0] * 40, metric="cost"))
    with pytest.raises(InputError, match="candidate 'new' has no 'cost'"):
        es.compare(made, "old", "new", metric=["correct", "cost"])


def test_a_metric_without_a_shared_item_is_named() -> None:
    parts = [rows_of(model, [1, 0] * 20) for model in ("old", "new")]
    apart = [
        rows_of(model, [1.5] * 5, metric="cost", items=[f"{model}{i}" for i in range(5)]) for model in ("old", "new")
    ]
    with pytest.raises(CannotAnswerError, match="metric 'cost'"):
        es.compare(data_of(*parts, *apart), "old", "new", metric=["correct", "cost"])


def test_a_test_of_ones_own_asserts_one_metric() -> None:
    several: list[dict[str, Any]] = [{"metric": ["correct", "cost"]}, {}]
    for asked in several:
        with pytest.raises(InputError, match=r"'correct', 'cost'.* an assertion for each metric"):
            assert_not_worse(data(), "old", "new", **asked)


def test_a_plan_is_made_of_one_of_the_metrics(found: es.Comparisons) -> None:
    with pytest.raises(InputError, match="choose one of 'correct', 'cost', 'latency_s' with metric="):
        es.power(pilot=data(), delta="5pp")
    with pytest.raises(InputError, match=r"such as pilot\.row\('correct'\)"):
        es.power(pilot=found, delta="5pp")
    assert isinstance(es.power(pilot=found.row("correct"), delta="10pp"), es.PowerPlan)


# --- margins and gates ---


def test_a_margin_serves_metrics_of_one_unit() -> None:
    rng = np.random.default_rng(2)
    rows = [
        {"item": i, "model": m, "a": int(rng.random() < 0.97), "b": int(rng.random() < 0.97)}
        for m in ("old", "new")
        for i in range(900)
    ]
    made = es.from_frame(pl.DataFrame(rows), item="item", model="model", score=["a", "b"])
    found = es.compare(made, "old", "new", metric=["a", "b"], margin="5pp")
    alone = es.compare(made, "old", "new", metric="a", margin="5pp", conf_level=0.975)
    assert found.row("a").at_margin == alone.at_margin
    assert found.row("a").equivalence_low == alone.equivalence_low
    assert found.document().label == "equivalent"
    assert gate_of(found, "not-noninferior").passed


def test_a_plan_declares_a_margin_for_each_metric() -> None:
    plan = es.Plan(
        margins=tuple(
            Margin(metric=name, value=value, reason="nobody notices")
            for name, value in (("correct", "30pp"), ("cost", 0.1))
        ),
        conf_level=0.9,
        families=("topic",),
        source="p",
    )
    found = es.compare(data(), "old", "new", metric=["correct", "cost"], plan=plan)
    assert [row.margin for row in found.rows] == [0.3, 0.1]
    assert found.conf_level == 0.9
    assert [row.conf_level for row in found.rows] == pytest.approx([0.95, 0.95])
    assert [row.groups for row in found.rows] == [(), ()]


def test_a_gate_passes_where_every_metric_does(found: es.Comparisons) -> None:
    assert not gate_of(found, "worse").passed
    assert gate_of(found, "worse").reason == "cost: new is worse: the 98.33% interval excludes 0"
    assert [each.passed for each in each_gate(found, "worse")] == [True, False, True]
    fine = es.compare(data(), "old", "new", metric=["correct", "latency_s"])
    assert gate_of(fine, "worse").passed
    assert gate_of(fine, "inconclusive").passed is False
    with pytest.raises(InputError, match="needs a margin for 'correct'"):
        gate_of(fine, "not-noninferior")


def test_a_direction_that_nobody_declares_is_no_answer() -> None:
    table = frame().rename({"cost": "elapsed_total"})
    made = es.from_frame(table, item="item", model="model", score=["correct", "elapsed_total"])
    found = es.compare(made, "old", "new", metric=["correct", "elapsed_total"])
    document = found.document()
    assert "higher in elapsed_total" in document.headline
    assert document.tables["metrics"].written()[1][-1] == "higher"
    drawn = figures.by_metric(found, document.tables["metrics"])
    assert isinstance(drawn, Figure)
    assert (str(drawn.rows["words"][1]).rpartition(", ")[2], drawn.rows["settled"][1]) == ("higher", True)
    shown = " ".join(printed(found, full=False).split())
    assert "higher is assumed better in correct." in shown
    assert "Nothing declares which way elapsed_total is better. Say which: " in shown
    assert "lower='elapsed_total' (or higher)" in shown
    gated = gate_of(found, "worse")
    assert gated.passed is None
    assert "evalstats.toml" in gated.reason


@pytest.mark.parametrize("rules", [(), ("worse",), ("worse", "inconclusive")])
def test_junit_has_a_case_for_each_metric(found: es.Comparisons, rules: tuple[str, ...]) -> None:
    suite = fromstring(junit_xml(found, gate_of(found, *rules) if rules else None)).find("testsuite")  # noqa: S314 - our own text
    assert suite is not None
    assert [case.get("name") for case in suite] == [f"new against old [{name}]" for name in METRICS]
    failed = [case.get("classname") for case in suite if case.find("failure") is not None]
    wanted: dict[tuple[str, ...], list[str]] = {
        (): [],
        ("worse",): ["table.cost"],
        ("worse", "inconclusive"): ["table.cost", "table.latency_s"],
    }
    assert failed == wanted[rules]


def test_a_note_that_is_added_stands_first(found: es.Comparisons) -> None:
    from dataclasses import replace

    told = Note(kind="simulated", text="made up")
    assert replace(found, notes=(told,)).document().banners == (told,)


# --- error rates ---


@pytest.mark.slow
def test_of_equal_sides_one_family_in_twenty_shows_anything() -> None:
    """Three independent metrics without a difference: any of them excludes 0 in at most 5% of 600 families."""
    shown = alone = 0
    for seed in range(600):
        found = es.compare(
            data(frame(60, right=0.0, dearer=1.0, seed=seed)), "old", "new", metric=METRICS, cluster="none"
        )
        shown += any(row.excludes_zero for row in found.rows)
        alone += any((row.p_value or 1.0) <= 0.05 for row in found.rows)
    # 5% of 600 is 30; 2.6 standard errors above it. Unadjusted it would be 14%.
    assert shown <= 44
    assert alone > 55


def test_a_column_that_could_be_a_metric_is_named_with_the_map_that_makes_it_one() -> None:
    rows = {"item": ["q1", "q1", "q2", "q2"], "model": ["a", "b"] * 2, "correct": [0, 1, 1, 1], "cost": [1.5, 2, 3, 1]}
    data = es.from_frame(rows, item="item", score="correct", model="model")
    with pytest.raises(InputError, match=r"column 'cost' is a metric too .* score=\['correct', 'cost'\]"):
        es.compare(data, "a", "b", metric="cost")
    with pytest.raises(InputError, match=r"the data have 'correct'$"):
        es.compare(data, "a", "b", metric="speed")


def test_the_figure_of_the_answer_has_a_row_for_each_metric() -> None:
    found = es.compare(data(), "old", "new", metric=METRICS)
    rows = found.figure_frame()
    assert rows["label"].to_list() == list(METRICS)
    # Unlike units share an axis of half-widths, on which every interval is two long and its own number stands in words.
    assert (rows["conf_high"] - rows["conf_low"]).to_list() == pytest.approx([2.0] * 3)
    assert rows["settled"].to_list() == [row.verdict in ("better", "worse") for row in found.rows]
    assert all(words.endswith(f", {row.verdict}") for row, words in zip(found.rows, rows["words"], strict=True))
    alike = es.compare(data(), "old", "new", metric=("cost", "latency_s")).figure_frame()
    assert alike["conf_high"].to_list() != pytest.approx([2.0] * 2)


def test_a_title_counts_metrics_that_it_has_no_room_for(found: es.Comparisons) -> None:
    assert "latency_s" in found.document().title
    table = frame().with_columns(second=pl.col("correct"))
    many = es.compare(
        es.from_frame(table, item="item", model="model", score=[*METRICS, "second"]),
        "old",
        "new",
        metric=[*METRICS, "second"],
    )
    assert "in 4 metrics?" in many.document().title
