"""What tests of terms test, tables of outcomes as input, and how often a true null is rejected."""

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.mixed.frame import model_frame
from evalstats.analysis.mixed.inference import estimable_part, term_rows
from evalstats.analysis.mixed.mixed import mixed
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.frames import from_frame
from evalstats.stats.mixed.degrees_of_freedom import kenward_roger_f


def crossed(n_items: int = 10, seed: int = 5, lost: float = 0.25) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    cells = [(i, m, s) for i in range(n_items) for m in range(3) for s in range(2) for _ in range(2)]
    kept = [cell for cell in cells if rng.random() > lost]
    item, model, style = (np.array(column) for column in zip(*kept, strict=True))
    return pl.DataFrame(
        {
            "item": [f"i{k}" for k in item],
            "model": [f"m{k}" for k in model],
            "style": [f"s{k}" for k in style],
            "x": rng.normal(size=len(kept)).round(2),
            "y": rng.normal(size=n_items)[item] + rng.normal(size=len(kept)),
        }
    )


@pytest.mark.parametrize(
    ("formula", "term"),
    [
        ("y ~ model * style + (1 | item)", "model:style"),
        ("y ~ model * style * x + (1 | item)", "model:style:x"),
        ("y ~ model + x + (1 | item)", "x"),
        ("y ~ model + style + (1 | item)", "model"),
        ("y ~ model / style + (1 | item)", "model:style"),
        ("y ~ model:x + (1 | item)", "model:x"),
        ("y ~ model:style + (1 | item)", "model:style"),
    ],
)
def test_a_term_that_no_other_contains_is_tested_by_its_own_columns(formula: str, term: str) -> None:
    result = mixed(formula, crossed())
    found = {test.term: test for test in result.tests}[term]
    own = kenward_roger_f(result.fit, np.eye(len(result.fixed))[list(result.frame.terms[term])])
    assert found.df == own.df_numerator
    assert found.statistic == pytest.approx(own.statistic, rel=1e-7)
    assert found.df_denominator == pytest.approx(own.df_denominator, rel=1e-6)


def test_a_main_effect_is_of_equally_weighted_means() -> None:
    made = model_frame(crossed(), "y ~ model * style + x + (1 | item)")
    rows = term_rows(made, ("model",))
    by_hand = []
    for model in ("m1", "m2"):
        grids = [pl.DataFrame({"model": [m] * 2, "style": ["s0", "s1"]}) for m in (model, "m0")]
        by_hand.append(made.all_rows(grids[0]).mean(axis=0) - made.all_rows(grids[1]).mean(axis=0))
    np.testing.assert_allclose(rows, np.array(by_hand), atol=1e-12)


def test_the_estimable_part_is_all_that_the_data_say() -> None:
    frame = crossed().filter(~((pl.col("model") == "m2") & (pl.col("style") == "s1")))
    made = model_frame(frame, "y ~ model * style + (1 | item)")
    rows = term_rows(made, ("model",))
    left, lost = estimable_part(made, rows)
    assert (len(left), lost) == (1, 1)
    assert made.kept.estimable(left).all()
    every = made.all_rows(made.cells)
    # By the definition: the largest space of combinations of `rows` inside the row space of the design.
    together = np.linalg.matrix_rank(np.vstack([every, rows]))
    assert len(rows) + np.linalg.matrix_rank(every) - together == len(left)
    whole, none = estimable_part(model_frame(crossed(), "y ~ model * style + (1 | item)"), rows)
    assert (len(whole), none) == (2, 0)


def test_outcomes_are_a_table() -> None:
    frame = crossed().with_row_index("trial").rename({"y": "score"})
    data = from_frame(frame, item="item", score="score", model="model", trial="trial", scenario="style")
    from_data = mixed("score ~ model * scenario + (1 | item)", data)
    from_table = mixed("score ~ model * style + (1 | item)", frame)
    assert [row.estimate for row in from_data.fixed] == pytest.approx([row.estimate for row in from_table.fixed])
    own_name = mixed("score ~ model * style + (1 | item)", data)
    assert [row.estimate for row in own_name.fixed] == pytest.approx([row.estimate for row in from_table.fixed])
    assert own_name.effect("model[m1]:style[s1]").estimate is not None


def test_outcomes_of_several_metrics_are_refused() -> None:
    frame = crossed().with_row_index("trial").with_columns((pl.col("y") * 2).alias("z"))
    data = from_frame(frame, item="item", score=["y", "z"], model="model", trial="trial")
    with pytest.raises(InputError, match=r"2 metrics .*data.where\(metric='y'\)"):
        mixed("score ~ model + (1 | item)", data)
    assert mixed("score ~ model + (1 | item)", data.where(metric="z")).n_rows == frame.height


def test_a_method_without_an_answer_is_replaced_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from evalstats.analysis.mixed import inference

    def none(*_: object) -> None:
        raise CannotAnswerError("too few units for it")

    frame = crossed()
    monkeypatch.setattr(inference, "kenward_roger", none)
    second = mixed("y ~ model + (1 | item)", frame)
    assert second.df_method == "satterthwaite"
    assert any(
        "Kenward-Roger degrees of freedom are not available: too few" in text
        for text in (note.text for note in second.notes)
    )
    monkeypatch.setattr(inference, "variance_parameters", none)
    third = mixed("y ~ model + (1 | item)", frame)
    assert third.df_method == "z"
    assert any("overconfident" in text for text in (note.text for note in third.notes))
    with pytest.raises(CannotAnswerError, match="too few units"):
        mixed("y ~ model + (1 | item)", frame, df="kenward-roger")


def test_many_rows_are_judged_by_satterthwaite() -> None:
    rng = np.random.default_rng(1)
    n = 5100
    frame = {"y": rng.normal(size=n), "m": rng.integers(0, 2, n).astype(str), "g": rng.integers(0, 30, n)}
    result = mixed("y ~ m + (1 | g)", frame)
    assert (result.df_method, result.df_reason) == ("satterthwaite", "the model has more than 5,000 rows")
    assert result.n_cells <= 60


@pytest.mark.slow
def test_a_true_null_is_rejected_as_often_as_promised() -> None:
    """Few items, unbalanced, items that differ in what model suits them: three terms and an interval, each at 5%."""
    n, rejected, missed = 600, np.zeros(3), 0
    for seed in range(n):
        frame = crossed(n_items=7, seed=seed, lost=0.3)
        rng = np.random.default_rng(10_000 + seed)
        pairs = frame.select("item", "model").unique(maintain_order=True)
        pairs = pairs.with_columns(pl.Series("own", rng.normal(size=pairs.height)))
        frame = frame.join(pairs, on=["item", "model"]).with_columns(pl.col("y") + pl.col("own"))
        result = mixed("y ~ model * style + x + (1 | item) + (1 | item:model)", frame)
        p = {test.term: test.p_value for test in result.tests}
        rejected += [p[term] <= 0.05 for term in ("model", "style", "model:style")]
        row = result.effect("x")
        missed += not row.conf_low <= 0.0 <= row.conf_high
    # Three standard errors of a share of 0.05 in 600 draws are 0.027.
    assert np.abs(rejected / n - 0.05).max() < 0.027
    assert abs(missed / n - 0.05) < 0.027
