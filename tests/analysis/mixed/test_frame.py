"""Tables as a mixed model sees them: columns against R, cells against rows, and what is said of bad input."""

import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.mixed.formula import parse_formula
from evalstats.analysis.mixed.frame import ModelFrame, code_columns, independent_columns, model_frame
from evalstats.analysis.mixed.mixed import mixed
from evalstats.analysis.mixed.table import Covariate, Factor, combinations
from evalstats.errors import CannotAnswerError, InputError

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "mixing.json").read_text())
# The matrices hold 0, 1 and products of the table's numbers, which R writes with 15 digits.
EXACT = 1e-12


def dropped(made: ModelFrame) -> tuple[str, ...]:
    return tuple(made.columns[at] for at in made.kept.dropped)


def r_name(name: str) -> str:
    return re.sub(r"\[([^]]*)\]", r"\1", name)


def r_columns() -> dict[str, Factor | Covariate]:
    columns: dict[str, Factor | Covariate] = {}
    for name, values in GOLDEN["table"].items():
        if isinstance(values[0], str):
            levels = sorted(set(values))
            codes = np.array([levels.index(v) for v in values], dtype=np.int64)
            columns[name] = Factor(name=name, levels=tuple(levels), codes=codes)
        else:
            columns[name] = Covariate(name=name, values=np.array(values, dtype=float))
    return columns


@pytest.mark.parametrize("case", GOLDEN["matrices"], ids=lambda case: case["formula"])
def test_fixed_columns_are_those_of_r(case) -> None:
    formula = parse_formula(f"y {case['formula']}")
    theirs = np.array(case["matrix"], dtype=float)
    ours = code_columns(formula.fixed, r_columns(), len(theirs), intercept=formula.intercept)
    if theirs.shape[1] == case["rank"]:
        # R orders the columns of a product by where they first stand in the formula, we as they stand in the product.
        at = {frozenset(name.split(":")): column for column, name in enumerate(case["names"])}
        order = [at[frozenset(r_name(name).split(":"))] for name in ours.names]
        assert sorted(order) == list(range(case["rank"]))
        np.testing.assert_allclose(ours.matrix, theirs[:, order], atol=EXACT)
        if case["formula"] != "~ b + a:b":
            assert order == list(range(case["rank"]))
    else:
        # R codes these with columns that are combinations of others; the space they span is what a model is.
        assert ours.matrix.shape[1] == case["rank"]
        at = {name: column for column, name in enumerate(case["names"])}
        for column, name in enumerate(ours.names):
            same = at.get(r_name(name))
            if same is not None:
                np.testing.assert_allclose(ours.matrix[:, column], theirs[:, same], atol=EXACT)
        fitted = ours.matrix @ np.linalg.lstsq(ours.matrix, theirs)[0]
        np.testing.assert_allclose(fitted, theirs, atol=1e-9)


@pytest.mark.parametrize("case", GOLDEN["dropped"], ids=lambda case: case["formula"])
def test_an_empty_cell_drops_what_lme4_drops(case) -> None:
    made = model_frame(GOLDEN["short"], case["formula"])
    assert [r_name(name) for name in made.design.fixed_names] == case["kept"]
    assert [r_name(name) for name in dropped(made)] == case["dropped"]
    assert any("a = q, b = v" in text for text in made.warnings)


