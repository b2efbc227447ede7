"""Parts of one evaluation of a linear mixed model against plain matrices; the whole is in `test_linear.py`."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed import linear_elimination
from evalstats.stats.mixed.design import RandomTerm, check_levels, semidefinite_factor
from evalstats.stats.mixed.linear import LinearCriterion, _FixedPart, _reduce, _words, boundary, canonical
from evalstats.stats.mixed.linear_elimination import Scaling, invert_blocks, invert_lower, slot_products
from evalstats.stats.mixed.linear_stages import Rest, Slot
from tests.stats.mixed.dense import rows_design, term

ALGEBRA = 1e-10


def positive_definite(rng, *shape):
    root = rng.normal(size=(*shape, shape[-1]))
    return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])


@pytest.mark.parametrize("size", [1, 2, 3, 23, 24, 30])
def test_blocks_are_inverted_one_by_one(size):
    blocks = positive_definite(np.random.default_rng(size), 2, 3, size)
    inverse, logdets = invert_blocks(blocks)
    assert logdets.shape == (2, 3)
    for block, found, logdet in zip(
        blocks.reshape(6, size, size), inverse.reshape(6, size, size), logdets.flat, strict=True
    ):
        assert found == pytest.approx(np.linalg.inv(block), abs=ALGEBRA)
        assert logdet == pytest.approx(np.linalg.slogdet(block)[1])
    if size > 1:
        blocks[1, 2] -= 2.0 * np.linalg.eigvalsh(blocks[1, 2])[0] * np.eye(size)
        with pytest.raises(CannotAnswerError, match="not positive definite"):
            invert_blocks(blocks)


def test_an_inverse_of_a_triangle_is_one():
    lower = np.tril(positive_definite(np.random.default_rng(0), 5))
    assert invert_lower(lower) @ lower == pytest.approx(np.eye(5), abs=ALGEBRA)
    assert invert_lower(np.zeros((0, 0))).shape == (0, 0)


def slots_and_factors(rng, columns):
    """Terms with so many columns each, two places for the first, three for the second and so on, then two more positions."""
    slots, factors, start = [], [], 0
    for k, n in enumerate(columns):
        slots.append(Slot(term=k, start=start, n_places=k + 2, n_columns=n, place=np.zeros(0, dtype=np.int64)))
        factors.append(np.tril(rng.normal(size=(n, n))))
        start = slots[-1].stop
    blocks = [np.kron(np.eye(slot.n_places), factor) for slot, factor in zip(slots, factors, strict=True)]
    return slots, factors, linalg.block_diag(*blocks, np.eye(2))


@pytest.mark.parametrize("columns", [(1,), (1, 1), (2,), (1, 3), (2, 1, 2)])
def test_scaling_is_a_product_with_the_block_diagonal_factor(columns):
    rng = np.random.default_rng(len(columns))
    slots, factors, whole = slots_and_factors(rng, columns)
    size = len(whole)
    scaling, array = Scaling.of(size, slots, factors), rng.normal(size=(3, size, size))
    assert scaling.right(array) == pytest.approx(array @ whole)
    assert scaling.left(array) == pytest.approx(whole.T @ array)
    assert scaling.both(array) == pytest.approx(whole.T @ array @ whole)
    assert scaling.transposed().right(array) == pytest.approx(array @ whole.T)
    assert scaling.transposed().both(array) == pytest.approx(whole @ array @ whole.T)


@pytest.mark.parametrize("columns", [(1, 1), (2, 3)])
def test_products_of_a_slot_are_summed_over_its_levels(columns):
    rng = np.random.default_rng(7)
    slots, _, whole = slots_and_factors(rng, columns)
    left, right = rng.normal(size=(2, 4, len(whole), 5))
    for slot in slots:
        expected = np.zeros((slot.n_columns, slot.n_columns))
        for level in range(slot.n_places):
            for i in range(slot.n_columns):
                for j in range(slot.n_columns):
                    at = slot.start + level * slot.n_columns
                    expected[i, j] += (left[:, at + i] * right[:, at + j]).sum()
        assert slot_products(left, right, slot) == pytest.approx(expected)


def test_what_is_left_is_laid_flat_and_back():
    rng = np.random.default_rng(1)
    one, other = (
        Rest(rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 4))) for _ in range(2)
    )
    for found, part in zip(one.like(one.flat()), one, strict=True):
        np.testing.assert_array_equal(found, part)

    def whole(rest):
        """Both components' matrices, with their middle parts beside R."""
        across = np.vstack(rest.mr)
        return np.block([[linalg.block_diag(*rest.mm), across], [across.T, rest.rr]])

    assert one.flat(doubled=True) @ other.flat() == pytest.approx((whole(one) * whole(other)).sum())


