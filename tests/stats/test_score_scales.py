"""Which scores cannot be of one scale, and which value is a code: against what is known, and by simulation."""

import numpy as np
import pytest
from scipy.stats import betabinom, norm

from evalstats.stats.score_scales import (
    Spread,
    _ceiling,
    _conflict,
    _is_percent_like,
    _is_rating_beside_percent,
    expected_above,
    lone_code,
    single_numbers_conflict,
    spread_of,
    two_scales,
)

RNG = np.random.default_rng(20)
N = 120


def sure(first, second, **options) -> str | None:
    found = two_scales({"a": spread_of(first), "b": spread_of(second)}, **options)
    return None if found is None else found[2]


def beta(low: float, high: float, n: int = N) -> np.ndarray:
    return low + (high - low) * RNG.beta(3, 2, n)


TWO = {
    "shares and percentages": (beta(0, 1), beta(0, 100)),
    "few of each": ([0.4, 0.9, 0.0], [41.0, 88.5, 0.0]),
    "right or wrong and percentages": (RNG.integers(0, 2, N), beta(0, 100).round()),
    "right or wrong and 0 or 100": (RNG.integers(0, 2, N), 100 * RNG.integers(0, 2, N)),
    "shares and ratings": (beta(0, 1), RNG.integers(1, 11, N)),
    "right or wrong and ratings": (RNG.integers(0, 2, N) | RNG.integers(0, 2, N), RNG.integers(1, 6, N)),
    "1 to 5 and 1 to 10": (RNG.integers(1, 6, N), RNG.integers(1, 11, N)),
    "1 to 5 at the ceiling and 1 to 10": (np.repeat([5, 4, 3], [105, 10, 5]), RNG.integers(1, 11, N)),
    "0 to 5 in halves and 0 to 10": (RNG.integers(0, 11, N) / 2, RNG.integers(0, 11, N)),
    "1 to 5 and percentages": (RNG.choice([3, 4, 5], N), beta(20, 100)),
    "right or wrong and ratings that are seldom 1": (
        np.repeat([0, 1], [30, 90]),
        np.repeat([1, 2, 3, 5], [9, 31, 50, 30]),
    ),
    "a code hides nothing": (np.r_[beta(0, 1), -1], beta(0, 100)),
}
ONE = {
    "all zeros": (np.zeros(N), beta(0, 100)),
    "shares that reach 1": (beta(0, 1), beta(0, 1)),
    "right or wrong and shares": (RNG.integers(0, 2, N), beta(0, 1)),
    "ratings, one model never gives the highest": (RNG.choice([1, 2, 3], N, p=[0.6, 0.3, 0.1]), RNG.integers(1, 6, N)),
    "small counts": (RNG.poisson(0.3, N).clip(0, 1), RNG.poisson(2.5, N)),
    "rewards": (RNG.normal(0.4, 0.1, N).clip(-1, 1), RNG.normal(0, 3, N)),
    "log probabilities": (-RNG.exponential(1, N), -RNG.exponential(9, N)),
    "amounts that overlap below 1": (RNG.uniform(0.1, 0.9, N), RNG.exponential(2, N)),
    "a weak model on 0 to 100": (RNG.choice([0, 0, 3, 8, 15], N), beta(0, 100).round()),
    "a favourite value in the middle": (RNG.choice([1, 2, 3, 5], N, p=[0.3, 0.3, 0.15, 0.25]), RNG.integers(1, 11, N)),
    "seldom right, and counts that are seldom 1": (
        np.repeat([0, 1], [90, 30]),
        np.repeat([1, 2, 3, 5], [9, 31, 50, 30]),
    ),
    "too few to tell": ([1, 2, 5, 4], [7, 10, 3, 8]),
}


@pytest.mark.parametrize("name", TWO)
def test_two_scales_are_certain_in_either_order(name: str) -> None:
    first, second = TWO[name]
    assert sure(first, second) == "certain"
    assert sure(second, first) == "certain"


@pytest.mark.parametrize("name", ONE)
def test_what_may_be_one_scale_is_let_pass(name: str) -> None:
    first, second = ONE[name]
    assert sure(first, second) in {None, "likely"}


def test_a_metric_without_a_top_says_nothing() -> None:
    assert sure(*TWO["shares and percentages"], has_top=False) is None