def table(n: int = 400, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    item = rng.integers(0, 25, n)
    return pl.DataFrame(
        {
            "model": [f"m{k}" for k in rng.integers(0, 4, n)],
            "item": [f"i{k}" for k in item],
            "scenario": [f"s{k % 3}" for k in item],
            "length": (item % 5).astype(float),
            "score": rng.normal(size=n).round(3),
        }
    )


FULL = "score ~ model * scenario + length + (1 + length | item) + (0 + model | scenario) + (1 | item:model)"


def expanded(made: ModelFrame, frame: pl.DataFrame) -> tuple[np.ndarray, ...]:
    """Per row: fixed part, levels and slopes, made by looking up each row's cell by its values."""
    keys = made.cells.columns
    at = made.cells.with_row_index("cell")
    cell = frame.join(at, on=keys, how="left", maintain_order="left")["cell"].to_numpy()
    return cell, made.design.fixed.at(cell)


def test_merging_rows_to_cells_keeps_every_sum() -> None:
    frame = table()
    made = model_frame(frame, FULL)
    cell, fixed = expanded(made, frame)
    y = frame["score"].to_numpy()
    design = made.design
    assert design.n_rows == frame.height
    assert design.n_cells == frame.unique(["model", "item"]).height < frame.height
    # Against the rows themselves: counts, means, spread inside cells, and the cross products a fit is made from.
    np.testing.assert_array_equal(np.bincount(cell), design.count)
    np.testing.assert_allclose(fixed.T @ fixed, design.fixed.gram(design.count), rtol=1e-12)
    np.testing.assert_allclose(fixed.T @ y, design.fixed.sums(design.count * design.response), rtol=1e-9, atol=1e-9)
    total = design.within + float(design.count @ design.response**2)
    assert math.isclose(total, float(y @ y), rel_tol=1e-12)


def test_groupings_and_slopes_hold_the_values_of_their_rows() -> None:
    frame = table()
    made = model_frame(frame, FULL)
    cells = made.cells
    slope, by_model, nested = made.design.terms
    assert (slope.group, by_model.group, nested.group) == ("item", "scenario", "item:model")
    assert slope.columns == ("(Intercept)", "length")
    assert by_model.columns == ("model[m0]", "model[m1]", "model[m2]", "model[m3]")
    assert [slope.levels[k] for k in slope.level] == cells["item"].to_list()
    np.testing.assert_array_equal(slope.values[:, 1], cells["length"].to_numpy())
    np.testing.assert_array_equal(by_model.values.sum(axis=1), 1.0)
    assert [by_model.columns[k] for k in by_model.values.argmax(axis=1)] == [f"model[{m}]" for m in cells["model"]]
    assert [nested.levels[k] for k in nested.level] == [f"{i}:{m}" for i, m in cells.select("item", "model").rows()]
    assert nested.n_levels == frame.unique(["item", "model"]).height


def same_design(a: ModelFrame, b: ModelFrame) -> None:
    np.testing.assert_array_equal(a.design.fixed.at(), b.design.fixed.at())
    for name in ("count", "response"):
        np.testing.assert_array_equal(getattr(a.design, name), getattr(b.design, name))
    assert a.design.within == b.design.within
    assert a.design.log_constant == b.design.log_constant
    assert a.design.fixed_names == b.design.fixed_names
    for one, other in zip(a.design.terms, b.design.terms, strict=True):
        assert (one.group, one.columns, one.levels) == (other.group, other.columns, other.levels)
        np.testing.assert_array_equal(one.level, other.level)
        np.testing.assert_array_equal(one.values, other.values)
    assert a.warnings == b.warnings


def test_the_order_of_rows_leaves_no_trace() -> None:
    frame = table()
    same_design(model_frame(frame, FULL), model_frame(frame.sample(fraction=1.0, shuffle=True, seed=9), FULL))


def test_pandas_polars_arrow_and_dicts_give_one_answer() -> None:
    frame = table()
    first = model_frame(frame, FULL)
    for other in (
        frame.to_pandas(),
        frame.to_pandas().astype({"model": "category", "item": "category"}),
        frame.to_arrow(),
        frame.lazy(),
        frame.to_dict(as_series=False),
        frame.with_columns(pl.col("model").cast(pl.Categorical)),
    ):
        same_design(first, model_frame(other, FULL))


def test_new_names_for_items_move_nothing() -> None:
    frame = table()
    names = sorted(frame["item"].unique().to_list())
    others = [f"q{k:03}" for k in np.random.default_rng(5).permutation(len(names))]
    renamed = frame.with_columns(pl.col("item").replace(dict(zip(names, others, strict=True))))
    a, b = model_frame(frame, FULL).design, model_frame(renamed, FULL).design
    assert sorted(map(tuple, np.column_stack([a.fixed.at(), a.count, a.response]))) == sorted(
        map(tuple, np.column_stack([b.fixed.at(), b.count, b.response]))
    )
    assert a.within == pytest.approx(b.within, rel=1e-12)


def test_rows_given_as_means_are_the_rows_themselves() -> None:
    frame = table()
    keys = ["model", "item", "scenario", "length"]
    means = frame.group_by(keys).agg(
        pl.len().alias("n"),
        ((pl.col("score") - pl.col("score").mean()) ** 2).sum().alias("spread"),
        pl.col("score").mean(),
    )
    rows, cells = model_frame(frame, FULL).design, model_frame(means, FULL, count="n", within="spread").design
    np.testing.assert_array_equal(rows.count, cells.count)
    # Means are summed in another order.
    np.testing.assert_allclose(rows.response, cells.response, atol=1e-14)
    assert rows.within == pytest.approx(cells.within, rel=1e-12)


CBPP = "cbind(incidence, size - incidence) ~ C(period) + (1 | herd)"


def test_every_way_to_write_successes_is_one(golden: Path) -> None:
    frame = pl.read_csv(golden / "cbpp.csv")
    first = model_frame(frame, CBPP, family="binomial")
    assert first.design.n_rows == frame["size"].sum()
    shares = frame.with_columns(
        share=pl.col("incidence") / pl.col("size"), healthy=pl.col("size") - pl.col("incidence")
    )
    same_design(first, model_frame(shares, "share ~ C(period) + (1|herd)", family="binomial", count="size"))
    same_design(first, model_frame(shares, "cbind(incidence, healthy) ~ C(period) + (1|herd)", family="binomial"))
    single = shares.select(
        "herd", "period", pl.concat_list(pl.lit(1).repeat_by("incidence"), pl.lit(0).repeat_by("healthy")).alias("sick")
    ).explode("sick")
    trials = model_frame(single, "sick ~ C(period) + (1|herd)", family="binomial").design
    np.testing.assert_allclose(trials.response, first.design.response, atol=1e-15)
    assert trials.log_constant == 0.0
    choose = sum(math.log(math.comb(n, k)) for n, k in frame.select("size", "incidence").rows())
    assert first.design.log_constant == pytest.approx(choose, rel=1e-12)


def test_levels_have_a_said_order() -> None:
    frame = pl.DataFrame(
        {
            "y": [0.1, 0.4, 0.2, 0.9, 0.5, 0.3],
            "day": [10, 9, 10, 9, 10, 9],
            "m": list("babbaa"),
            "g": [1, 1, 2, 2, 3, 3],
        }
    )
    text = model_frame(frame, "y ~ m + C(day) + (1|g)")
    assert text.factors == {"m": ("a", "b"), "day": ("9", "10")}
    assert any("m = a, day = 9" in note for note in text.notes)
    given = model_frame(frame, "y ~ m + day + (1|g)", levels={"m": ["b", "a"], "day": ["10", "9"]})
    assert given.factors == {"m": ("b", "a"), "day": ("10", "9")}
    enum = frame.with_columns(pl.col("m").cast(pl.Enum(["c", "b", "a"])))
    assert model_frame(enum, "y ~ m + (1|g)").factors == {"m": ("b", "a")}
    with pytest.raises(InputError, match="levels of 'm' lack 'b'"):
        model_frame(frame, "y ~ m + (1|g)", levels={"m": ["a"]})
    with pytest.raises(InputError, match="not in the formula"):
        model_frame(frame, "y ~ m + (1|g)", levels={"n": ["a"]})


def test_rows_of_a_grid_are_rows_of_the_design() -> None:
    frame = table()
    made = model_frame(frame, "score ~ model * scenario + length + (1 | item)")
    np.testing.assert_array_equal(made.kept_rows(made.all_rows(made.cells)), made.design.fixed.at())
    at_mean = made.kept_rows(made.all_rows(made.cells.drop("length")))
    column = made.terms["length"][0]
    np.testing.assert_allclose(at_mean[:, column], frame["length"].mean(), rtol=1e-14)
    with pytest.raises(InputError, match="'model' has no level 'm9'"):
        made.all_rows(pl.DataFrame({"model": ["m9"], "scenario": ["s0"]}))
    with pytest.raises(InputError, match="no column 'scenario'"):
        made.all_rows(pl.DataFrame({"model": ["m1"]}))


def test_terms_point_to_their_columns() -> None:
    made = model_frame(table(), "score ~ model * scenario + length + (1 | item)")
    names = made.design.fixed_names
    assert [names[at] for at in made.terms["model"]] == ["model[m1]", "model[m2]", "model[m3]"]
    assert all(names[at].count(":") == 1 for at in made.terms["model:scenario"])
    assert sorted(at for columns in made.terms.values() for at in columns) == list(range(len(names)))


def test_means_that_an_empty_cell_needs_are_not_estimable() -> None:
    frame = table().filter(~((pl.col("model") == "m2") & (pl.col("scenario") == "s1")))
    made = model_frame(frame, "score ~ model * scenario + (1 | item)")
    grid = pl.DataFrame({"model": ["m2", "m2", "m0"], "scenario": ["s1", "s0", "s1"]})
    assert made.kept.estimable(made.all_rows(grid)).tolist() == [False, True, True]
    # By the definition: estimable where the row is a combination of the rows there are.
    every = made.all_rows(made.cells)
    for row, known in zip(made.all_rows(grid), made.kept.estimable(made.all_rows(grid)), strict=True):
        rest = row - every.T @ np.linalg.lstsq(every.T, row)[0]
        assert (np.abs(rest).max() < 1e-9) == known
    # The mean over the scenarios of m2 needs the empty cell, that of m0 does not.
    average = np.stack([made.all_rows(grid[:2]).mean(axis=0), made.all_rows(grid[2:]).mean(axis=0)])
    assert made.kept.estimable(average).tolist() == [False, True]


def test_independent_columns_are_the_first_that_span_the_space() -> None:
    rng = np.random.default_rng(8)
    for _ in range(30):
        base = rng.normal(size=(12, 4))
        matrix = base @ rng.integers(-1, 2, size=(4, 7)) * 10.0 ** rng.integers(-4, 5, size=7)
        kept = independent_columns(matrix)
        first: list[int] = []
        for column in range(7):  # the slow form: does the rank grow?
            if np.linalg.matrix_rank(matrix[:, [*first, column]] / np.linalg.norm(matrix).clip(1e-300)) > len(first):
                lengths = np.linalg.norm(matrix[:, [*first, column]], axis=0)
                if lengths.all() and np.linalg.matrix_rank(matrix[:, [*first, column]] / lengths) > len(first):
                    first.append(column)
        assert kept.columns.tolist() == first
        np.testing.assert_allclose(
            matrix[:, kept.columns] @ kept.alias, matrix[:, kept.dropped], rtol=1e-8, atol=1e-8 * np.abs(matrix).max()
        )


def test_combinations_survive_more_levels_than_a_number_holds() -> None:
    rng = np.random.default_rng(2)
    columns = [
        Factor(name=str(k), levels=tuple(map(str, range(10_000))), codes=rng.integers(0, 10_000, 50).astype(np.int64))
        for k in range(8)
    ]
    columns = [c.take(np.r_[np.arange(50), np.arange(25)]) for c in columns]
    codes, first = combinations(columns, 75)
    rows = list(zip(*(c.codes.tolist() for c in columns), strict=True))
    assert [sorted(set(rows)).index(row) for row in rows] == codes.tolist()
    assert [rows[k] for k in first] == sorted(set(rows))


# Bad input, in words.


def small(**columns) -> dict[str, list]:
    base = {
        "y": [0.3, 0.1, 0.8, 0.5, 0.9, 0.2, 0.4, 0.7],
        "m": list("aabbaabb"),
        "x": [1, 2, 3, 4, 5, 6, 7, 8],
        "g": list("pqrspqrs"),
    }
    return {**base, **columns}


@pytest.mark.parametrize(
    ("frame", "formula", "said"),
    [
        (small(), "y ~ m", "has no random part"),
        (small(), "y ~ 0 + (1|g)", "has no fixed effect"),
        (small(), "y ~ mm + (1|g)", "no column 'mm' .*"),
        (small(model=list("aabbaabb")), "y ~ modle + (1|g)", "did you mean 'model'"),
        (small(), "y ~ zebra + (1|g)", "it has 'y', 'm', 'x', 'g'"),
        (small(m=["a"] * 8), "y ~ m + (1|g)", "factor 'm' has one level \\('a'\\)"),
        (small(y=list("abcdefgh")), "y ~ m + (1|g)", "column 'y' holds String"),
        (small(y=[None] * 8), "y ~ m + (1|g)", "none of 8 rows has a response|column 'y' holds Null"),
        (small(y=[math.inf, *[0.1] * 7]), "y ~ m + (1|g)", "column 'y' holds infinite values"),
        (small(x=[math.inf, *[0.1] * 7]), "y ~ x + (1|g)", "column 'x' holds 1 infinite"),
        (small(n=list("ccddccdd")), "y ~ m + n + (1|g)", "n cannot be told apart from the terms before it"),
        (small(z=[2 * k for k in range(1, 9)]), "y ~ x + z + (1|g)", "z cannot be told apart"),
        (small(z=[3.0] * 8), "y ~ z + (1|g)", "z cannot be told apart"),
        (small(m=[["a"], ["b"]] * 4), "y ~ m + (1|g)", "several values a row"),
        (small(m=list("abcdefgh")), "y ~ m + (1|g)", "8 fixed effects for 8 rows"),
        ({"y": [], "g": []}, "y ~ 1 + (1|g)", "the table has no rows"),
        ("words", "y ~ 1 + (1|g)", "is not a table"),
    ],
)
def test_bad_input_of_a_linear_model(frame, formula: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        model_frame(frame, formula)


@pytest.mark.parametrize(
    ("frame", "formula", "options", "said"),
    [
        (small(y=[3, 0, 1, 2, 0, 1, 2, 3]), "y ~ m + (1|g)", {}, "for counts of successes write cbind"),
        (small(y=[-1, 0, 1, 0, 0, 1, 0, 1]), "y ~ m + (1|g)", {}, "holds -1"),
        (small(), "y ~ m + (1|g)", {}, "0.3 successes in 1 trials"),
        (small(n=[2.5] * 8), "y ~ m + (1|g)", {"count": "n"}, "counts are whole numbers"),
        (small(n=[-2] * 8), "y ~ m + (1|g)", {"count": "n"}, "counts are whole numbers"),
        (small(k=[5] * 8, n=[4] * 8), "cbind(k, n - k) ~ m + (1|g)", {}, "5 successes in 4 trials"),
        (small(k=[5] * 8, n=[4] * 8), "cbind(k, n) ~ m + (1|g)", {"count": "n"}, "already names successes"),
        (small(k=[5] * 8), "y ~ m + (1|g)", {"within": "k"}, "within= is for linear models"),
    ],
)
def test_bad_input_of_a_binomial_model(frame, formula: str, options, said: str) -> None:
    with pytest.raises(InputError, match=said):
        model_frame(frame, formula, family="binomial", **options)


@pytest.mark.parametrize(
    ("frame", "formula", "options", "said"),
    [
        (small(g=["p"] * 8), "y ~ m + (1|g)", {}, "grouping 'g' has one level"),
        (small(g=list("pqrstuvw")), "y ~ m + (1|g)", {}, "as many levels as there are rows \\(8\\)"),
        (small(g=list("ppqqrrss")), "y ~ m + (1 + x|g)", {}, "effects of 'g' are 8 for 8 rows"),
        (small(y=[0.5] * 8), "y ~ m + (1|g)", {}, "all 8 rows have the same response, 0.5"),
        (
            small(y=[1, 0] * 4, g=list("pqrstuvw")),
            "y ~ m + (1|g)",
            {"family": "binomial"},
            "level of 'g' has one trial",
        ),
        (small(y=[1] * 8), "y ~ m + (1|g)", {"family": "binomial"}, "all 8 trials are successes"),
        (
            small(y=[0] * 8, n=[3] * 8),
            "y ~ m + (1|g)",
            {"family": "binomial", "count": "n"},
            "all 24 trials are failures",
        ),
    ],
)
def test_what_no_model_can_be_fitted_to(frame, formula: str, options, said: str) -> None:
    with pytest.raises((InputError, CannotAnswerError), match=said):
        mixed(formula, frame, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"family": "poisson"}, "family is 'poisson'"),
        ({"count": "n"}, "both count= .* and within="),
        ({"count": "n", "within": "x"}, "one value has no spread"),
    ],
)
def test_options_that_do_not_go_together(options, said: str) -> None:
    with pytest.raises(InputError, match=said):
        model_frame(small(n=[1] * 8), "y ~ m + (1|g)", **options)


