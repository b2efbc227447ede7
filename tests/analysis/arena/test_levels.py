"""Claims for these prompts, and for other prompts too."""

import numpy as np
import polars as pl

import evalstats as es


def _votes(n_prompts: int, *, seed: int = 0, suits: float = 0.0, n: int = 1_500) -> pl.DataFrame:
    """Four models apart by .6 from one to the next, 60 raters; `suits` is by how much prompts suit models."""
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=n)
    second = (first + rng.integers(1, 4, size=n)) % 4
    prompt = rng.integers(n_prompts, size=n)
    liking = 0.6 * np.arange(4) + suits * rng.normal(size=(n_prompts, 4))
    won = rng.random(n) < 1.0 / (1.0 + np.exp(liking[prompt, second] - liking[prompt, first]))
    names = np.array(["ash", "birch", "cedar", "dogwood"])
    return pl.DataFrame(
        {
            "model_a": names[first],
            "model_b": names[second],
            "outcome": np.where(won, "a", "b"),
            "item": [f"p{code}" for code in prompt.tolist()],
            "rater": [f"u{code}" for code in rng.integers(60, size=n).tolist()],
        }
    )


def test_few_prompts_leave_claims_for_these_prompts() -> None:
    result = es.arena(_votes(6, suits=2.0), checks=False)
    levels = result.levels
    assert levels is not None
    assert (levels.shown, levels.n_prompts, levels.n_pairs, levels.n_separated_new) == ("these", 6, 6, 0)
    assert levels.n_separated_these == sum(pair.verdict != "not separated" for pair in result.pairs) > 0
    assert [each.name for each in result.clusters] == ["rater"]
    summary = result.summary()
    assert "on these 6 prompts" in summary
    assert "For other prompts too, none is: 6 prompts cannot tell." in summary
    assert "on these 6 prompts" in result.estimand


def test_many_prompts_leave_claims_for_other_prompts() -> None:
    result = es.arena(_votes(80), checks=False)
    assert result.levels is not None
    assert result.levels.shown == "new"
    assert [each.name for each in result.clusters] == ["item", "rater"]
    assert f"On these 80 prompts alone, {result.levels.n_separated_these} are" in result.summary()


def test_asked_clusters_are_one_level() -> None:
    votes = _votes(6, suits=2.0)
    wide, every = (es.arena(votes, checks=False, cluster=asked) for asked in ("auto", ["item", "rater"]))
    assert wide.levels is every.levels is None
    assert [row.std_error for row in wide.rows] == [row.std_error for row in every.rows]
    assert es.arena(votes.drop("rater"), checks=False).levels is None
    narrow = es.arena(votes, checks=False, cluster="rater")
    shown = es.arena(votes, checks=False)
    assert [row.ranks for row in narrow.rows] == [row.ranks for row in shown.rows]
    assert [row.std_error for row in narrow.rows] == [row.std_error for row in shown.rows]


def test_a_saved_result_keeps_both_levels(tmp_path) -> None:
    result = es.arena(_votes(6, suits=2.0), checks=False)
    result.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json").levels == result.levels


def test_a_rater_with_many_of_the_votes_is_named_first() -> None:
    votes = _votes(80)
    said = [note.text for note in es.arena(votes, checks=False).notes if note.kind == "dependence"]
    assert not said
    heavy = votes.with_columns(
        pl.when(pl.int_range(pl.len()) < 600).then(pl.lit("u0")).otherwise(pl.col("rater")).alias("rater")
    )
    counts = heavy["rater"].value_counts()["count"].to_numpy()
    (note,) = [note for note in es.arena(heavy, checks=False).notes if note.kind == "dependence"]
    worth = counts.sum() ** 2 / (counts**2).sum()  # Kish's effective number
    assert (
        note.text
        == f"One rater has {100 * counts.max() / 1500:.2g}% of the votes: 60 raters are worth {worth:.0f} equal ones"
    )
    assert note.caution