def test_ten_times_the_scores_is_no_other_answer() -> None:
    first, second = TWO["1 to 5 and 1 to 10"]
    assert sure(np.tile(first, 10), np.tile(second, 10)) == "certain"


@pytest.mark.parametrize("n", [40, 120, 500])
def test_models_on_one_scale_of_ratings_are_hardly_ever_refused(n: int) -> None:
    """Ratings from 1 to 10 by 100 kinds of model, against a strong one: refused in well under 1% of tables."""
    rng = np.random.default_rng(n)
    steps = np.arange(1, 10) + 0.5
    normals = [
        np.diff(np.r_[0, norm.cdf((steps - m) / s), 1]) for m in np.arange(1, 9, 0.8) for s in (0.8, 1, 1.5, 2.5)
    ]
    skewed = [betabinom.pmf(np.arange(10), 9, a, b) for a in (0.5, 1, 2, 4) for b in (2, 4, 8, 16)]
    strong = spread_of(rng.integers(5, 11, 50))
    n_refused = n_tables = 0
    for law in (*normals, *skewed):
        for counts in rng.multinomial(n, law, size=6):
            scores = spread_of(np.repeat(np.arange(1, 11), counts))
            n_tables += 1
            n_refused += (two_scales({"a": scores, "b": strong}) or ("", "", ""))[2] == "certain"
    assert n_refused / n_tables <= 0.005


def test_scores_expected_above_the_highest_written_out() -> None:
    counts = np.array([2, 5, 9, 12])
    scores = spread_of(np.repeat([1, 2, 3, 4], counts))
    values = np.repeat([1.0, 2.0, 3.0, 4.0], counts)
    by_normal = 28 * norm.sf(4.5, values.mean(), values.std())
    by_course = 12 * min(12 / 9, 1) * np.exp(-1 / values.var())
    assert expected_above(scores) == pytest.approx(max(by_normal, by_course), rel=1e-9)
    valley = spread_of(np.repeat([1, 2, 3, 4, 5], [4, 9, 9, 2, 20]))
    assert expected_above(valley) == expected_above(spread_of(np.full(30, 4.0))) == 0.0


@pytest.mark.parametrize(
    ("values", "counts", "code"),
    [
        ([-1, 1, 2, 9, 10], [2, 9, 9, 9, 9], -1),
        ([-1, 0.2, 0.4, 1], [1, 9, 9, 9], -1),
        ([-1, 0, 1], [1, 40, 59], -1),
        ([-1, 0, 1], [20, 40, 40], None),
        ([-1, -0.5, 0.5, 1], [1, 9, 9, 9], None),
        ([-99, 1, 5], [1, 9, 9], -99),
        ([-100, 1, 5], [1, 9, 9], -100),
        ([-120, 1, 5], [1, 9, 9], None),
        ([-999, 10, 95.5], [3, 99, 99], -999),
        ([-2, 0, 1, 2], [1, 9, 9, 9], None),
        ([-8.1, -3.0, -0.1], [1, 1, 1], None),
        ([0, 1, 2, 3, 99], [9, 9, 9, 9, 2], 99),
        ([0, 40, 100, 999], [9, 9, 9, 2], 999),
        ([0, 40, 100], [9, 9, 9], None),
        ([0, 40, 50, 99], [9, 9, 9, 2], None),
        ([0, 1, 2, 10], [1, 9, 9, 9], None),
        ([0, 1, 2, 50], [9, 9, 9, 1], None),
        ([1, 2, 3, 4, 5, 99], [1, 1, 1, 1, 1, 90], None),
    ],
)
def test_codes_stand_alone_and_are_rare(values: list[float], counts: list[int], code: float | None) -> None:
    assert lone_code(values, counts) == code


@pytest.mark.parametrize(
    ("numbers", "conflict"),
    [
        ([0.81, 62, 75], True),
        ([0.81, 0.62, 0.75], False),
        ([62, 75, 90], False),
        ([0.6, 3, 16, 53], False),
        ([0.0, 62, 75], False),
        ([0.81, 1.5, 62, 75], False),
        ([0.9, 1250, 1300], False),
        ([0.02, 62, 75], False),
    ],
)
def test_published_shares_among_percentages(numbers: list[float], conflict: bool) -> None:
    assert single_numbers_conflict(numbers) is conflict