def test_missing_values_are_left_out_and_counted() -> None:
    frame = small(y=[None, math.nan, 0.8, 0.5, 0.9, 0.2, 0.4, 0.7], m=["a", "a", None, *"baabb"])
    made = model_frame(frame, "y ~ m + (1|g)")
    assert made.n_given == 8
    assert made.n_dropped == {"y missing": 2, "m missing": 1}
    assert made.design.n_rows == 5
    assert "3 of 8 rows dropped (y missing: 2, m missing: 1)" in made.warnings


def test_rows_without_trials_are_left_out_and_counted() -> None:
    frame = small(k=[0, 1, 2, 0, 1, 2, 1, 1], n=[0, 2, 2, 2, 2, 2, 2, 2])
    made = model_frame(frame, "cbind(k, n - k) ~ m + (1|g)", family="binomial")
    assert made.n_dropped == {"no trials": 1}
    assert made.design.n_rows == 14


def test_few_levels_and_zeros_and_ones_are_warned_of() -> None:
    made = model_frame(small(y=[0, 1, 1, 0, 1, 1, 0, 0]), "y ~ m + (1|g)")
    assert any("every value of y is 0 or 1" in text for text in made.warnings)
    assert any("g has only 4 levels" in note.text.lower() for note in mixed("y ~ m + (1|g)", small()).notes)
    clean = model_frame(table(), "score ~ model + (1|item)")
    assert clean.warnings == ()
    graded = model_frame(small(y=[0, 1, 1, 0, 1, 0.5, 0, 0]), "y ~ m + (1|g)")
    assert not any("0 or 1" in text for text in graded.warnings)
    merged = model_frame(small(y=[0, 1, 1, 0, 1, 1, 0, 1], m=list("abababab"), g=list("ppqqppqq")), "y ~ m + (1|g)")
    assert merged.design.n_cells == 4  # cells of 0 and 1 have means between
    assert any("every value of y is 0 or 1" in text for text in merged.warnings)


