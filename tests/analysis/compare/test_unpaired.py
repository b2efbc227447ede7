"""Two systems on different users: which method decides, what is refused, what is said, and what the numbers are."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.compare.gate import gate
from evalstats.errors import CannotAnswerError, EvalStatsWarning, InputError
from evalstats.stats.unpaired import TwoProportions, miettinen_nurminen, welch

COLUMNS = {"model": "model", "score": "solved"}
# Sums in another order.
ROUNDING = 1e-9


def visits(n: tuple[int, int] = (300, 320), rates: tuple[float, float] = (0.3, 0.4), seed: int = 0) -> pl.DataFrame:
    """One row a user, right or wrong, with a covariate, a country, a cost."""
    rng = np.random.default_rng(seed)
    parts = []
    for name, size, rate in zip(("control", "treatment"), n, rates, strict=True):
        before = rng.normal(0, 1, size)
        parts.append(
            pl.DataFrame(
                {
                    "user_id": [f"{name}{i}" for i in range(size)],
                    "model": name,
                    "converted": (rng.random(size) < rate).astype(int),
                    "spent": 2 + before + rng.normal(0.2 * (name == "treatment"), 0.5, size),
                    "before": before,
                    "country": rng.choice(["de", "fr", "it"], size),
                    "latency": rng.lognormal(0 if name == "control" else -0.1, 0.3, size),
                }
            )
        )
    return pl.concat(parts)


def read(table: pl.DataFrame, score: str = "converted", item: str = "user_id", **more: Any) -> es.EvalData:
    columns = {name: name for name in ("before", "country") if name in table.columns}
    return es.from_frame(table, item=item, model="model", score=score, **columns, **more)


def compare(data: es.EvalData, **options: Any) -> es.Comparison:
    return es.compare(data, "control", "treatment", **options)


def test_right_or_wrong_is_decided_by_the_score_interval() -> None:
    table = visits()
    result = compare(read(table), paired=False)
    control, treatment = (table.filter(model=name)["converted"] for name in ("control", "treatment"))
    expected = miettinen_nurminen(
        TwoProportions(baseline=int(control.sum()), n_baseline=300, candidate=int(treatment.sum()), n_candidate=320)
    )
    assert (result.estimate, result.conf_low, result.conf_high, result.p_value) == pytest.approx(
        (expected.estimate, expected.conf_low, expected.conf_high, expected.p_value), abs=ROUNDING
    )
    assert result.verdict == "better"
    assert result.different == "users"
    assert [row.method for row in result.rows] == [
        "Miettinen-Nurminen score",
        "Newcombe's hybrid of Wilson intervals",
    ]
    assert (result.baseline.n_items, result.candidate.n_items, result.n_items) == (300, 320, 620)
    told = result.summary()
    assert "on different users" in told
    assert "both answered" not in told


def test_graded_scores_are_decided_by_welch() -> None:
    table = visits()
    result = compare(read(table, "spent"), paired=False)
    control, treatment = (table.filter(model=name)["spent"].to_numpy() for name in ("control", "treatment"))
    theirs = stats.ttest_ind(treatment, control, equal_var=False)
    assert (result.statistic, result.df, result.p_value) == pytest.approx(
        (theirs.statistic, theirs.df, theirs.pvalue), rel=ROUNDING
    )
    assert (result.conf_low, result.conf_high) == pytest.approx(
        (welch(control, treatment).conf_low, welch(control, treatment).conf_high), rel=ROUNDING
    )


def test_swapping_the_sides_flips_the_sign_and_the_order_of_rows_does_not_matter() -> None:
    table = visits()
    one = compare(read(table), paired=False)
    other = es.compare(read(table.sample(fraction=1, shuffle=True, seed=3)), "treatment", "control", paired=False)
    assert one.estimate is not None
    assert other.estimate == pytest.approx(-one.estimate, abs=ROUNDING)
    assert other.conf_high == pytest.approx(-(one.conf_low or 0), abs=ROUNDING)
    assert (one.verdict, other.verdict) == ("better", "worse")


def test_rows_of_one_user_are_a_cluster() -> None:
    """Ten rows a user that go together: the interval is that of users, three times as wide as that of rows."""
    rng = np.random.default_rng(1)
    users = [f"{name}{i}" for name in ("control", "treatment") for i in range(30)]
    level = dict(zip(users, rng.random(60), strict=True))
    table = pl.DataFrame(
        [
            {"user_id": user, "model": user.rstrip("0123456789"), "converted": int(rng.random() < level[user])}
            for user in users for _ in range(10)
        ]
    )  # fmt: skip
    result = compare(read(table, item="#row", dependence=["user_id"]))
    assert (result.method, result.n_clusters, result.clusters) == (
        "CR2 of two samples, Satterthwaite df",
        60,
        ("user_id",),
    )
    rows = next(row for row in result.rows if row.role == "sensitivity")
    assert rows.ends is not None
    assert result.ends is not None
    width = [each[1] - each[0] for each in (result.ends, rows.ends)]  # pyright: ignore[reportOperatorIssue]
    assert width[0] > 1.5 * width[1]
    assert "300 against 300 rows; clustered by user_id (60)" in result.summary()


def test_a_covariate_measured_before_makes_the_interval_shorter() -> None:
    data = read(visits(), "spent")
    plain, adjusted = compare(data, paired=False), compare(data, paired=False, covariate="before")
    assert plain.std_error is not None
    assert adjusted.std_error is not None
    assert adjusted.std_error < 0.6 * plain.std_error
    assert adjusted.verdict == "better"
    assert [row.role for row in adjusted.rows] == ["headline", "check"]


def test_strata_and_levels() -> None:
    data = read(visits((600, 600)))
    micro = compare(data, paired=False, average="micro", over="country")
    assert micro.method.startswith("difference within strata")
    split = compare(data, paired=False, by="country")
    assert [group.level for group in split.groups] == ["de", "fr", "it"]
    assert all(group.conf_level == pytest.approx(1 - 0.05 / 3) for group in split.groups)
    total = sum(group.n_items for group in split.groups)
    assert total == split.n_items == 1200


def test_margin_and_gate() -> None:
    data = read(visits((3000, 3000), (0.5, 0.5)))
    result = compare(data, paired=False, margin="6pp")
    assert result.verdict == "equivalent"
    assert gate(result, "not-noninferior").passed
    assert gate(result, "worse").passed
    few = compare(read(visits((60, 60), (0.5, 0.5))), paired=False, margin="6pp")
    assert few.verdict == "powerless"
    assert gate(few, "not-noninferior").passed is False


def test_two_against_two_are_powerless() -> None:
    table = pl.DataFrame(
        {"user_id": ["a", "b", "c", "d"], "model": ["control"] * 2 + ["treatment"] * 2, "converted": [0, 0, 1, 1]}
    )
    result = compare(read(table), paired=False)
    assert result.verdict == "powerless"
    assert "could not go below 0.083" in result.verdict_reason


def test_numbered_rows_are_not_paired_but_where_a_text_says_so() -> None:
    table = visits((100, 100)).drop("user_id")
    alone = compare(read(table, item="#row"))
    assert alone.different == "items"
    assert any("Rows are numbered by their place and not paired" in note.text for note in alone.notes)
    prompts = [f"question {i}" for i in range(100)] * 2
    asked = table.with_columns(prompt=pl.Series(prompts))
    aligned = es.from_frame(asked, item="#row", model="model", score="converted", prompt="prompt")
    assert compare(aligned).different == ""
    insisted = compare(read(table, item="#row"), paired=True)
    assert (insisted.different, insisted.n_items) == ("", 100)


def test_files_whose_rows_the_user_numbers_are_paired(tmp_path: Path) -> None:
    table = visits((100, 100)).select("model", "converted")
    for name in ("control", "treatment"):
        table.filter(model=name).select("converted").write_csv(tmp_path / f"{name}.csv")
    paths = tmp_path / "control.csv", tmp_path / "treatment.csv"
    numbered = es.read(*paths, column_map=es.ColumnMap.from_options(["item=#row", "score=converted"]))
    assert (compare(numbered).different, compare(numbered).n_items) == ("", 100)
    assert compare(numbered, paired=False).n_items == 200
    assert compare(es.read(*paths)).different == "items"


def test_users_of_one_table_who_met_one_side_each_are_different_users() -> None:
    table = visits()
    found = compare(read(table))
    assert found.different == "users"
    assert found.p_value == compare(read(table), paired=False).p_value
    # A few who strayed into the other side make no pairs of the rest; where many met both, they are pairs.
    few, many = (
        table.with_columns(user_id=pl.col("user_id").str.replace(f"^(control|treatment){which}$", "both${2}"))
        for which in ("(1?[0-9])", "([0-9]{1,2})")
    )
    assert (compare(read(few)).different, compare(read(few)).n_clusters) == ("users", 600)
    assert (compare(read(many)).different, compare(read(many)).n_items) == ("", 100)


def test_rows_of_users_who_met_one_side_each_are_different_users_and_a_named_covariate_is_no_score() -> None:
    users = visits((60, 60))
    rows = pl.concat([users.with_columns(session_id=pl.col("user_id") + f"/{k}") for k in range(3)])
    table = rows.select("session_id", "user_id", "model", "converted", "before")
    with pytest.warns(EvalStatsWarning, match="score='converted'"):
        found = compare(table, metric="converted", covariate="before", cluster="user_id")  # pyright: ignore[reportArgumentType]
    assert found.different is not None
    assert found.n_clusters == 120


def test_two_tables_are_named_in_one_dict() -> None:
    first = pl.DataFrame({"id": range(40), "ok": [1, 0] * 20})
    second = first.with_columns(ok=pl.lit(1)).to_pandas()
    with pytest.warns(es.EvalStatsWarning, match="item='id', score='ok'"):
        found = es.compare({"old": first, "new": second})
    assert (found.baseline.name, found.candidate.name, found.estimate, found.n_items) == ("old", "new", 0.5, 40)
    with pytest.raises(InputError, match="baseline is a DataFrame; name both in one dict"):
        es.compare(first, second)
    both = pl.concat([first.with_columns(model=pl.lit(name)) for name in "ab"])
    with pytest.warns(es.EvalStatsWarning), pytest.raises(InputError, match="'new' stands for 2 systems"):
        es.compare({"old": first, "new": both})


def test_ids_of_questions_that_nobody_shares_are_asked_about(tmp_path: Path) -> None:
    """They may be the same questions, written differently; and so may be the users of two files."""
    said = "if they are different users or items, say so: paired=False"
    with pytest.raises(CannotAnswerError, match=said):
        compare(read(visits().rename({"user_id": "question"}), item="question"))
    for name, rows in visits().group_by("model"):
        rows.select("user_id", "converted").write_csv(tmp_path / f"{name[0]}.csv")
    paths = tmp_path / "control.csv", tmp_path / "treatment.csv"
    files = es.read(*paths, column_map=es.ColumnMap.from_options(["item=user_id", "score=converted"]))
    with pytest.raises(CannotAnswerError, match=said):
        compare(files)


def test_users_who_met_both_sides_are_clusters() -> None:
    table = visits((80, 80))
    mixed = table.with_columns(
        user_id=pl.when(pl.int_range(pl.len()) % 4 == 0)
        .then(pl.int_range(pl.len()) % 80)
        .cast(pl.String)
        .fill_null(pl.col("user_id"))
    )
    result = compare(read(mixed), paired=False)
    assert result.n_clusters == 140
    (note,) = [note for note in result.notes if "20 of 140 users have scores of several systems" in note.text]
    assert not note.caution


@pytest.mark.parametrize("key", ["account_id", "user"])
def test_persons_who_met_both_sides_are_compared_with_themselves(key: str) -> None:
    """Hard cases meet the new version more often, so that over rows it loses what each person gains (Simpson's paradox)."""
    rng = np.random.default_rng(3)
    rows = [
        (f"p{i}", model, f"d{k % 5}", int(rng.random() < (0.3 if hard else 0.8) + 0.15 * (model == "v2")))
        for i in range(120)
        for hard in (i % 2,)
        for model, n in (("v1", 2 if hard else 8), ("v2", 8 if hard else 2))
        for k in range(n if i > 5 or model == "v1" else 0)
    ]
    table = pl.DataFrame(rows, schema=[key, "model", "day", "solved"], orient="row")
    data = es.from_frame(
        table, item="#row", model="model", score="solved", **({"user": "user"} if key == "user" else {})
    )
    result = es.compare(data, "v1", "v2")
    means = (
        table.group_by(key, "model")
        .agg(pl.col("solved").mean())
        .pivot("model", index=key, values="solved")
        .drop_nulls()
    )
    assert (result.different, result.n_items, result.verdict) == ("", 114, "better")
    assert result.estimate == pytest.approx((means["v2"] - means["v1"]).mean())
    assert (
        result.ends
        == es.compare(es.from_frame(table, item=key, trial="#order", model="model", score="solved"), "v1", "v2").ends
    )
    [note] = [note for note in result.notes if "compared with itself" in note.text]
    assert note.line == (
        f"Most {key.removesuffix('_id')}s met both sides, so each is compared with itself, over all its rows. To compare rows: "
        "paired=False."
    )
    assert [row.may_be_best for row in es.leaderboard(data).rows] == [True, False]
    assert es.compare(data, "v1", "v2", paired=False).verdict == "worse"
    # Of what the question splits by, a person has several levels.
    assert es.compare(data, "v1", "v2", by="day").different
    some = es.from_frame(
        table.filter((pl.col("model") == "v1") == pl.col(key).str.ends_with("4")), item="#row", **COLUMNS
    )
    assert es.compare(some, "v1", "v2").different


def of_the_ratio(result: es.Comparison) -> list[tuple[str, bool]]:
    return [(note.line, note.caution) for note in result.notes if "ratio" in note.line]


def test_an_uneven_split_is_noted_until_a_ratio_is_declared() -> None:
    """Whoever rolls out to 40% means it: only against a declared ratio is the assignment broken."""
    data = read(visits((600, 400)))
    [(text, loud)] = of_the_ratio(compare(data, paired=False))
    assert not loud
    assert text == (
        "control has 600 users and treatment 400; if 1:1 was meant, that is no chance (p < 0.001). Compare tests the ratio that "
        "was meant: ratio=A:B."
    )
    assert not of_the_ratio(compare(data, paired=False, ratio="60:40"))
    [(turned, loud)] = of_the_ratio(compare(data, paired=False, ratio="40:60"))
    assert loud
    assert turned.endswith("The ratio is baseline:candidate; the other way round it fits: ratio='60:40'.")


def test_different_items_are_no_split_of_one_stream() -> None:
    table = visits((600, 400)).rename({"user_id": "question"})
    assert not of_the_ratio(compare(read(table, item="question"), paired=False))


def test_no_verdict_stands_against_a_declared_ratio() -> None:
    data = read(visits((600, 400)))
    plain = compare(data, paired=False, by="country", margin=0.5)
    result = compare(data, paired=False, by="country", margin=0.5, ratio="3:1")
    assert (result.verdict, result.answered, result.at_margin) == ("invalid", False, None)
    assert {row.verdict for row in result.groups} == {"invalid"}
    assert (result.estimate, result.ends, result.p_value) == (plain.estimate, plain.ends, plain.p_value)
    assert gate(result, "worse").exit_status == gate(result, "not-noninferior").exit_status == 3
    [(text, loud)] = of_the_ratio(result)
    assert loud
    assert "in a ratio of 3:1 that is no chance" in text
    summary = result.summary()
    assert "treatment and control cannot be compared: users were not split 3:1" in summary
    assert "p <" not in summary.partition("(")[0]
    assert "would be detected" not in summary


def test_users_without_a_score_count_as_assigned() -> None:
    """Half of the treated lack a score: their number fits all the same."""
    table = visits((600, 600)).with_columns(pl.col("converted").cast(pl.Float64))
    lost = (
        pl.when((pl.col("model") == "treatment") & (pl.int_range(pl.len()) % 2 == 0)).then(None).otherwise("converted")
    )
    result = compare(read(table.with_columns(converted=lost)), paired=False, ratio="1:1")
    assert result.verdict != "invalid"
    assert not of_the_ratio(result)


def test_clusters_that_both_sides_share_are_not_what_they_differ_by() -> None:
    table = visits((300, 300)).with_columns(region=pl.format("r{}", pl.int_range(pl.len()) % 20))
    result = compare(read(table, region="region"), paired=False, cluster="region")
    assert (result.different, result.clusters, result.counted_as) == ("users", ("region",), "rows")
    assert f"rows; clustered by region ({result.n_clusters})" in result.summary()


def test_turns_of_a_conversation_are_clustered_by_it_under_its_name() -> None:
    table = visits((300, 300)).with_columns(conversation_id=pl.format("c{}", pl.int_range(pl.len()) // 3))
    table = table.with_columns(turn=pl.int_range(pl.len()) % 3)
    data = es.from_frame(table, item="conversation_id", variant="turn", model="model", score="converted")
    result = compare(data, paired=False)
    assert (result.different, result.clusters, result.n_clusters) == ("conversations", ("conversation_id",), 200)


def test_two_files_are_no_split_of_one_stream(tmp_path: Path) -> None:
    table = visits((5000, 5400)).select("user_id", "model", "converted")
    for name in ("control", "treatment"):
        table.filter(model=name).write_csv(tmp_path / f"{name}.csv")
    data = es.read(tmp_path / "control.csv", tmp_path / "treatment.csv")
    assert not of_the_ratio(compare(data, paired=False))
    assert of_the_ratio(compare(data, paired=False, ratio="1:1"))


def test_missing_scores_that_could_undo_it_forbid_the_verdict() -> None:
    table = visits((400, 400)).with_columns(pl.col("converted").cast(pl.Float64))
    holes = table.with_columns(
        converted=pl.when((pl.col("model") == "treatment") & (pl.int_range(pl.len()) % 5 == 0))
        .then(None)
        .otherwise("converted")
    )
    result = compare(read(holes), paired=False)
    assert result.candidate.n_items == 320
    assert (result.verdict, result.missing.withheld) == ("inconclusive", "better")
    assert compare(read(holes), paired=False, missing="ignorable").verdict == "better"
    worst = [row.estimate for row in result.missing.rows if "against the candidate" in row.note]
    candidate = holes.filter(model="treatment")["converted"].fill_null(0.0).mean()
    control = holes.filter(model="control")["converted"].mean()
    assert worst == pytest.approx([candidate - control], abs=ROUNDING)  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sequential": True}, "sequential"),
        ({"covariate": "country"}, "covariate 'country' is no number"),
        ({"cluster": "nothing"}, "nothing"),
        ({"covariate": "before", "paired": True}, "covariate= is for groups that share no item"),
        ({"ratio": "1:1", "paired": True}, "ratio= is for groups that share no item"),
        *(({"ratio": text}, "give the shares of baseline and candidate") for text in ("60", "60:0", "a:b", "nan:1")),
    ],
)
def test_refusals(options: dict[str, Any], named: str) -> None:
    with pytest.raises((InputError, CannotAnswerError), match=named):
        compare(read(visits()), **{"paired": False, **options})


def test_a_result_is_saved_and_shown(tmp_path: Path) -> None:
    result = compare(read(visits(), "latency"), paired=False, higher_is_better=False)
    result.save(tmp_path / "r.json")
    again = es.load_result(tmp_path / "r.json")
    assert again == result
    assert "users" in again.to_markdown()
    assert "both answered" not in result.document().headline + result.explain()


@pytest.mark.slow
def test_type_one_error_of_whole_comparisons() -> None:
    """Of 1,000 A/B tests of equal sides (12 to 60 users a side, right or wrong) at most 6.5% claim a direction."""
    rng = np.random.default_rng(9)
    claims = 0
    for seed in range(1000):
        n = int(rng.integers(12, 60)), int(rng.integers(12, 60))
        rate = float(rng.uniform(0.1, 0.9))
        claims += compare(read(visits(n, (rate, rate), seed)), paired=False).verdict in ("better", "worse")
    assert claims / 1000 < 0.065


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_an_average_over_levels_keeps_the_clusters(average: str) -> None:
    """It took 3,600 visits of 120 users for independent: better in 45% of tables without a difference."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "model": model,
            "user": f"{model}{u}",
            "solved": int(rng.random() < share),
            "country": rng.choice(["de", "fr"]),
        }
        for model in ("a", "b")
        for u, share in enumerate(rng.beta(0.5, 0.5, 40))
        for _ in range(20)
    ]
    data = es.from_frame(pl.DataFrame(rows), item="#row", score="solved", model="model", dependence="user")
    plain = es.compare(data, "a", "b", paired=False)
    found = es.compare(data, "a", "b", paired=False, average=average, over="country")
    assert found.clusters == plain.clusters == ("user",)
    assert found.std_error == pytest.approx(plain.std_error, rel=0.1)  # countries are drawn for each visit
