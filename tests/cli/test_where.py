"""`--where` holds for every table that is answered from, or says which it leaves out."""

from dataclasses import replace

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats import from_frame
from evalstats.cli.load import filtered, problem_lines
from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.schema.data import EvalData, Problem
from evalstats.schema.tables import frame_from_rows


@pytest.fixture
def data() -> EvalData:
    scores = pl.DataFrame(
        {"item": ["1", "2", "1", "2"], "model": list("aabb"), "score": [1.0, 0.0, 0.0, 1.0], "lang": ["de", "en"] * 2}
    )
    votes = [
        {
            "battle": str(k),
            "model_a": "a",
            "model_b": "b",
            "outcome": "a",
            "status": "scored",
            "run": "v",
            "lang": lang,
            "benchmark": "arena",
        }
        for k, lang in enumerate(["de", "de", "en"])
    ]
    rated = [
        {
            "item": str(k),
            "model": "a",
            "rater": "r",
            "criterion": "c",
            "value": 1.0,
            "run": "x",
            "lang": lang,
            "benchmark": "b",
        }
        for k, lang in enumerate(["de", "en", "en"])
    ]
    return replace(
        from_frame(scores, item="item", score="score", model="model"),
        comparisons=frame_from_rows(votes, "comparisons"),
        ratings=frame_from_rows(rated, "ratings"),
    )


def heights(data: EvalData) -> tuple[int, int, int]:
    return data.outcomes.height, data.comparisons.height, data.ratings.height


def test_scores_votes_and_ratings_are_kept_alike(data: EvalData, capsys: pytest.CaptureFixture[str]) -> None:
    assert heights(data) == (4, 3, 3)
    assert heights(filtered(data, ["lang=de"])) == (2, 2, 1)
    assert heights(filtered(data, ["lang=en"])) == (2, 1, 2)
    assert heights(filtered(data, ["lang=de", "lang=en"])) == (4, 3, 3)
    assert capsys.readouterr().err == ""


def test_a_table_without_the_column_or_the_level_is_left_out_and_that_is_said(
    data: EvalData, capsys: pytest.CaptureFixture[str]
) -> None:
    without = replace(data, comparisons=data.comparisons.drop("lang"))
    assert heights(filtered(without, ["lang=de"])) == (2, 0, 1)
    said = " ".join(capsys.readouterr().err.split())
    assert "note: --where leaves out 3 votes: votes have no column 'lang'" in said
    other = replace(data, ratings=data.ratings.with_columns(lang=pl.lit("fr")))
    assert heights(filtered(other, ["lang=de"])) == (2, 2, 0)
    assert "leaves out 3 ratings: no rating has lang 'de'" in " ".join(capsys.readouterr().err.split())


def test_a_level_that_nothing_has_is_an_error(data: EvalData) -> None:
    with pytest.raises(InputError, match="lang has no level 'fr'"):
        filtered(data, ["lang=fr"])
    ratings_alone = EvalData(ratings=data.ratings)
    with pytest.raises(InputError, match="ratings have no column 'size'"):
        filtered(ratings_alone, ["size=1"])
    assert filtered(data, None) is data


def test_ratings_of_ones_own_are_chosen_from(tmp_path) -> None:
    """The option was taken and nothing was done with it."""
    rows = [f"{k},{'de' if k % 3 else 'en'},{k % 2},{(k // 2) % 2}" for k in range(90)]
    (tmp_path / "r.csv").write_text("\n".join(["item,lang,anna,bert", *rows]) + "\n")
    arguments = ["judges", str(tmp_path / "r.csv"), "--raters", "anna", "--raters", "bert", "--humans", "anna"]
    whole, part = (
        CliRunner().invoke(app, [*arguments, "--format", "json", *more]) for more in ([], ["--where", "item=3"])
    )
    assert whole.exit_code == 0, whole.output
    assert part.output != whole.output or isinstance(part.exception, InputError)
    wrong = CliRunner().invoke(app, [*arguments, "--where", "colour=red"])
    assert isinstance(wrong.exception, InputError)
    assert "ratings have no column 'colour'" in str(wrong.exception)


def test_what_is_the_same_of_many_files_is_said_once() -> None:
    problems = [Problem(path=f"{name}.json", message="8 samples crashed", severity="note") for name in "abc"]
    problems += [Problem(path=f"{name}.json", message="is no JSON") for name in "def"]
    assert problem_lines(problems) == [
        "note: a.json and 2 more: 8 samples crashed",
        "not read: d.json, e.json and f.json: is no JSON",
    ]
