"""All pairs of models on different users: against the pairs' own tests, the adjustment's definition, and by simulation."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evalstats.stats.many import independent
from evalstats.stats.many.independent import independent_differences
from evalstats.stats.unpaired import TwoProportions, clustered_difference, fisher_exact, miettinen_nurminen, welch

ROUNDING = 1e-12


def groups(k: int, *, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [(rng.random(60 + 40 * j) < 0.5 + 0.1 * j).astype(float) for j in range(k)]


@pytest.mark.parametrize("table", [(8, 10, 1, 5), (3, 3, 0, 3), (20, 200, 6, 20), (0, 4, 0, 9)])
def test_fishers_mid_p_by_its_definition(table: tuple[int, int, int, int]) -> None:
    a, m, b, n = table
    k = np.arange(max(0, a + b - n), min(a + b, m) + 1)
    chance = stats.hypergeom.pmf(k, m + n, a + b, m)
    seen = chance[k == a][0]
    alike = np.isclose(chance, seen, rtol=1e-9)
    expected = chance[chance < seen * (1 - 1e-9)].sum() + 0.5 * chance[alike].sum()
    found = fisher_exact(TwoProportions(baseline=a, n_baseline=m, candidate=b, n_candidate=n), mid=True)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["binary", "graded", "clustered"])
def test_every_pair_is_that_of_a_comparison_of_two(kind: str) -> None:
    values, pairs = groups(4), list(combinations(range(4), 2))
    if kind == "graded":
        values = [each + np.random.default_rng(3).normal(size=each.size) for each in values]
    codes = [100 * j + np.arange(each.size) // 4 for j, each in enumerate(values)] if kind == "clustered" else None
    found = independent_differences(values, pairs=pairs, clusters=codes, binary=kind == "binary")
    level, p = 1 - 0.05 / 6, list[float]()
    for k, (i, j) in enumerate(pairs):
        if codes is not None:
            own = clustered_difference(values[j], values[i], codes[j], codes[i], conf_level=level)
        elif kind == "graded":
            own = welch(values[j], values[i], conf_level=level)
            theirs = stats.ttest_ind(values[i], values[j], equal_var=False)
            assert own.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
        else:
            counts = TwoProportions(
                baseline=int(values[j].sum()), n_baseline=values[j].size,
                candidate=int(values[i].sum()), n_candidate=values[i].size,
            )  # fmt: skip
            own = miettinen_nurminen(counts, conf_level=level)
            p.append(max(own.p_value or 0, fisher_exact(counts, mid=True)))
        if kind != "binary":
            p.append(own.p_value or 0)
        ends = (found.conf_low[k], found.conf_high[k])
        assert (found.estimate[k], *ends) == pytest.approx((own.estimate, own.conf_low, own.conf_high), abs=ROUNDING)
        assert found.p_value[k] == own.p_value
    assert found.p_adjusted == pytest.approx(multipletests(p, method="holm")[1], abs=ROUNDING)
    assert found.adjust == "holm"


def test_swapping_two_models_turns_the_sign() -> None:
    values = groups(2)
    one, other = (independent_differences(values, pairs=[pair], binary=True) for pair in ((0, 1), (1, 0)))
    assert one.estimate == pytest.approx(-other.estimate)
    assert one.conf_low == pytest.approx(-other.conf_high, abs=1e-9)
    assert one.p_adjusted == pytest.approx(other.p_adjusted)


def test_other_adjustments_leave_intervals_as_they_are() -> None:
    values, pairs = groups(3), [(0, 1), (0, 2), (1, 2)]
    plain, screened = (
        independent_differences(values, pairs=pairs, binary=True, adjust=name) for name in ("none", "bh")
    )
    assert screened.conf_low == pytest.approx(plain.conf_low)
    assert (screened.p_adjusted >= plain.p_value - ROUNDING).all()
    assert independent_differences(values, pairs=pairs, binary=True, adjust="max-t").adjust == "holm"


# .05 and two and a half Monte Carlo standard errors of 2,000 tables.
LIMIT = 0.05 + 2.5 * 0.0049

# --- how often any pair of equal models is called different, at 5%: 2,000 tables a cell ---

CELLS = {
    "binary, 100 each": ("binary", 0.5, [100]),
    "binary, 90%, 60 to 400": ("binary", 0.9, [60, 120, 400]),
    "binary, 2%, 20 to 400": ("binary", 0.02, [20, 400, 100]),
    "graded, 40 to 120": ("graded", 0.0, [40, 80, 120]),
    "graded, skewed, 60 each": ("skewed", 0.0, [60]),
    "clustered, 20 users": ("clustered", 0.5, [20]),
    "clustered, 12 to 40 users": ("clustered", 0.8, [12, 40, 25]),
}


def drawn(kind: str, p: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of one model, and the users they come from."""
    if kind == "binary":
        return (rng.random(n) < p).astype(float), np.arange(n)
    if kind != "clustered":
        return rng.beta(5, 1, n) if kind == "skewed" else rng.normal(size=n), np.arange(n)
    rows = rng.geometric(0.25, n)
    users = np.repeat(np.arange(n), rows)
    odds = np.log(p / (1 - p)) + rng.normal(scale=1.0, size=n)
    return (rng.random(users.size) < 1 / (1 + np.exp(-odds[users]))).astype(float), users


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("cell", CELLS)
def test_the_family_wise_error(cell: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, p, sizes = CELLS[cell]
    # The same counts come again and again.
    monkeypatch.setattr(independent, "miettinen_nurminen", cache(miettinen_nurminen))
    monkeypatch.setattr(independent, "fisher_exact", cache(fisher_exact))
    rng, hits, tables = np.random.default_rng(k), 0, 2_000
    pairs = list(combinations(range(k), 2))
    for _ in range(tables):
        models = [drawn(kind, p, sizes[j % len(sizes)], rng) for j in range(k)]
        found = independent_differences(
            [values for values, _ in models],
            pairs=pairs,
            clusters=[1_000 * j + users for j, (_, users) in enumerate(models)] if kind == "clustered" else None,
            binary=kind == "binary",
        )
        # As `separated` of a leaderboard takes it: both p, and with clusters at least 4 degrees of freedom.
        few = found.df < 4 if kind == "clustered" else np.zeros(len(pairs), dtype=bool)
        hits += bool(((found.p_adjusted <= 0.05) & (found.p_value <= 0.05) & ~few).any())
    assert hits / tables <= LIMIT, f"{hits / tables:.4f}"