def flat(arrays):
    return np.concatenate([array.ravel() for array in arrays])


@pytest.mark.parametrize("slopes", [False, True])
def test_equal_blocks_together_or_each_alone_give_the_same(slopes, monkeypatch):
    """Items with equal rows are one block counted several times; the criterion, its slope and a new response agree."""
    rng = np.random.default_rng(3)
    item, model = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    kept = (item % 3 > 0) | (model > 0)
    item, model = item[kept], model[kept]
    columns = [("(Intercept)", np.ones(len(item))), ("x", model - 1.0)] if slopes else []
    terms = [term("item", item, *columns), term("scenario", item % 4), term("model:scenario", model * 4 + item % 4)]
    design = rows_design(
        [("(Intercept)", np.ones(len(item))), ("m", model == 1)], terms, rng.normal(size=len(item)) + item % 4
    )
    theta = rng.normal(size=design.n_theta)
    found = []
    for cheaper_at, grouped in ((1e9, True), (0.0, False)):
        monkeypatch.setattr(linear_elimination, "_CHEAPER_AT", cheaper_at)
        criterion = LinearCriterion(design)
        assert (criterion._core._inner.grouped is not None) == grouped
        values = [criterion.deviance(theta), *criterion.gradient(theta), *flat(criterion.effects(theta))]
        criterion.set_response(np.arange(float(len(item))) % 5, 0.7)
        values += [criterion.deviance(theta), *criterion.gradient(theta), *criterion.at(theta).beta]
        found.append(values)
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-9)


def test_levels_seen():
    groups = term("g", np.arange(6))
    with pytest.raises(InputError, match="'g' has one level"):
        check_levels(groups, 1)
    for seen, warned in ((2, True), (4, True), (5, False)):
        assert [f"g has only {seen} levels" in each for each in check_levels(groups, seen)] == [True] * warned


