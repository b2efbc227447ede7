"""The preference for a side: one estimate, told once; its definition, what must not move it, and false alarms."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special, stats

import evalstats as es
from evalstats.analysis.arena.checks import side_words
from evalstats.analysis.arena.result import VoteCovariate
from evalstats.document.model import Section
from evalstats.errors import written

TYPE_I = 0.05


def _votes(
    seed: int = 0, *, n: int = 600, side: float = 0.0, better_on_a: float = 0.5, raters: int = 40, taste: float = 0.4
) -> pl.DataFrame:
    """Return votes on four models; of each pair the better one stands on side a with probability `better_on_a`."""
    rng = np.random.default_rng(seed)
    strengths = np.array([0.9, 0.3, 0.0, -0.6])
    pairs = np.sort(np.argsort(rng.random((n, 4)), axis=1)[:, :2], axis=1)
    turned = rng.random(n) >= better_on_a
    first, second = np.where(turned, pairs[:, 1], pairs[:, 0]), np.where(turned, pairs[:, 0], pairs[:, 1])
    rater = rng.integers(raters, size=n)
    liking = strengths + taste * rng.normal(size=(raters, 4))
    eta = liking[rater, first] - liking[rater, second] + side
    names = np.array(["elm", "fir", "oak", "yew"])
    return pl.DataFrame(
        {
            "model_a": names[first],
            "model_b": names[second],
            "outcome": np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-eta)), "a", "b"),
            "rater": [f"u{code}" for code in rater.tolist()],
        }
    )


def _turned(votes: pl.DataFrame) -> pl.DataFrame:
    return votes.with_columns(
        pl.col("model_b").alias("model_a"),
        pl.col("model_a").alias("model_b"),
        pl.col("outcome").replace({"a": "b", "b": "a"}),
    )


def _side(result: es.ArenaRanking) -> VoteCovariate:
    (side,) = (row for row in result.covariates if row.name == "side")
    return side


def _words(sections: tuple[Section, ...]) -> str:
    return " ".join(
        [section.heading for section in sections]
        + [block.text for section in sections for block in section.blocks if hasattr(block, "text")]
    )


# --- one estimate, told once ---


@pytest.mark.parametrize("seed", range(4))
def test_the_check_has_the_p_value_of_the_coefficient(seed: int) -> None:
    result = es.arena(_votes(seed, side=0.2))
    side, trust = _side(result), result.trust
    (line,) = (line for line in result.checks if line.check == "sides")
    assert trust is not None
    assert line.p_value == trust.side_p == side.p_value
    way = np.sign(side.estimate)
    low, high = sorted((way * side.conf_low, way * side.conf_high))
    expected = special.expit([way * side.estimate, low, high])
    assert [trust.side_share, trust.side_low, trust.side_high] == pytest.approx(expected)


@pytest.mark.parametrize("side", [0.3, 0.8])
def test_a_page_speaks_of_the_side_in_one_place_at_most(side: float) -> None:
    """With .3 the coefficient excludes 0 while the check, of many, passes: the page must not say both."""
    result = es.arena(_votes(1, side=side))
    assert _side(result).excludes_zero
    (line,) = (line for line in result.checks if line.check == "sides")
    headings = [section.heading for section in result.document().evidence]
    about = [heading for heading in headings if "side" in heading or "shown first" in heading]
    assert len(about) == (line.status == "warning")
    assert line.status == ("warning" if side > 0.5 else "ok")
    told = [note for note in result.document().notes if "side" in note.text]
    assert [written(note.remedy) for note in told] == ["Hold the side equal: side=True"] * len(about)


def test_a_side_that_is_held_equal_needs_no_caution() -> None:
    result = es.arena(_votes(1, side=0.8), side=True)
    assert _side(result).held
    assert not [note for note in result.document().notes if "side" in note.text]
    assert "the ratings hold the side equal" in _words(result.document().evidence)


def test_without_checks_the_coefficient_is_told() -> None:
    result = es.arena(_votes(1, side=0.8), checks=False)
    assert [section.heading for section in result.document().evidence if section.id == "style"] == [
        "Side a is preferred"
    ]


# --- what it is ---


def test_it_is_the_intercept_of_the_likelihood() -> None:
    votes = _votes(2, side=0.3)
    names = sorted(votes["model_a"].unique())
    design = np.stack(
        [np.ones(votes.height)]
        + [
            ((votes["model_a"] == name).cast(int) - (votes["model_b"] == name).cast(int)).to_numpy()
            for name in names[1:]
        ],
        axis=1,
    )
    won = (votes["outcome"] == "a").to_numpy()

    def minus_log_lik(beta: np.ndarray) -> float:
        eta = design @ beta
        return float(np.logaddexp(0.0, np.where(won, -eta, eta)).sum())

    by_hand = optimize.minimize(minus_log_lik, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x[0]
    assert _side(es.arena(votes, checks=False)).estimate == pytest.approx(by_hand, abs=1e-5)  # what BFGS promises


def test_turned_sides_turn_it() -> None:
    votes = _votes(3, side=0.5)
    one, other = (_side(es.arena(each, checks=False)) for each in (votes, _turned(votes)))
    assert other.estimate == pytest.approx(-one.estimate, abs=1e-8)
    assert other.p_value == pytest.approx(one.p_value, rel=1e-6)
    assert (side_words(one), side_words(other)) == ("side a", "side b")


def test_order_and_names_do_not_matter() -> None:
    votes = _votes(4, side=0.3)
    one = _side(es.arena(votes, checks=False))
    shuffled = _side(es.arena(votes.sample(fraction=1.0, shuffle=True, seed=9), checks=False))
    new = {"elm": "zeta", "fir": "beta", "oak": "alpha", "yew": "mu"}
    renamed = _side(es.arena(votes.with_columns(pl.col("model_a", "model_b").replace(new)), checks=False))
    for other in (shuffled, renamed):
        assert other.estimate == pytest.approx(one.estimate, abs=1e-8)
        assert other.p_value == pytest.approx(one.p_value, rel=1e-6)


def test_better_models_on_one_side_are_no_preference_for_it() -> None:
    """The better model stands on side a in 80% of votes, so that side a wins most, and nobody looks at the side."""
    votes = _votes(5, better_on_a=0.8, n=2_000)
    assert (votes["outcome"] == "a").mean() > 0.56
    result = es.arena(votes)
    (line,) = (line for line in result.checks if line.check == "sides")
    assert line.status == "ok"


def test_what_was_shown_first_is_named_where_it_is_known() -> None:
    votes = _votes(6, side=0.9)
    shown = votes.with_columns(order=pl.Series(["a_first", "b_first"] * 300))
    assert side_words(_side(es.arena(votes, checks=False))) == "side a"
    assert side_words(_side(es.arena(shown, checks=False))).startswith("the answer shown")


def test_merged_votes_give_the_same() -> None:
    votes = _votes(7, side=0.4)
    one, other = _side(es.arena(votes, checks=False)), _side(es.arena(votes.lazy(), checks=False))
    assert other.estimate == pytest.approx(one.estimate, abs=1e-7)
    assert other.std_error == pytest.approx(one.std_error, rel=1e-6)


def test_votes_that_all_go_to_one_side_are_told() -> None:
    votes = pl.DataFrame(
        {
            "model_a": ["x", "y"] * 20,
            "model_b": ["y", "x"] * 20,
            "outcome": ["a"] * 40,
            "rater": [f"u{k % 20}" for k in range(40)],
        }
    )
    result = es.arena(votes)
    (line,) = (line for line in result.checks if line.check == "sides")
    assert line.status == "warning"
    assert line.p_value == pytest.approx(2.0 * 0.5**20)
    assert line.finding.startswith("side a won every decided vote")
    assert not [row for row in result.covariates if row.name == "side"]


# --- false alarms ---


def _false_alarms(draws: int, **options: float) -> float:
    every = (_side(es.arena(_votes(1000 + k, **options), checks=False)) for k in range(draws))
    alarms = [side.p_value is not None and side.p_value <= TYPE_I for side in every]
    return float(np.mean(alarms))


def test_honest_votes_are_seldom_called_biased() -> None:
    """Few draws notice what alarms four times too often, as does a side that gets the credit of the better models on it."""
    n = 40
    assert n * _false_alarms(n, n=300, better_on_a=0.8) <= stats.binom.ppf(0.999, n, TYPE_I)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"n": 600},
        {"n": 600, "better_on_a": 0.8},
        {"n": 600, "raters": 12, "taste": 1.0},
        {"n": 2_000, "raters": 60, "taste": 0.8},
    ],
)
def test_honest_votes_are_called_biased_as_often_as_promised(options: dict[str, float]) -> None:
    n = 1_000
    assert n * _false_alarms(n, **options) <= stats.binom.ppf(0.999, n, TYPE_I)
