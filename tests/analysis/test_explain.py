"""Results explained: every method has words, the numbers are this result's, and what would change it is true."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evalstats import datasets
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.explaining.explain import add_explainer, explain, explain_text
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.method_texts import MethodText, add_method, known_methods, texts_for
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score
from evalstats.document.blocks import Bullets, Heading, Paragraph
from evalstats.document.markup import to_html, to_latex, to_markdown
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Margin, Plan
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


@pytest.fixture(scope="module")
def texts(results: dict[str, Comparison]) -> dict[str, str]:
    """Each explanation in one line."""
    return {name: in_one_line(result) for name, result in results.items()}


def in_one_line(result: object) -> str:
    return " ".join(explain_text(result, width=10_000).split())


# --- every method has words ---


def methods_of(result: Comparison) -> set[str]:
    rows = (
        *result.rows, *result.effects, *result.missing.rows, *result.groups, *result.costs,
        *result.baseline.rows, *result.candidate.rows,
    )  # fmt: skip
    margin = [result.at_margin.method] if result.at_margin else []
    return {result.method, result.baseline.method, result.candidate.method, *margin, *(row.method for row in rows)} - {
        ""
    }


def test_every_method_of_a_comparison_has_words(results: dict[str, Comparison]) -> None:
    names = {name for result in results.values() for name in methods_of(result)}
    # A sample of what must be among them, so that this test cannot pass on nothing.
    assert {"Tango score", "augmented t", "paired t", "sign-flip", "cluster sign-flip", "McNemar mid-p"} <= names
    assert len(names) >= 20
    assert not {name for name in names if not texts_for(name)}


def test_every_method_of_a_score_has_words() -> None:
    found = [
        score(right_or_wrong(), "a"), score(right_or_wrong(trials=3), "a"), score(right_or_wrong(trials=3), "a", pass_at=2),
        score(right_or_wrong(factors=LEVELS), "a", cluster="passage"), score(graded("continuous"), "a"),
        score(right_or_wrong(factors=LEVELS), "a", cluster=["passage", "user"]),
        score(graded("continuous", factors=LEVELS), "a", cluster="passage"),
    ]  # fmt: skip
    for each in found:
        assert isinstance(each, Score)
        for name in (each.method, *(row.method for row in each.rows)):
            assert texts_for(name), name
        assert "There is no description" not in explain_text(each)


@pytest.mark.parametrize("adjust", ["max-t", "holm", "bh", "by"])
@pytest.mark.parametrize("cluster", [None, "passage"])
def test_every_method_of_a_leaderboard_has_words(adjust: str, cluster: str | None) -> None:
    found = ranked({"a": 0.4, "b": 0.5, "c": 0.9}, adjust=adjust, cluster=cluster)
    names = {found.method, found.pairs_method, found.rank_method, *(row.method for row in found.rows)} - {""}
    assert names
    assert not {name for name in names if not texts_for(name)}
    assert "There is no description" not in explain_text(found)


def test_the_longest_name_counts() -> None:
    assert texts_for("augmented t on cluster means") != texts_for("augmented t")
    assert texts_for("cluster percentile bootstrap, exact law") != texts_for("percentile bootstrap, exact law")
    assert texts_for("studentised cluster bootstrap (CR2)")[0].what != texts_for("studentised bootstrap")[0].what
    assert [text.what for text in texts_for("paired t, Holm, Bonferroni intervals")] == [
        known_methods()[name].what for name in ("paired t", "Holm", "Bonferroni")
    ]
    assert texts_for("t") == (known_methods()["t"],)
    assert texts_for("astrology") == ()


@pytest.mark.parametrize("name", sorted(known_methods()))
def test_words_are_well_formed(name: str) -> None:
    text = known_methods()[name]
    assert 2 <= len(re.findall(r"[.!?](?: |$)", text.how)) <= 5
    assert text.how.endswith(".")
    assert text.what[0].islower() or text.what.startswith(("Wilson", "McNemar"))
    assert not text.what.endswith(".")
    assert not text.takes.endswith(".")
    for part in (text.what, text.how, text.takes):
        assert "—" not in part
        assert "  " not in part
        assert "!" not in part
    for source in text.sources:
        assert re.search(r"\d{4}", source), source


# --- how it reads ---


@pytest.mark.parametrize("name", CASES)
def test_an_explanation_is_whole(name: str, results: dict[str, Comparison]) -> None:
    blocks = explain(results[name])
    titles = [block.text for block in blocks if isinstance(block, Heading)]
    for title in ("What was asked", "How it was answered", "What the numbers mean", "What would change the conclusion"):
        if name == "few clusters" and title.endswith("conclusion"):
            continue  # nothing but other data would
        assert title in titles
    assert any(title.startswith("What the verdict means") for title in titles)
    for block in blocks:
        if isinstance(block, Bullets):
            sources = "doi" in "".join(block.items) or "19" in "".join(block.items)
            assert sources or all(item.endswith(".") for item in block.items)
        if isinstance(block, Paragraph):
            assert block.text.endswith(".")
    text = explain_text(results[name])
    assert max(map(len, text.splitlines())) <= 80
    for wrong in ("None", "nan", "{", "}", "..", " ,", "  ,", "—", "There is no description"):
        assert wrong not in text.replace("\n", " "), wrong
    for markup in (to_markdown(blocks), to_html(blocks), to_latex(blocks)):
        assert len(markup) > 1000
    json.dumps(text)


def test_the_sentences_are_not_the_same_for_every_result(texts: dict[str, str]) -> None:
    sentences = [set(re.split(r"(?<=\.) ", text)) for text in texts.values()]
    shared = set.intersection(*sentences)
    assert len(shared) <= 1, shared
    apart = [each for name, each in zip(texts, sentences, strict=True) if name != "costs"]  # the data of "tango" again
    for i, own in enumerate(apart):
        for other in apart[:i]:
            assert len(own & other) < 0.8 * len(own)


# --- what it says ---


def test_the_published_headline_explained(texts: dict[str, str]) -> None:
    text = texts["tenacious"]
    # 22 both right, 21 only trained: the published table.
    assert "22 of 43 items came out alike (22 right on both sides, 0 wrong on both)" in text
    assert "trained alone is right on 21, baseline alone on 0" in text
    assert "dimension (by which the variance is 6.7 times as large)" in text  # methods of the paper: 6.7, CR0
    assert "about 5 times in a million" in text  # p = 4.6e-6
    assert "it may be as small as 34.62 pp" in text


def test_the_clustered_headline_explained(texts: dict[str, str]) -> None:
    text = texts["tenacious by dimension"]
    assert "the variance is 7.9 times what independent items would give" in text  # CR2: 7.87
    assert "so the 43 items are worth about 5" in text  # 43 / 7.87
    assert "7 groups and 5.4 degrees of freedom" in text
    assert "p 0.250 against 0.070: the same answer at 5%" in text
    assert "from −5.56 to +100.00 pp" in text
    assert "not finding a difference is not finding none" in text


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        ("tango", "inconclusive", "b may be worse than a, as good, or better"),
        ("worse", "worse", "So b does worse than a on items like these"),
        ("equal clusters", "better", "So b does better than a"),
        ("tango at a margin", "equivalent", "is smaller than the one declared not to matter"),
        ("few items", "powerless", "This follows from the design"),
        ("few clusters", "invalid", "No statement about b and a follows from the numbers"),
    ],
)
def test_every_verdict_is_explained(
    name: str, verdict: str, words: str, results: dict[str, Comparison], texts: dict[str, str]
) -> None:
    assert results[name].verdict == verdict
    assert f"What the verdict means: {verdict}" in texts[name]
    assert words in texts[name]


def test_a_zero_difference_is_no_equality(texts: dict[str, str]) -> None:
    assert "The p-value is 1, as it is whenever the observed difference is zero" in texts["no difference"]
    assert "the two agree on all 40 items, so nothing tells them apart" in texts["no difference"]
    assert "alone got" not in texts["no difference"]


def test_lower_is_better_is_said() -> None:
    data = data_of(
        rows_of("a", draws(0.5, 50, 1)), rows_of("b", draws(0.5, 50, 2)), kind="binary", higher_is_better=False
    )
    assert "Lower correct is better. A number below zero is in favour of b." in in_one_line(compare(data, "a", "b"))


def test_missing_scores_are_explained_with_their_bounds(results: dict[str, Comparison], texts: dict[str, str]) -> None:
    text = texts["missing"]
    assert "40 items have a score on one side only" in text
    worst = next(row for row in results["missing"].missing.rows if (row.conf_low or 0) <= 0 <= (row.conf_high or 0))
    if results["missing"].verdict == "better":
        assert f"The missing scores: with {worst.note}" in text


def test_trials_are_no_items(texts: dict[str, str]) -> None:
    assert "The 360 scored trials (about 3.0 an item and side) are averaged within items" in texts["trials"]


def test_the_margin_is_explained(results: dict[str, Comparison], texts: dict[str, str]) -> None:
    result, text = results["tango at a margin"], texts["tango at a margin"]
    assert "Differences up to 3.00 pp were declared not to matter" in text
    least = max(abs(result.equivalence_low or 0), abs(result.equivalence_high or 0))
    assert f"with one of {100 * least:.2f} pp or less the two would not have been called equivalent" in text


def test_the_family_is_explained(texts: dict[str, str]) -> None:
    # Six users: 1 - .05/6 = 99.17%.
    assert "The 6 levels of user are one family: their intervals are at 99.17% each" in texts["continuous"]


def test_costs_are_explained(results: dict[str, Comparison], texts: dict[str, str]) -> None:
    row = next(row for row in results["costs"].costs if row.quantity == "cost_usd")
    assert f"Cost (US dollars): in total b takes {row.ratio:.2f} times what a takes" in texts["costs"]


def test_effect_sizes_are_explained(texts: dict[str, str]) -> None:
    # 18 and 13 items of 31 that one side alone got right: 18/13 = 1.38; (18 - 13)/60 = .083, half of it above one half.
    assert "Superiority 0.54, interval" in texts["tango"]
    assert "Odds ratio 1.38, interval [0.64, 3.07] (how many items go to the candidate alone" in texts["tango"]


def test_what_only_one_method_finds_is_told() -> None:
    # b, c = 10, 2: score p .0209, mid-p .0225, exact p .0386; 9, 2: .0348, .0386, .0654 (scipy binomtest).
    text = in_one_line(compare(table_of(30, 9, 2, 20), "a", "b"))
    assert "p 0.065 against 0.035: above 5% where the headline's is not" in text
    agreeing = in_one_line(compare(table_of(30, 10, 2, 20), "a", "b"))
    assert "p 0.039 against 0.021: the same answer at 5%" in agreeing


def test_looks_on_the_way_are_explained(texts: dict[str, str]) -> None:
    text = texts["looks"]
    assert "19 of 20 have the truth in the interval at every look" in text
    assert "at every look so far and to come" in text
    assert re.search(r"Tango score and the \d+ rows after it: they are for a single look", text)
    assert "either way, would turn up" not in text


def test_a_plan_is_told_with_its_departures() -> None:
    plan = Plan(source="evalstats.toml", margins=(Margin(value="2pp", reason="nobody notices less"),))
    text = in_one_line(compare(right_or_wrong(), "a", "b", plan=plan, margin="5pp"))
    assert "Declared beforehand in evalstats.toml: margin 2pp; reason for the margin nobody notices less." in text
    assert "Departs from the plan: margin 5pp given, 2pp declared." in text


def test_runs_that_were_made_otherwise_are_told() -> None:
    data = right_or_wrong()
    runs = data.runs.with_columns(temperature=pl.Series([0.0, 1.0]), judge=pl.Series(["j", "j"]))
    text = in_one_line(compare(replace(data, runs=runs), "a", "b"))
    assert (
        "to differ in nothing but the systems, and the temperature differs between the two sides (0 against 1)" in text
    )


def test_a_comparison_that_is_refused_explains_why_and_claims_nothing() -> None:
    data = right_or_wrong()
    runs = data.runs.with_columns(judge=pl.Series(["j1", "j2"]))
    result = compare(replace(data, runs=runs), "a", "b")
    assert result.verdict == "invalid"
    text = in_one_line(result)
    assert "The judge differs between the two sides (j1 against j2)" in text
    assert "No statement about b and a follows from the numbers" in text
    assert "would exclude zero" not in text


# --- what would change the conclusion is true ---


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


def test_more_data_are_asked_for_by_the_square_of_what_is_missing(results: dict[str, Comparison]) -> None:
    for result in results.values():
        found = re.search(r"More data: .*?, some ([\d,]+), would find it", in_one_line(result))
        if found is None or result.mde is None:
            continue
        units = result.n_clusters if result.clusters else result.n_items
        assert units is not None
        needed = units * (result.mde / abs(result.estimate or 1)) ** 2
        assert needed <= int(found[1].replace(",", "")) <= 1.11 * needed + 1


def test_swapping_the_sides_tells_the_same_story() -> None:
    data = table_of(30, 21, 4, 20)
    there, back = in_one_line(compare(data, "a", "b")), in_one_line(compare(data, "b", "a"))
    for count in re.findall(r"(\d+ of the \d+ items that b alone got right)", there):
        assert count in back
    assert "So b does better than a" in there
    assert "So a does worse than b" in back


# --- the registry ---


def test_other_kinds_of_results_can_join(monkeypatch: pytest.MonkeyPatch) -> None:
    from evalstats.analysis import method_texts
    from evalstats.analysis.explaining import explain as explaining

    monkeypatch.setattr(explaining, "_EXPLAINERS", dict(explaining._EXPLAINERS))
    monkeypatch.setattr(method_texts, "_TEXTS", dict(method_texts._TEXTS))
    with pytest.raises(InputError, match="a dict cannot be explained; results that can: Comparison, Score"):
        explain({})
    with pytest.raises(InputError, match="Comparison has an explanation already"):
        add_explainer(Comparison, lambda _: [])
    with pytest.raises(InputError, match="a text for the method 'Wilson' already"):
        add_method("Wilson", MethodText(what="x", how="X."))

    class Thing:
        pass

    add_explainer(Thing, lambda _: [Paragraph(text="A thing.")])
    assert explain_text(Thing()) == "A thing."
    add_method("a method of this test alone", MethodText(what="nothing", how="It does nothing."))
    assert texts_for("a method of this test alone")[0].how == "It does nothing."


# --- leaderboards ---


def ranked(rates: dict[str, float], **options: object) -> Leaderboard:
    rows = [rows_of(name, draws(rate, N, i), factors=LEVELS) for i, (name, rate) in enumerate(rates.items())]
    return leaderboard(data_of(*rows), **options)  # type: ignore[arg-type]


CLEAR = {"a": 0.4, "b": 0.5, "c": 0.95, "d": 0.6}


def test_a_rank_is_explained_by_who_is_above_and_below() -> None:
    result = ranked(CLEAR)
    text = in_one_line(result)
    top = result.rows[0]
    assert (top.name, top.ranks) == ("c", "1")
    assert "The rank of c is 1: of the other 3 models, none is shown to be better and 3 are shown to be worse" in text
    below = max(result.rows, key=lambda row: (row.rank_high or 0) - (row.rank_low or 0))
    n_open = (below.rank_high or 0) - (below.rank_low or 0)
    assert f"The rank of {below.name} is {below.ranks}" in text
    assert f"and {n_open} are left open" in text
    assert sum(row.rank_low == row.rank_high for row in result.rows) == int(re.search(r"(\d) of 4 ranks", text)[1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("adjust", "words"),
    [
        ("max-t", "even one of the separated pairs is a false alarm is at most 5%"),
        ("bh", "about 5% are expected not to be; that is a weaker promise"),
    ],
)
def test_the_promise_of_an_adjustment_is_its_own(adjust: str, words: str) -> None:
    assert words in in_one_line(ranked(CLEAR, adjust=adjust))


def test_the_weakest_claim_and_the_nearest_miss_are_named() -> None:
    result = ranked(CLEAR)
    text = in_one_line(result)
    apart = [pair for pair in result.pairs if pair.separated]
    missed = [pair for pair in result.pairs if not pair.separated]
    assert apart
    assert missed
    weakest = max(apart, key=lambda pair: pair.p_adjusted or 0)
    nearest = min(missed, key=lambda pair: pair.p_adjusted or 1)
    assert f"The weakest claim is {weakest.first} against {weakest.second}" in text
    assert f"The nearest miss is {nearest.first} against {nearest.second}" in text


def test_a_board_without_a_difference_claims_none() -> None:
    text = in_one_line(ranked({"a": 0.5, "b": 0.5, "c": 0.5}))
    assert "0 of 3 ranks are certain" in text
    assert "0 of 3 pairs can be told apart" in text
    assert "The weakest claim" not in text
    for wrong in ("None", "nan", "..", "—"):
        assert wrong not in text
