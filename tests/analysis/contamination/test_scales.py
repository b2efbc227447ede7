"""Models of unlike ability: on which scale they are compared, and where the scales or the items do not decide."""

import numpy as np
import polars as pl
import pytest
from scipy import special

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders.frames import from_frame
from tests.analysis.contamination.example_items import REFERENCES

OPTIONS = {"split": "source", "suspects": "suspect", "references": REFERENCES}


def rasch_rows(*, suspect, references=0.0, seen=0.0, easier=1.0, n=500, trials=1, seed=0):
    """Rasch models of ability `suspect` and `references`; public items easier for all, and by `seen` for the suspect."""
    rng = np.random.default_rng(seed)
    skill = np.append(suspect, references + rng.normal(0, 0.3, 5))
    old = np.arange(2 * n) < n
    logits = skill - rng.normal(size=(2 * n, 1)) + old[:, None] * (easier + seen * np.eye(6)[0])
    right = rng.random((trials, 2 * n, 6)) < special.expit(logits)
    return pl.DataFrame(
        {
            "item": [f"q{i}" for _ in range(trials) for i in range(2 * n) for _ in range(6)],
            "trial": [k for k in range(trials) for _ in range(12 * n)],
            "source": ["public" if i < n else "fresh" for _ in range(trials) for i in range(2 * n) for _ in range(6)],
            "model": ["suspect", *REFERENCES] * (2 * n * trials),
            "score": right.astype(float).ravel(),
        }
    )


def judged(frame, **options):
    trial = {"trial": "trial"} if frame["trial"].n_unique() > 1 else {}
    data = from_frame(frame.drop([] if trial else ["trial"]), item="item", score="score", model="model", **trial)
    return es.contamination(data, **{**OPTIONS, **options})


@pytest.mark.parametrize(("suspect", "references"), [(-0.2, -2.9), (0.5, 2.9)])
def test_a_clean_model_of_another_ability_is_not_inflated(suspect, references):
    rows = rasch_rows(suspect=suspect, references=references)
    assert judged(rows, scale="points").verdict == "inflated"
    found = judged(rows)
    assert (found.compared, found.verdict) == ("latent", "inconclusive")
    assert "the two scales disagree" in found.row("suspect").reason
    assert found.row("suspect").logits.conf_low < 0 < found.row("suspect").logits.conf_high
    section = found.document().section("scales")
    assert section is not None
    assert section.heading == "In points alone suspect would look different"


def test_a_contaminated_strong_model_is_found_where_points_see_nothing():
    rows = rasch_rows(suspect=2.3, seen=1.0, easier=0.5, seed=1)
    assert judged(rows, scale="points").verdict == "inconclusive"
    found = judged(rows)
    row = found.row("suspect")
    assert found.verdict == "inflated"
    assert row.logits.conf_low < 1.0 < row.logits.conf_high
    # Told in points at its own score: what it has right on public items, less what a clean model of its ability would have.
    assert 0.0 < row.conf_low < row.estimate < row.conf_high < row.old_score
    assert row.own == pytest.approx(row.estimate + row.reference)
    assert any("rests on the logit scale" in note.text for note in found.notes if note.kind == "scale")


def test_the_points_are_those_by_which_the_score_is_too_high():
    gains = [judged(rasch_rows(suspect=0.5, seen=1.0, n=1500, seed=seed)).row("suspect").estimate for seed in range(3)]
    # E expit(1.5 + 1 - z) - E expit(1.5 - z), z standard normal: old items are easier by 1.
    z = special.ndtri((np.arange(2000) + 0.5) / 2000)
    true = (special.expit(2.5 - z) - special.expit(1.5 - z)).mean()
    assert np.mean(gains) == pytest.approx(true, abs=0.02)


def test_where_too_few_items_tell_the_models_apart_nothing_is_said():
    found = judged(rasch_rows(suspect=3.0, seen=4.0, n=150))
    assert found.verdict == "inconclusive"
    assert (
        found.document().headline == "It is not settled whether suspect gains more on public items than clean models do"
    )
    assert "outside the references' range" in found.row("suspect").reason
    assert "at least 5 are needed" in found.row("suspect").reason


def test_shares_of_trials_are_compared_in_ability_too():
    found = judged(rasch_rows(suspect=1.0, seen=1.5, trials=3, n=150))
    assert (found.compared, found.verdict) == ("latent", "inflated")


def test_scores_that_are_not_right_or_wrong_are_compared_in_points_and_that_is_said():
    rows = rasch_rows(suspect=0.0, n=100).with_columns(score=pl.col("score") * 3.7)
    found = judged(rows)
    assert found.compared == "points"
    assert found.row("suspect").logits is None
    assert any("compared in points" in note.text for note in found.notes if note.kind == "scale")
    with pytest.raises(InputError, match="scale is latent, and 'score' is no share of right answers"):
        judged(rows, scale="latent")


def test_without_a_second_model_of_the_family_points_still_stand_beside():
    found = judged(rasch_rows(suspect=1.0, n=100), suspects=None, references=None)
    assert {row.model for row in found.rows} == {"suspect", *REFERENCES}
    frame = found.to_frame()
    assert frame["logits"].null_count() == frame["points"].null_count() == 0