def rated(values: list[float], counts: list[int]) -> Spread:
    return Spread(values=np.array(values, dtype=float), counts=np.array(counts, dtype=float))


def test_shares_above_are_counted() -> None:
    found = rated([0, 0.5, 1, 40], [3, 2, 5, 10])
    assert [found.share_above(value) for value in (-1, 0, 0.5, 1, 40)] == [1.0, 0.85, 0.75, 0.5, 0.0]
    assert found.share_of_unit() == 7 / 17
    assert rated([0], [3]).share_of_unit() == 0.0


@pytest.mark.parametrize(
    ("values", "counts", "percent"),
    [
        ([0, 5], [5, 5], True),
        ([0, 4.5], [5, 5], False),
        ([0, 5], [5, 4], False),
        ([1, 5], [5, 5], False),
        ([0, 1, 5], [5, 5, 5], False),
        ([0, 3, 10], [5, 5, 5], False),
        ([0, 3, 10.5], [5, 5, 5], True),
    ],
)
def test_all_or_nothing_in_another_unit_is_like_percentages(
    values: list[float], counts: list[int], percent: bool
) -> None:
    """Two values, 0 and 5 or more, of ten scores or more; or anything above 10."""
    assert _is_percent_like(rated(values, counts)) == percent


@pytest.mark.parametrize(
    ("group", "beyond", "answer"),
    [
        (([3, 4, 5], [4, 3, 3]), ([4, 60, 90], [1, 5, 4]), True),
        (([3, 4, 5], [3, 3, 3]), ([4, 60, 90], [1, 5, 4]), False),  # nine ratings
        (([4, 5], [6, 6]), ([4, 60, 90], [1, 5, 4]), False),  # two values
        (([0, 4, 5], [1, 6, 6]), ([4, 60, 90], [1, 5, 4]), False),  # not from 1
        (([2, 3, 5], [8, 1, 3]), ([4, 60, 90], [1, 5, 4]), False),  # mean 2.8, below the middle of 1 to 5
        (([1, 3, 5], [4, 4, 4]), ([4, 60, 90], [1, 5, 4]), False),  # mean 3, in the middle
        (([3, 4, 5], [4, 3, 3]), ([4, 20], [1, 9]), True),
        (([3, 4, 5], [4, 3, 3]), ([4, 19.5], [1, 9]), False),
        (([3, 4, 5], [4, 3, 3]), ([4, 60, 90], [2, 5, 4]), False),  # 2 of 11 are no higher than ratings
    ],
)
def test_ratings_beside_percentages(
    group: tuple[list[float], list[int]], beyond: tuple[list[float], list[int]], answer: bool
) -> None:
    assert _is_rating_beside_percent(rated(*group), rated(*beyond)) == answer


def test_a_dip_of_half_the_counts_is_no_valley() -> None:
    def expected(before: int) -> float:
        return expected_above(spread_of(np.repeat([1, 2, 3, 4, 5], [4, 8, 8, before, 20])))

    assert expected(4) > 0.0
    assert expected(3) == 0.0


@pytest.mark.parametrize(
    ("values", "counts", "code"),
    [
        ([-1, 1], [1, 99], None),
        ([0, 99], [99, 1], None),
        ([0, 1, 2, 3, 99], [4, 4, 4, 4, 4], 99),  # one row in five
        ([0, 1, 2, 3, 99], [4, 4, 4, 3, 4], None),
        ([-1, 2, 3], [1, 2, 2], -1),
        ([-1, 2, 3], [2, 3, 4], None),
        ([-1, 0, 1], [1, 10, 9], -1),  # one in twenty beside losses
        ([-1, 0, 1], [2, 19, 18], None),
        ([-9, 0, 9], [1, 9, 9], -9),
        ([-9, 0, 10], [1, 9, 9], None),
        ([-10, 0, 10], [1, 9, 9], -10),
        ([-1000, 0, 10], [1, 9, 9], -1000),
        ([-1001, 0, 10], [1, 9, 9], None),
        ([-99.5, 0, 10], [1, 9, 9], None),
        ([-98, 0, 10], [1, 9, 9], None),
        ([-66, 0, 10], [1, 9, 9], None),
        ([0, 1, 33, 99], [9, 9, 9, 2], 99),  # twice as far off as the others are apart
        ([0, 1, 34, 99], [9, 9, 9, 2], None),
        ([0, 1, 9], [9, 9, 2], None),
        ([0, 0.25, 88], [9, 9, 2], 88),
        ([0, 1, 2, 1000], [9, 9, 9, 2], None),
        ([*range(25), 999], [9] * 25 + [2], 999),
        ([*range(26), 999], [9] * 26 + [2], None),
        ([-5, -4, 0, 1, 99], [9, 9, 9, 9, 2], None),
    ],
)
def test_codes_at_the_edges_of_what_one_is(values: list[float], counts: list[int], code: float | None) -> None:
    assert lone_code(values, counts) == code


