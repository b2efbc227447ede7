"""Old items against new ones, from rows to verdicts: what is found, what is not claimed, what is refused."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.contamination.result import ContaminationCheck
from evalstats.document.formats import to_html, to_markdown
from evalstats.document.latex import to_latex
from evalstats.document.terminal import to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.plan import Margin, Plan
from tests.analysis.contamination.example_items import (
    MODELS,
    REFERENCES,
    as_results,
    split_rows,
)


def texts(result: ContaminationCheck, kind: str, *, caution: bool = True) -> str:
    return " ".join(note.text for note in result.notes if (note.kind, note.caution) == (kind, caution))


@pytest.fixture(scope="module")
def found() -> ContaminationCheck:
    results = as_results(split_rows(inflation=0.45, easier=0.1))
    return es.contamination(results, split="source", suspects="suspect", references=REFERENCES)


def test_a_planted_inflation_is_found_and_sized(found):
    row = found.row("suspect")
    assert (found.verdict, found.inflated()) == ("inflated", ("suspect",))
    assert row.conf_low is not None
    assert row.conf_low < 0.45 < (row.largest or 0.0)
    assert (row.n_old, row.n_new, row.n_left_out) == (120, 120, 0)
    # What the suspect's own items add to the error is known better than how far references differ.
    assert row.df > 4.0
    assert row.own == pytest.approx(row.estimate + row.reference)
    assert row.own == pytest.approx(row.old_score - row.new_score)


def test_the_numbers_are_those_of_a_loop_over_rows(found):
    rows = split_rows(inflation=0.45, easier=0.1)

    def gap(model):
        means = [
            np.mean([r["score"] for r in rows if (r["model"], r["source"]) == (model, side)])
            for side in ("public", "fresh")
        ]
        return means[0] - means[1]

    row = found.row("suspect")
    assert row.own == pytest.approx(gap("suspect"))
    assert row.points.estimate == pytest.approx(gap("suspect") - np.mean([gap(name) for name in REFERENCES]))
    plain = es.contamination(
        as_results(rows), split="source", suspects="suspect", references=REFERENCES, scale="points"
    ).row("suspect")
    assert plain.logits is None
    assert plain.reference == pytest.approx(np.mean([gap(name) for name in REFERENCES]))
    assert (plain.estimate, plain.conf_low) == pytest.approx((row.points.estimate, row.points.conf_low))


def test_old_items_that_are_easier_for_all_are_no_inflation():
    results = as_results(split_rows(easier=0.4, n=150))
    found = es.contamination(results, split="source", suspects=["suspect"], references=REFERENCES, margin="40pp")
    row = found.row("suspect")
    assert row.own_low is not None
    assert row.own_low > 0.2
    assert found.verdict == "clean within the margin"
    assert (row.largest or 1.0) < 0.4


def test_order_of_rows_and_of_references_does_not_matter(found):
    rows = split_rows(inflation=0.45, easier=0.1)
    np.random.default_rng(0).shuffle(rows)
    again = es.contamination(as_results(rows), split="source", suspects=["suspect"], references=REFERENCES[::-1])
    assert again.row("suspect").p_value == pytest.approx(found.row("suspect").p_value)


def test_where_lower_is_better_an_inflation_is_still_positive():
    rows = [{**row, "score": 1 - int(row["score"])} for row in split_rows(inflation=0.45)]
    results = as_results(rows)
    turned = es.EvalData(
        outcomes=results.outcomes, runs=results.runs, metrics=results.metrics.with_columns(higher_is_better=False)
    )
    assert turned.metrics.height
    found = es.contamination(turned, split="source", suspects=["suspect"], references=REFERENCES)
    row = found.row("suspect")
    assert (found.verdict, row.estimate > 0.3) == ("inflated", True)
    assert row.old_score < row.new_score


@pytest.mark.parametrize("named", [("r1",), ("r1", "r2")])
def test_too_few_references_are_described_only(named):
    results = as_results(split_rows(inflation=0.5))
    found = es.contamination(results, split="source", suspects=["suspect"], references=named)
    row = found.row("suspect")
    assert (found.verdict, row.p_value, row.largest) == ("inconclusive", None, None)
    assert row.estimate > 0.3
    assert found.document().label == "described only"
    assert f"beyond that of {len(named)} model{'s' if len(named) > 1 else ''} named as clean" in found.summary()
    assert "no interval and no verdict" in found.explain()


def test_without_references_each_is_held_against_the_others_and_p_is_adjusted():
    found = es.contamination(as_results(split_rows(inflation=0.5)), split="source")
    assert {row.model for row in found.rows} == set(MODELS)
    assert found.inflated() == ("suspect",)
    assert all((row.p_adjusted or 0.0) >= (row.p_value or 1.0) for row in found.rows)
    assert "No model is named as clean" in texts(found, "choice")
    # The suspect among the references makes the others look deflated, never inflated.
    assert all(row.estimate < 0.3 for row in found.rows if row.model != "suspect")


def test_levels_may_be_named_and_the_rest_is_told():
    results = as_results(split_rows())
    one = es.contamination(results, split="source", old="fresh", suspects=["suspect"], references=REFERENCES)
    other = es.contamination(results, split="source", suspects=["suspect"], references=REFERENCES)
    assert one.row("suspect").logits.estimate == pytest.approx(-other.row("suspect").logits.estimate)
    assert one.row("suspect").points.estimate == pytest.approx(-other.row("suspect").points.estimate)
    assert "is taken as new" in texts(one, "choice", caution=False)
    assert "By their names" in texts(other, "choice", caution=False)
    called = {"public": "before", "fresh": "after"}
    renamed = [{**row, "source": called[row["source"]]} for row in split_rows()]
    third = es.contamination(as_results(renamed), split="source", suspects=["suspect"], references=REFERENCES)
    assert third.row("suspect") == other.row("suspect")


def test_clusters_count_and_few_of_them_are_invalid():
    rows = [{**row, "book": f"{row['source']}-{int(str(row['item'])[1:]) % 3}"} for row in split_rows(inflation=0.45)]
    results = as_results(rows)
    crossed = es.contamination(results, split="source", cluster="topic", suspects=["suspect"], references=REFERENCES)
    assert (crossed.row("suspect").n_clusters, crossed.verdict) == (24, "inflated")
    few = es.contamination(results, split="source", cluster="book", suspects=["suspect"], references=REFERENCES)
    assert few.verdict == "invalid"
    assert "too few clusters" in few.row("suspect").reason


def test_items_that_a_reference_lacks_are_left_out_and_said():
    rows = [row for row in split_rows(inflation=0.45) if not (row["model"] == "r2" and str(row["item"]) < "q030")]
    found = es.contamination(as_results(rows), split="source", suspects=["suspect"], references=REFERENCES)
    assert (found.row("suspect").n_old, found.row("suspect").n_left_out) == (90, 30)
    assert "30 items dropped" in texts(found, "missing")


def test_one_sided_only_where_declared():
    results = as_results(split_rows(inflation=0.3))
    options = {"split": "source", "suspects": ["suspect"], "references": REFERENCES}
    two, one = es.contamination(results, **options), es.contamination(results, alternative="greater", **options)
    assert one.row("suspect").p_value == pytest.approx(two.row("suspect").p_value / 2)
    assert one.row("suspect").conf_low == two.row("suspect").conf_low
    assert "one-sided" in texts(one, "plan")


def test_a_plan_settles_margin_and_level_and_departures_are_said():
    plan = Plan(
        source="p.toml", conf_level=0.9, margins=(Margin(value="30pp", reason="smaller ones do not change ranks"),)
    )
    results = as_results(split_rows(n=200))
    found = es.contamination(results, split="source", suspects=["suspect"], references=REFERENCES, plan=plan)
    assert (found.conf_level, found.margin) == (0.9, 0.3)
    assert found.origin.plan is not None
    other = es.contamination(
        results, split="source", suspects=["suspect"], references=REFERENCES, plan=plan, conf_level=0.95
    )
    assert "Departs from the plan" in texts(other, "plan")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({}, InputError, "exactly one of split=, date= and twin="),
        ({"split": "source", "twin": "variant"}, InputError, "split and twins"),
        ({"split": "nothing"}, InputError, "no column 'nothing'"),
        ({"split": "source", "old": "olden"}, InputError, "no level 'olden'"),
        ({"split": "source", "old": "public", "new": "public"}, InputError, "one or the other"),
        ({"split": "topic"}, InputError, "which items are old"),
        (
            {"split": "day"},
            InputError,
            r"day holds dates, .*: date='day', cutoffs=\{'MODEL': '2024-\d\d-01'\}",
        ),
        ({"date": "day", "cutoffs": "2024-06-01"}, InputError, r"cut-offs: cutoffs=\{'MODEL': '2024-06-01'\}"),
        ({"split": "one"}, CannotAnswerError, "one has one level, 'all'; old"),
        ({"split": "model"}, CannotAnswerError, "no item has one level of model: it is empty, or differs"),
        ({"split": "topic", "old": "t1", "new": "t2"}, None, ""),
        ({"split": "few", "old": "old", "new": "new"}, CannotAnswerError, "at least 10"),
        ({"split": "source", "suspects": ["suspect"], "references": ["suspect", "r1"]}, InputError, "with itself"),
        ({"split": "source", "suspects": ["nobody"]}, InputError, "suspect 'nobody'"),
        ({"split": "source", "references": []}, InputError, "references is empty"),
        ({"split": "source", "suspects": ["r1", "r1"]}, InputError, "twice"),
        ({"split": "source", "cutoffs": {"r1": "2024-01-01"}}, InputError, "cut-offs go with date"),
        ({"split": "source", "margin": "200pp"}, InputError, "margin is"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(options, error, said):
    rows = split_rows(n=120)
    for row in rows:
        number = int(str(row["item"])[1:])
        row |= {"one": "all", "few": "old" if number < 5 else "new", "day": f"2024-0{number % 9 + 1}-01"}
    results = as_results(rows)
    if error is None:
        assert es.contamination(results, **options).rows[0].n_old == 10
        return
    with pytest.raises(error, match=said):
        es.contamination(results, **options)


def test_a_named_model_without_a_side_is_refused_and_another_is_left_out():
    rows = [row for row in split_rows() if not (row["model"] == "r5" and row["source"] == "fresh")]
    results = as_results(rows)
    with pytest.raises(CannotAnswerError, match="'r5' has 0 scored items that are new"):
        es.contamination(results, split="source", suspects=["suspect"], references=REFERENCES)
    found = es.contamination(results, split="source", suspects=["suspect"])
    assert found.row("suspect").references == REFERENCES[:4]
    assert "dropped: 'r5'" in texts(found, "choice", caution=False)


def test_one_model_alone_cannot_be_judged():
    with pytest.raises(CannotAnswerError, match="only model"):
        es.contamination(as_results(split_rows(models=("suspect",))), split="source")


def test_the_answer_is_the_first_line_and_all_views_hold_it(found):
    said = found.document()
    assert said.headline == "suspect gains more on public items than clean models do"
    assert (said.label, said.tone) == ("inflated", "bad")
    row = found.row("suspect")
    assert said.number == f"+{100 * row.estimate:.1f} pp"
    assert f"{100 * row.conf_low:.1f} to {100 * row.conf_high:.1f}" in said.number_words
    text = to_text(said, full=True)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "up to 40%" in " ".join(text.split())
    assert "r1, r2, r3, r4 and r5" in found.explain()
    for written in (to_markdown(said), to_html(said), to_latex(said), found.summary()):
        assert "suspect" in written
    assert found.to_frame()["largest"][0] == row.largest
    assert "inflated" in repr(found)
    assert len(to_text(said).splitlines()) <= 15
    with pytest.raises(InputError, match="no suspect 'suspects'; closest: suspect"):
        found.row("suspects")


def test_one_that_is_notable_alone_and_not_in_its_family_is_said():
    results = as_results(split_rows(n=60, inflation=0.3, models=("suspect", *(f"m{i}" for i in range(30)))))
    said = es.contamination(results, split="source").document()
    assert [len(table.rows) for table in said.tables.values()][:2] == [31, 31]
    assert len(to_text(said).splitlines()) <= 40


def test_a_public_benchmark_against_its_fresh_counterpart(found):
    rows = split_rows(inflation=0.45, easier=0.1)
    own = [{**row, "item": str(int(str(row["item"])[1:]) % 120), "benchmark": f"gsm-{row['source']}"} for row in rows]
    frame = pl.DataFrame(own).drop("source")
    both = from_frame(frame, item="item", score="score", model="model", benchmark="benchmark")
    options = {"split": "benchmark", "suspects": ["suspect"], "references": REFERENCES}
    with pytest.raises(InputError, match="which items are old"):
        es.contamination(both, **options)
    again = es.contamination(both, old="gsm-public", new="gsm-fresh", **options)
    assert again.benchmark == "gsm-public and gsm-fresh"
    assert again.row("suspect").p_value == pytest.approx(found.row("suspect").p_value)
    other = replace(both, metrics=both.metrics.with_columns(higher_is_better=pl.col("benchmark") == "gsm-fresh"))
    with pytest.raises(InputError, match="means something else"):
        es.contamination(other, old="gsm-public", new="gsm-fresh", **options)