def test_a_factor_that_another_one_determines_in_part() -> None:
    frame = small(n=list("cdefcdef"), m=list("aabbaabb"))
    made = model_frame(frame, "y ~ m + n + (1|g)")
    assert dropped(made) == ("n[f]",)
    assert any("1 fixed effect dropped (n[f])" in text for text in made.warnings)


def test_trials_of_one_row_may_have_an_effect_of_their_own() -> None:
    frame = small(k=[0, 1, 2, 0, 1, 2, 1, 1], n=[3] * 8, row=list("abcdefgh"))
    made = model_frame(frame, "cbind(k, n - k) ~ m + (1|row)", family="binomial")
    assert made.design.terms[0].n_levels == 8


def test_a_formula_cannot_ask_for_millions_of_columns() -> None:
    n = 6000
    frame = {"y": np.arange(n) % 7 / 7, "u": [f"u{k}" for k in range(n)], "g": [k % 10 for k in range(n)]}
    with pytest.raises(InputError, match="let a factor of many levels be random"):
        model_frame(frame, "y ~ u + (1|g)")


def test_slopes_that_no_row_has_are_dropped() -> None:
    frame = table().filter(~((pl.col("model") == "m2") & (pl.col("scenario") == "s1")))
    made = model_frame(frame, "score ~ 1 + (0 + model:scenario | item)")
    assert "model[m2]:scenario[s1]" not in made.design.terms[0].columns
    assert any("model[m2]:scenario[s1] by item stand for no rows" in text for text in made.warnings)


def test_names_that_look_like_code_are_names(tmp_path: Path) -> None:
    left = tmp_path / "left"
    name = f"open({str(left)!r}, 'w')"
    frame = (
        table()
        .rename({"model": name})
        .with_columns(pl.col(name).replace({"m0": "c0[T.1]:c1", "m1": "{1+1}", "m2": "C(x)", "m3": "np.exp"}))
    )
    made = model_frame(frame, f"score ~ `{name}` * scenario + (1 | item)")
    assert not left.exists()
    assert made.factors[name] == ("C(x)", "c0[T.1]:c1", "np.exp", "{1+1}")
    assert made.design.fixed_names[1] == f"{name}[c0[T.1]:c1]"
    np.testing.assert_array_equal(made.kept_rows(made.all_rows(made.cells)), made.design.fixed.at())
