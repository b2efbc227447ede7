"""What is said of a comparison: short, whole, the same in every form, and what would change the answer is true."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats import datasets, read_plan
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.document import formats, terminal
from evalstats.document.model import Figure
from evalstats.schema.data import EvalData
from evalstats.stats.paired.binary import PairedCounts, tango
from tests.analysis.builders import data_of, rows_of

N = 60
LEVELS = {"passage": [f"p{i // 5}" for i in range(N)], "user": [f"u{i % 6}" for i in range(N)]}
FEW = {"third": [str(i // 20) for i in range(N)]}


def draws(p: float, n: int, seed: int) -> list[float]:
    return (np.random.default_rng(seed).random(n) < p).astype(float).tolist()


def right_or_wrong(p: float = 0.5, q: float = 0.55, n: int = N, **options: object) -> EvalData:
    trials = int(options.get("trials", 1))  # type: ignore[call-overload]
    first, second = (rows_of(name, draws(rate, n * trials, seed), **options)  # type: ignore[arg-type]
                     for name, rate, seed in (("a", p, 1), ("b", q, 2)))  # fmt: skip
    return data_of(first, second)


def graded(kind: str, **options: object) -> EvalData:
    rng = np.random.default_rng(3)
    first, second = rng.random(N), np.clip(rng.random(N) + 0.1, 0, 1)
    bounds = {"low": 0.0, "high": 1.0} if kind == "bounded" else {}
    sides = (rows_of(name, each.tolist(), **options) for name, each in (("a", first), ("b", second)))  # type: ignore[arg-type]
    return data_of(*sides, kind=kind, **bounds)


def table_of(both: int, only_b: int, only_a: int, neither: int) -> EvalData:
    """Right-or-wrong scores with the given counts of pairs."""
    first = [1.0] * both + [0.0] * only_b + [1.0] * only_a + [0.0] * neither
    second = [1.0] * both + [1.0] * only_b + [0.0] * only_a + [0.0] * neither
    return data_of(rows_of("a", first), rows_of("b", second))


def with_costs(data: EvalData) -> EvalData:
    rng = np.random.default_rng(4)
    n = data.outcomes.height
    return replace(
        data,
        outcomes=data.outcomes.with_columns(
            cost_usd=pl.Series(rng.lognormal(0, 0.3, n)), latency_s=pl.Series(rng.lognormal(1, 0.2, n))
        ),
    )


CASES: dict[str, Callable[[], Comparison]] = {
    "tango": lambda: compare(right_or_wrong(), "a", "b"),
    "tango at a margin": lambda: compare(table_of(378, 2, 3, 17), "a", "b", margin="3pp"),
    "trials": lambda: compare(right_or_wrong(trials=3), "a", "b", margin="5pp"),
    "pass^k": lambda: compare(right_or_wrong(trials=3), "a", "b", pass_hat=2),
    "bounded": lambda: compare(graded("bounded"), "a", "b"),
    "continuous": lambda: compare(graded("continuous", factors=LEVELS), "a", "b", by="user"),
    "clusters": lambda: compare(right_or_wrong(factors=LEVELS), "a", "b", cluster="passage", margin="5pp"),
    "continuous clusters": lambda: compare(graded("continuous", factors=LEVELS), "a", "b", cluster="passage"),
    "crossed clusters": lambda: compare(right_or_wrong(factors=LEVELS), "a", "b", cluster=["passage", "user"]),
    "few clusters": lambda: compare(right_or_wrong(factors=FEW), "a", "b", cluster="third"),
    "equal clusters": lambda: compare(
        data_of(rows_of("a", [0.0] * N, factors=LEVELS), rows_of("b", [1.0] * N, factors=LEVELS)), "a", "b",
        cluster="passage",
    ),
    "asked for": lambda: compare(graded("bounded"), "a", "b", method="augmented-t"),
    "missing": lambda: compare(
        data_of(rows_of("a", draws(0.5, 100, 1)), rows_of("b", [*draws(0.7, 60, 2), *[None] * 40])), "a", "b"
    ),
    "few items": lambda: compare(table_of(1, 2, 0, 0), "a", "b"),
    "no difference": lambda: compare(table_of(20, 0, 0, 20), "a", "b"),
    "worse": lambda: compare(table_of(20, 2, 30, 20), "a", "b"),
    "tenacious": lambda: compare(datasets.tenacious_held_out(), "baseline", "trained"),
    "tenacious by dimension": lambda: compare(
        datasets.tenacious_held_out(), "baseline", "trained", cluster="dimension"
    ),
    "costs": lambda: compare(with_costs(right_or_wrong()), "a", "b"),
    "looks": lambda: compare(right_or_wrong(0.5, 0.7, n=300), "a", "b", sequential=True),
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, Comparison]:
    return {name: make() for name, make in CASES.items()}


def in_one_line(result: Comparison) -> str:
    return " ".join(result.explain().split())


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_short_and_every_form_is_whole(name: str, results: dict[str, Comparison]) -> None:
    result = results[name]
    document = result.document()
    shown = terminal.to_text(document, hint="More: --full")
    assert len(shown.splitlines()) <= 20
    assert max(map(len, shown.splitlines())) <= 80
    assert len(document.headline.split()) <= 24
    full = terminal.to_text(document, full=True)
    for text in (full, result.explain(), result.to_markdown(), result.to_html(), result.to_latex(), repr(result)):
        for wrong in ("None", "nan", "..,", " ,", "—"):
            assert wrong not in text.replace("\n", " "), wrong
    assert "scores" in document.tables or result.verdict == "invalid"


def test_every_figure_can_be_drawn(results: dict[str, Comparison]) -> None:
    """One of each."""
    made = {figure.id: (result, figure) for result in results.values() for figure in result.document().figures.values()}
    assert len(made) >= 3
    for result, figure in made.values():
        assert isinstance(figure, Figure)
        result.figure(figure.id, size=6)


@pytest.mark.parametrize(
    ("name", "verdict", "phrase"),
    [
        ("tenacious", "inconclusive", "on these 43 items; whether it does on other dimensions is open"),
        ("worse", "worse", "b is worse than a"),
        ("tango at a margin", "equivalent", "differ by less than the margin of 3 pp"),
        ("few items", "powerless", "too few to tell b and a apart"),
        ("no difference", "inconclusive", "b is not shown to differ from a"),
        ("few clusters", "invalid", "b and a cannot be compared: 3 clusters are too few"),
        ("missing", "inconclusive", "b is not shown to be better than a: too many scores are missing"),
    ],
)
def test_the_headline_answers_the_title(name: str, verdict: str, phrase: str, results: dict[str, Comparison]) -> None:
    document = results[name].document()
    assert document.label == results[name].verdict == verdict
    assert phrase in document.headline


def test_the_cautions_are_of_their_kind(results: dict[str, Comparison]) -> None:
    kinds = {name: {note.kind for note in result.document().cautions} for name, result in results.items()}
    assert "dependence" in kinds["tenacious"]
    assert "missing" in kinds["missing"] or "comparability" in kinds["missing"]
    assert kinds["tango"] == set()


def test_no_model_s_name_makes_data_simulated() -> None:
    names = {"a": "simulated: annealer", "b": "Departs from the plan"}
    data = right_or_wrong()
    told = data.outcomes.with_columns(pl.col("model", "system").replace(names))
    result = compare(replace(data, outcomes=told), *names.values())
    assert result.document().banners == ()
    assert not any(note.kind == "plan" for note in result.notes)


def test_simulated_runs_are_the_banner() -> None:
    data = right_or_wrong()
    made = replace(data, runs=data.runs.with_columns(simulated=pl.lit("invented by hand")))
    document = compare(made, "a", "b").document()
    (banner,) = document.banners
    assert banner.text == "The data are simulated: invented by hand"
    assert terminal.headline(document).startswith(banner.line)


def test_a_refused_comparison_says_in_what_runs_differ_and_claims_nothing() -> None:
    data = right_or_wrong()
    judged = replace(data, runs=data.runs.with_columns(judge=pl.col("run")))
    result = compare(judged, "a", "b")
    document = result.document()
    assert result.verdict == "invalid"
    assert "they differ in judge" in document.headline
    assert document.number == document.number_words == ""
    assert document.evidence == document.answer == ()
    assert document.cautions[0].line.endswith("Run both sides alike, or declare what is meant: accept=['judge'].")


def test_a_plan_is_told_with_its_departures(tmp_path: Path) -> None:
    file = tmp_path / "evalstats.toml"
    file.write_text('[plan]\n[[margins]]\nvalue = "2pp"\nreason = "users do not notice less"\n')
    result = compare(datasets.tenacious_held_out(), "baseline", "trained", plan=read_plan(file), margin="5pp")
    assert result.notes[0].kind == "plan"
    assert "margin 5pp given, 2pp declared" in result.document().cautions[0].line
    plan = result.origin.plan
    assert plan is not None
    assert plan.digest[:12] in terminal.to_text(result.document(), full=True)
    assert str(tmp_path) not in result.explain()


def test_the_flipped_items_are_all_in_the_data(results: dict[str, Comparison]) -> None:
    table = results["worse"].document().tables["flips"]
    assert len(table.frame["item"]) == len(results["worse"].flipped) == 32
    assert len(table.rows) == 12


def test_the_margin_the_costs_and_the_other_levels_are_told(results: dict[str, Comparison]) -> None:
    assert results["tango at a margin"].document().section("margin") is not None
    assert results["costs"].document().section("costs") is not None
    section = results["tenacious"].document().section("dependence")
    assert section is not None
    assert section.heading == "On other dimensions the answer is open"


def test_the_frame_has_a_row_for_every_method_and_group() -> None:
    result = compare(datasets.tenacious_held_out(), "baseline", "trained", by="dimension")
    frame = result.to_frame()
    assert frame.filter(pl.col("term") == "difference").height == len(result.rows)
    assert frame.filter(pl.col("term").str.starts_with("dimension=")).height == 7
    assert pl.read_csv(io.StringIO(frame.write_csv())).height == frame.height


@pytest.mark.parametrize("only_b", [8, 12, 21, 40])
@pytest.mark.parametrize("only_a", [0, 3])
def test_answers_that_would_undo_a_finding_are_counted_right(only_b: int, only_a: int) -> None:
    both, neither = 30, 20
    text = in_one_line(compare(table_of(both, only_b, only_a, neither), "a", "b"))

    def low(k: int) -> float:
        found = tango(PairedCounts(both, only_b - k, only_a + k, neither))
        assert found.conf_low is not None
        return found.conf_low

    if low(0) <= 0:
        assert "would reach zero" not in text
        return
    least = next(k for k in range(only_b + 1) if low(k) <= 0)
    assert f"{least} of the {only_b} items that b alone got right: had a alone got" in text


@pytest.mark.parametrize(("only_b", "only_a"), [(10, 6), (6, 10), (3, 2), (8, 3)])
def test_answers_that_would_make_a_finding_are_counted_right(only_b: int, only_a: int) -> None:
    both, neither = 10, 10
    text = in_one_line(compare(table_of(both, only_b, only_a, neither), "a", "b"))
    leader = "b" if only_b > only_a else "a"
    ahead, behind = max(only_b, only_a), min(only_b, only_a)

    def low(k: int) -> float:
        wrong = min(k, neither)
        found = tango(PairedCounts(both - (k - wrong), ahead + k, behind, neither - wrong))
        assert found.conf_low is not None
        return found.conf_low

    least = next(k for k in range(1, 21) if low(k) > 0)
    assert f"{least} of the 20 items that came out alike: had {leader} alone got" in text


def test_what_five_clusters_lack_is_clusters() -> None:
    """More items of the same five could not let the p of a cluster sign-flip fall below 2/32."""
    first, second = [0.0, 0.0, 0.0, 1.0] * 15, [1.0, 1.0, 0.0, 1.0] * 15
    topics = [{"topic": f"t{k % 5}"} for k in range(60)]
    sides = (
        [row | topic for row, topic in zip(rows_of(name, scores), topics, strict=True)]
        for name, scores in (("a", first), ("b", second))
    )
    result = compare(data_of(*sides), "a", "b", cluster="topic")
    assert (result.verdict, result.smallest_p) == ("powerless", 2 / 32)
    assert "Collect items of more topics before you look again" in " ".join(
        terminal.to_text(result.document(), full=True).split()
    )


def test_no_p_stands_beside_powerless_that_claims_what_no_outcome_could_show() -> None:
    """Four graded items: t alone finds p < 0.001 where a sign-flip cannot go below 2/16."""
    first, second = [0.1, 0.2, 0.3, 0.15], [0.5, 0.61, 0.69, 0.56]
    data = data_of(rows_of("a", first), rows_of("b", second), kind="bounded", low=0.0, high=1.0)
    result = compare(data, "a", "b")
    assert (result.verdict, result.smallest_p) == ("powerless", 0.125)
    assert (result.p_value or 1.0) < 0.001
    said = terminal.to_text(result.document(), full=False)
    assert "p < 0.001" not in said
    assert "the p of a sign-flip could not go below 0.125" in " ".join(said.split())


@pytest.mark.parametrize(
    ("rates", "margin", "said"),
    [
        ((0.3, 0.7), "5pp", "the gain exceeds the margin of 5 pp"),
        ((0.3, 0.7), "45pp", "the gain may be within the margin of 45 pp"),
        ((0.7, 0.3), "5pp", "the loss exceeds the margin of 5 pp"),
        ((0.5, 0.36), "12pp", "a loss beyond the margin of 12 pp is not excluded"),
    ],
)
def test_a_margin_that_decides_nothing_is_set_beside_the_interval(
    rates: tuple[float, float], margin: str, said: str
) -> None:
    rng = np.random.default_rng(4)
    n = 300
    data = data_of(*(rows_of(m, (rng.random(n) < p).astype(float).tolist()) for m, p in zip("ab", rates, strict=True)))
    assert said in compare(data, "a", "b", margin=margin).document().scope


def test_the_judges_of_both_sides_are_names() -> None:
    first, second = rows_of("a", draws(0.5, N, 1)), rows_of("b", draws(0.5, N, 2))
    rows = data_of(first, second)
    judge = pl.when(pl.col("model") == "a").then(pl.lit("gpt-4o")).otherwise(pl.lit("claude-3"))
    data = replace(rows, outcomes=rows.outcomes.with_columns(judge=judge))
    assert "(`gpt-4o` against `claude-3`)" in formats.to_markdown(compare(data, "a", "b").document())


def test_what_weakens_a_comparison_is_said_once() -> None:
    sides = (rows_of(name, draws(0.5, N, seed)) for name, seed in (("a", 1), ("b", 2)))
    data = data_of(*(rows[start : start + 40] for rows, start in zip(sides, (0, 20), strict=True)))
    assert compare(data, "a", "b").explain().count("hold different items") == 1


def test_a_level_that_is_shown_to_lose_is_named_first() -> None:
    """A release is held up by the one task that broke, which the average over all hides."""
    levels = [f"t{i:02}" for i in range(10) for _ in range(20)]
    first = [float(i % 2) for i in range(200)]
    second = [0.0 if level == "t09" else score for level, score in zip(levels, first, strict=True)]
    second[:6] = [1.0] * 6
    sides = (rows_of(name, scores, factors={"chapter": levels}) for name, scores in (("a", first), ("b", second)))
    result = compare(data_of(*sides), "a", "b", by="chapter", cluster="none")
    assert (result.verdict, [row.level for row in result.groups if row.verdict == "worse"]) == ("inconclusive", ["t09"])
    document = result.document()
    headline = "b is not shown to differ from a; by chapter it is worse in t09"
    assert document.headline == headline
    assert result.summary().startswith(f"{headline}. ")
    [answer] = [block for block in document.answer if isinstance(block, Figure)]
    assert answer.table is not None
    assert [row[0] for row in answer.table.rows] == ["t09", "t00", *(f"t0{i}" for i in range(1, 9))]
    few = compare(right_or_wrong(factors=FEW), "a", "b", by="third").document()
    assert few.headline == "b is not shown to differ from a"