def test_the_fixed_part_is_turned_and_turned_back():
    """Least squares, coefficients and covariances of the columns as given; |X'NX| is |R|^2 times that of the turned ones."""
    rng = np.random.default_rng(4)
    count = rng.integers(1, 4, 20).astype(float)
    for p in (1, 3):
        x = rng.normal(size=(20, p)) * 10.0 ** np.arange(p)
        design = rows_design(
            [(f"x{j}", x[:, j]) for j in range(p)], [term("g", np.arange(20) // 4)], rng.normal(size=20)
        )
        for work in (2e7, 0.0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("evalstats.stats.mixed.linear._QR_WORK", work)
                part, weighted = _FixedPart(design), _FixedPart(replace(design, count=count))
            for found, n in ((part, np.ones(20)), (weighted, count)):
                information = x.T @ (n[:, None] * x)
                beta = np.linalg.solve(information, x.T @ (n * design.response))
                assert found.back_inverse @ found.fit(design.response) == pytest.approx(beta, rel=1e-8)
                columns = found.rows.of_cell.at_cells(found.rows.rows)
                turned = columns.T @ (n[:, None] * columns)
                covariance = found.back_inverse @ np.linalg.inv(turned) @ found.back_inverse.T
                assert covariance == pytest.approx(np.linalg.inv(information), rel=1e-7)
                assert found.logdet + np.linalg.slogdet(turned)[1] == pytest.approx(np.linalg.slogdet(information)[1])


def slopes_term(n_columns, n=40):
    x = np.random.default_rng(5).normal(size=(n, n_columns))
    x[:, 0] = 1.0
    names = ("(Intercept)", "x", "z")[:n_columns]
    level = (np.arange(n) % 8).astype(np.int64)
    return RandomTerm(group="g", columns=names, levels=tuple("abcdefgh"), level=level, values=x)


def test_a_direction_of_small_variance_is_left_out_and_the_others_stay():
    """Small against one level's rows (a thousandth) or against the largest; in the metric of what effects do to rows."""
    t, count = slopes_term(2), np.full(40, 2.0)
    scale = np.sqrt(count @ t.values**2 / 8)
    turned = np.array([[0.8, -0.6], [0.6, 0.8]])
    for values, rank in (((2.0, 0.5), 2), ((2.0, 5e-4), 1), ((2.0, 0.0), 1), ((5e-4, 1e-4), 0), ((2e3, 0.1), 1)):
        covariance = turned @ np.diag(values) @ turned.T / np.outer(scale, scale)
        factor = np.linalg.cholesky(covariance + 1e-18 * np.eye(2))
        reduced, found = _reduce(t, factor, count)
        assert found == rank
        large = np.diag([value if k < rank else 0.0 for k, value in enumerate(values)])
        expected = turned @ large @ turned.T / np.outer(scale, scale)
        assert reduced @ reduced.T == pytest.approx(expected if rank < 2 else covariance, abs=1e-9)
        assert np.all(np.diag(reduced) >= 0.0)
        assert reduced[0, 1] == 0.0


@pytest.mark.parametrize(
    ("factor", "rank", "said"),
    [
        ([[0.0]], 0, ["the variance of g is estimated as 0"]),
        ([[0.0, 0.0], [0.0, 0.5]], 1, ["the variance of (Intercept) by g is estimated as 0"]),
        ([[0.5, 0.0], [0.2, 0.0]], 1, ["the correlation of (Intercept) and x by g is estimated as 1"]),
        ([[0.5, 0.0], [-0.2, 0.0]], 1, ["the correlation of (Intercept) and x by g is estimated as -1"]),
        ([[0.0] * 3, [0.0, 0.5, 0.0], [0.0, -0.3, 0.0]], 1, [
            "the variance of (Intercept) by g is estimated as 0", "the correlation of x and z by g is estimated as -1",
        ]),
        ([[0.5, 0.0, 0.0], [0.2, 0.3, 0.0], [0.1, 0.4, 0.0]], 2, [
            "the covariance matrix of the effects of g is estimated with rank 2 of 3"
        ]),
        ([[0.0] * 3, [0.0, 0.5, 0.0], [0.0, 0.2, 0.3]], 2, ["the variance of (Intercept) by g is estimated as 0"]),
    ],
)  # fmt: skip
def test_what_lies_on_the_boundary_is_said(factor, rank, said):
    assert _words(slopes_term(len(factor)), np.array(factor), rank) == said


def test_the_boundary_is_taken_where_the_deviance_does_not_rise():
    """A variance of next to nothing goes to 0 where 0 is no worse; one that the data ask for stays."""
    group, other = np.repeat(np.arange(10), 6), np.tile(np.arange(6), 10)
    for spread, words in ((0.0, ("the variance of g is estimated as 0",)), (3.0, ())):
        y = np.random.default_rng(6).permutation(60) / 20 + spread * group
        y = y - (spread == 0.0) * np.array([y[group == g].mean() for g in range(10)])[group]
        design = rows_design([("(Intercept)", np.ones(60))], [term("h", other), term("g", group)], y)
        theta, found = boundary(LinearCriterion(design), np.array([0.5, 0.01]))
        assert theta.tolist() == [0.5, 0.0 if words else 0.01]
        assert found == words


def test_a_canonical_factor_has_the_same_covariance_and_a_diagonal_above_0():
    t = slopes_term(3)
    design = rows_design([("(Intercept)", np.ones(40))], [t, term("h", np.arange(40) % 5)], np.arange(40.0))
    theta = np.array([-1.0, 0.5, -0.2, 0.7, 0.3, -0.4, -0.6])
    found = canonical(design, theta)
    for before, after in zip(design.factors(theta), design.factors(found), strict=True):
        assert after @ after.T == pytest.approx(before @ before.T)
        assert np.all(np.diag(after) > 0.0)
    assert found.tolist() == [1.0, -0.5, 0.2, 0.7, 0.3, 0.4, 0.6]
    assert not np.signbit(canonical(design, -0.0 * theta)).any()


def test_a_factor_of_a_singular_covariance():
    rng = np.random.default_rng(8)
    for rank in (0, 1, 2, 3):
        loads = rng.normal(size=(3, rank))
        covariance = loads @ loads.T
        factor = semidefinite_factor(covariance, 1e-12 * np.diag(covariance))
        assert factor @ factor.T == pytest.approx(covariance, abs=1e-9)
        assert np.array_equal(factor, np.tril(factor))
        assert np.all(np.diag(factor) >= 0.0)
    least = np.array([0.0, 0.5, 0.0])
    assert semidefinite_factor(np.diag([1.0, 0.5, 4.0]), least) == pytest.approx(np.diag([1.0, 0.0, 2.0]))