@pytest.mark.parametrize(
    ("numbers", "conflict"),
    [
        ([0.1, 10, 12], True),
        ([0.099, 9.9, 12], False),
        ([np.nan, 0.81, 62, 75], True),
        ([np.inf, 0.81, 62, 75], True),
        ([-0.1, 0.81, 62, 75], False),
        ([0.81, 62, 101], False),
        ([0.48, 60, 75], True),  # 48 is 0.8 times the least percentage
        ([0.47, 60, 75], False),
        ([0.9, 60, 75], True),  # 90 is 1.2 times the largest
        ([0.91, 60, 75], False),
        ([1.0, 60, 99], True),
        ([np.nan], False),
    ],
)
def test_published_numbers_at_the_edges(numbers: list[float], conflict: bool) -> None:
    assert single_numbers_conflict(numbers) == conflict


@pytest.mark.parametrize(
    ("group", "beyond", "answer"),
    [
        (([0.2, 0.9], [5, 5]), ([0, 40], [1, 9]), "certain"),
        (([0.2, 0.9], [5, 5]), ([0, 1, 40], [5, 1, 9]), "certain"),  # 1 of 10 above 0 lies within 1
        (([0.2, 0.9], [5, 5]), ([0, 1, 40], [5, 2, 9]), None),  # 2 of 11 do
        (([0, 1], [5, 5]), ([0, 3], [1, 9]), None),
        (([0, 1], [10, 10]), ([1, 2, 5], [1, 14, 5]), "certain"),  # right or wrong beside ratings from 1
        (([0, 1], [11, 9]), ([1, 2, 5], [1, 14, 5]), None),  # less than half right
        (([0, 1], [9, 10]), ([1, 2, 5], [1, 14, 5]), None),  # 19 scores
        (([0, 1], [10, 10]), ([1, 2, 5], [1, 14, 4]), None),
        (([0, 1], [10, 10]), ([0, 2, 5], [1, 14, 5]), None),  # a zero
        (([0, 1], [10, 10]), ([1, 2, 4.5], [1, 14, 5]), None),
        (([1], [20]), ([1, 2, 5], [1, 14, 5]), None),
    ],
)
def test_shares_and_right_or_wrong_beside_what_goes_beyond_1(
    group: tuple[list[float], list[int]], beyond: tuple[list[float], list[int]], answer: str | None
) -> None:
    assert _conflict(rated(*group), rated(*beyond), 0.0) == answer


@pytest.mark.parametrize(
    ("expected", "n", "beyond", "answer"),
    [
        (8.0, 10, [4, 6], "certain"),
        (7.9, 10, [4, 6], "likely"),
        (8.0, 9, [4, 6], "likely"),
        (2.0, 4, [4, 6], "likely"),
        (1.9, 10, [4, 6], None),
        (8.0, 3, [4, 6], None),
        (8.0, 10, [3, 6], None),  # nine scores
        (8.0, 10, [9, 1], "certain"),
        (8.0, 10, [10, 1], None),  # fewer than a tenth above
    ],
)
def test_a_ceiling_needs_expected_scores_above_it_and_others_there(
    expected: float, n: int, beyond: list[int], answer: str | None
) -> None:
    assert _ceiling(rated([1, 2, 3], [n, n, n]), rated([3, 5], beyond), expected) == answer
    assert _ceiling(rated([2, 3], [3 * n, 3 * n]), rated([3, 5], beyond), expected) is None
    # Right or wrong has two values.
    assert _ceiling(rated([0, 1], [2 * n, n]), rated([1, 5], beyond), expected) == answer
