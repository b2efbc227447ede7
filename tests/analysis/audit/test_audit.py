"""The frame of the audit: conclusions against their slow form, what a treatment does to them, the ranking, the result's forms."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.audit.conclusions import conclusions, ranked
from evalstats.analysis.audit.panel import Observation, Treatment, panels_of, rows_of_models
from evalstats.analysis.result import Result
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.plan import Plan
from tests.analysis.audit.builders import clean, kinds, read


def panel_of(frame: pl.DataFrame):
    data = read(frame)
    return next(panels_of(data, rows_of_models(data, None), None, None, all_metrics=False, conf_level=0.95))


def graded(seed: int = 1) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    frame = clean(60, 4, seed=seed)
    return frame.with_columns(pl.Series("score", np.round(draw.normal(50, 10, frame.height), 2)))


def test_the_table_of_scores_is_what_the_rows_say():
    frame = clean(30, 3).sample(fraction=1.0, shuffle=True, seed=3).head(80)
    panel = panel_of(frame)
    for item, row in enumerate(panel.items["item"].to_list()):
        for model, name in enumerate(panel.models):
            own = frame.filter((pl.col("item") == row) & (pl.col("model") == name))["score"]
            value = panel.scores[item, model]
            assert value == own[0] if len(own) else np.isnan(value)


def test_conclusions_are_those_of_paired_t_tests():
    panel = panel_of(graded())
    found = conclusions(panel)
    scores = panel.scores
    for k, (i, j) in enumerate(zip(found.pairs.first, found.pairs.second, strict=True)):
        d = scores[:, i] - scores[:, j]
        ci = stats.ttest_1samp(d, 0).confidence_interval(0.95)
        assert found.pairs.estimate[k] == pytest.approx(d.mean())
        assert (found.pairs.conf_low[k], found.pairs.conf_high[k]) == pytest.approx((ci.low, ci.high))
        assert found.verdict[k] == (0 if ci.low <= 0 <= ci.high else np.sign(d.mean()))


def test_treatments_equal_rows_changed_before_reading():
    frame = clean(80, 4, seed=2)
    panel = panel_of(frame)
    draw = np.random.default_rng(0)
    keep = draw.random(panel.rows.height) < 0.8
    kept = conclusions(panel, Treatment(words="without them", keep=keep))
    again = conclusions(panel_of(frame.filter(pl.Series(keep))))
    np.testing.assert_allclose(kept.pairs.estimate, again.pairs.estimate)
    np.testing.assert_array_equal(kept.verdict, again.verdict)
    flipped = Treatment(words="turned round", score=1.0 - panel.score)
    np.testing.assert_array_equal(conclusions(panel, flipped).verdict, -conclusions(panel).verdict)


def test_a_treatment_that_changes_nothing_stands():
    panel = panel_of(clean())
    before = conclusions(panel)
    seen = Observation(
        kind="missing scores", text="x", remedy="y", treatments=(Treatment(words="as it is", score=panel.score),)
    )
    finding, depends = ranked(panel, before, seen)
    assert (finding.effect, finding.n_depend, depends.any()) == ("stands", 0, False)
    assert finding.shifts[0].largest == 0.0
    assert ranked(panel, before, replace(seen, treatments=()))[0].effect == "open"


def test_a_flip_is_told_from_the_better_model_with_both_estimates():
    panel = panel_of(clean(200, 3, seed=4))
    before = conclusions(panel)
    turned = Treatment(words="turned round", score=1.0 - panel.score)
    found = ranked(panel, before, Observation(kind="scale", text="x", remedy="y", treatments=(turned,)))[0]
    assert found.effect == "flips"
    for flip in found.shifts[0].flips:
        assert (flip.verdict_before, flip.verdict_after) == ("better", "worse")
        assert flip.after.estimate == pytest.approx(-flip.before.estimate)
        assert flip.before.conf_low == pytest.approx(-flip.after.conf_high)


def test_shuffled_rows_and_renamed_models_change_nothing():
    frame = clean(100, 4, seed=5).with_columns(
        pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise("score").alias("score")
    )
    one, other = (es.audit(read(each)) for each in (frame, frame.sample(fraction=1.0, shuffle=True, seed=1)))
    assert one.findings == other.findings
    names = {f"m{j}": f"m{3 - j}" for j in range(4)}
    turned = es.audit(read(frame.with_columns(pl.col("model").replace(names))))
    assert kinds(turned) == kinds(one)
    assert turned.n_depend == one.n_depend


def test_it_is_saved_and_loaded(tmp_path):
    frame = clean(100, 4).with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise("score").alias("score")
    )
    found = es.audit(read(frame))
    found.save(tmp_path / "audit.json")
    assert es.load_result(tmp_path / "audit.json") == found
    assert json.loads((tmp_path / "audit.json").read_text())["result"] == "Audit"
    assert found.to_frame().height == len(found.findings)
    assert "missing scores" in found.to_markdown()


def test_what_cannot_be_audited_is_refused_by_name():
    with pytest.raises(CannotAnswerError, match="no outcomes"):
        es.audit(es.EvalData())
    with pytest.raises(InputError, match="no model 'm9'"):
        es.audit(read(clean()), models=["m9"])
    with pytest.raises(InputError, match="no metric 'x'"):
        es.audit(read(clean()), metric="x")
    with pytest.raises(InputError, match="conf_level"):
        es.audit(read(clean()), conf_level=95)


def test_one_model_has_no_comparison_and_says_so():
    found = es.audit(read(clean(models=1)))
    assert found.n_pairs == 0
    assert found.document().headline == "Nothing found, and no two models to compare on enough items"
    assert any(each.reason == "there is one model" for each in found.unchecked)


def test_lower_is_better_turns_the_verdicts_and_the_leader():
    frame = graded()
    found = [conclusions(panel_of(frame.with_columns(pl.col("score").alias("score"))))]
    data = read(frame).with_metric("score", higher_is_better=False)
    lower = next(panels_of(data, rows_of_models(data, None), None, None, all_metrics=False, conf_level=0.95))
    found.append(conclusions(lower))
    np.testing.assert_array_equal(found[0].verdict, -found[1].verdict)
    means = frame.group_by("model").agg(pl.col("score").mean()).sort("score")["model"].to_list()
    assert [each.leader for each in found] == [means[-1], means[0]]


def test_a_treatment_by_clusters_is_the_audit_with_that_cluster():
    frame = graded().with_columns((pl.col("item").str.slice(1).cast(pl.Int64) % 12).cast(pl.String).alias("passage"))
    data = read(frame)
    plain, clustered = (
        next(panels_of(data, rows_of_models(data, None), None, cluster, all_metrics=False, conf_level=0.95))
        for cluster in ("none", "passage")
    )
    codes = clustered.codes
    one = conclusions(plain, Treatment(words="clustered by passage", clusters=codes))
    other = conclusions(clustered)
    np.testing.assert_allclose(one.pairs.conf_low, other.pairs.conf_low)
    assert one.pairs.n_clusters is not None
    assert not np.allclose(one.pairs.conf_low, conclusions(plain).pairs.conf_low)


def test_a_new_leader_is_named():
    # 18 of 24 are right, or 18 of 30 with those without a score; the other has 21 of 30.
    scores = {"a": [1.0] * 18 + [None] * 6 + [0.0] * 6, "b": [0.0] * 9 + [1.0] * 21}
    rows = [{"item": i, "model": m, "score": x} for m, values in scores.items() for i, x in enumerate(values)]
    found = es.audit(read(pl.DataFrame(rows, schema_overrides={"score": pl.Float64})))
    (seen,) = [each for each in found.findings if each.kind == "missing scores"]
    shift = next(each for each in seen.shifts if each.treatment == "counted as 0")
    assert (shift.leader_before, shift.leader_after) == ("a", "b")
    assert "; b leads instead of a." in found.summary()


def test_a_plan_holds_where_nothing_is_given():
    frame = clean(60, 3).with_columns(
        (pl.col("item").str.slice(1).cast(pl.Int64) % 12).cast(pl.String).alias("passage")
    )
    plan = Plan(clusters=("passage",), conf_level=0.9, aliases={"m0": "zero"}, source="evalstats.toml")
    found = es.audit(read(frame), plan=plan)
    assert (found.conf_level, found.metrics[0].clusters) == (0.9, ("passage",))
    assert any(note.kind == "plan" and "evalstats.toml" in note.text for note in found.notes)
    assert es.audit(read(frame), plan=plan, cluster="none", conf_level=0.99).metrics[0].clusters == ()
    assert es.audit(read(frame), plan=plan, models=["zero", "m1"]).metrics[0].n_models == 2


def test_the_headline_alone_is_looked_at_unless_all_are_asked_for():
    frame = pl.concat([clean(40, 3).with_columns(pl.lit(name).alias("metric")) for name in ("first", "second")])
    data = es.from_frame(frame, item="item", model="model", score="score", metric="metric", benchmark="@b")
    assert [each.metric for each in es.audit(data).metrics] == ["first", "second"]
    headed = replace(data, metrics=data.metrics.with_columns((pl.col("metric") == "second").alias("primary")))
    assert [each.metric for each in es.audit(headed).metrics] == ["second"]
    assert [each.metric for each in es.audit(headed, all_metrics=True).metrics] == ["first", "second"]
    assert [each.metric for each in es.audit(headed, metric="first").metrics] == ["first"]
    assert [each.metric for each in es.audit(data, plan=Plan(primary={"b": "first"})).metrics] == ["first"]


@pytest.mark.parametrize("question", [es.audit, es.overview])
def test_what_files_told_is_saved_without_the_folders_above_them(
    question: Callable[[es.EvalData], Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    paths = [
        tmp_path / "alice" / "a" / "scores.csv",
        tmp_path / "alice" / "b" / "scores.csv",
        here / "c" / "scores.csv",
    ]
    for path in paths:
        path.parent.mkdir(parents=True)
        model = path.parent.name
        path.write_text(
            "item,model,score\n" + "".join(f"q{i},{model},{i % 2}\n" for i in range(30)) + f"q30,{model},\n"
        )
    monkeypatch.chdir(here)
    data = es.read(*paths)
    assert {problem.path for problem in data.problems} == {*map(str, paths)}
    question(data).save("saved.json")
    saved = Path("saved.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in saved
    assert "alice" not in saved
    assert all(f'"{path}: 1 row has no score' in saved for path in ("a/scores.csv", "b/scores.csv", "c/scores.csv"))
