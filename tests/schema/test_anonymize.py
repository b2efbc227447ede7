"""Anonymising: nothing that identifies survives, and everything that belongs together stays together."""

from typing import Any

import polars as pl
import pytest

from evalstats.analysis.arena.arena import arena
from evalstats.analysis.compare.compare import compare
from evalstats.errors import InputError
from evalstats.schema.anonymize import Anonymizer, anonymized
from evalstats.schema.columns import TABLES, holds_ids, holds_labels, holds_text, is_personal
from evalstats.schema.data import EvalData
from evalstats.schema.pseudonyms import is_model_name, is_telling
from evalstats.schema.tables import check_table, frame_from_rows

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
# Rounding of sums over clusters that come in another order; the quantities are of size 1.
SAME = 1e-12


def votes(n: int = 240) -> EvalData:
    """Votes of 12 people on 4 models, with all that an export of an application may hold."""
    rows: list[dict[str, Any]] = []
    models = ("w", "x", "y", "z")
    for i in range(n):
        person, a, b = i % 12, models[i % 4], models[(i + 1 + i // 4 % 3) % 4]
        rows.append(
            {
                "run": "votes~12345678",
                "battle": f"battle-{i}",
                "event": f"event-{i // 2}",
                "item": f"How do I tell my landlord no. {i // 3}?",
                "model_a": a,
                "model_b": b,
                "outcome": ("a", "b", "tie")[(i * 7 + person) % 3],
                "rater": f"person-{person}@example.org",
                "session": f"session-of-person-{person}-{i // 24}",
                "judge": None,
                "status": "scored",
                "value_raw": "person wrote: the left one",
                "timestamp": f"2026-03-{1 + i % 28:02d}T13:45:{i % 60:02d}",
                "scenario": ("travel", "law")[i % 2],
                "language": "German",
                "tags": ["coding", "my own words on what I wanted to ask you there"],
                "customerId": 4_700_000 + person,
                "email": f"person-{person}@example.org",
                "prompt": "a prompt of somebody",
                "remark_of_support": "Called back on Tuesday",
                "category": ("a", "b")[i % 2],
                "account_balance": 1e9 + i,
                "n_turns": 3,
                "is_code": i % 2 == 0,
            }
        )
    run = {"run": "votes~12345678", "benchmark": "ours", "source": "/home/ann/votes.csv", "judge": "Ann Smith"}
    run |= {"config": '{"system_prompt": "You are Ann, answering Bob", "seed": 7}', "note": 'said "hello" to Ann'}
    return EvalData(comparisons=frame_from_rows(rows, "comparisons"), runs=frame_from_rows([run], "runs"))


def outcomes() -> EvalData:
    rows: list[dict[str, Any]] = [
        {
            "run": f"{model}~1",
            "model": model,
            "system": model,
            "benchmark": "b",
            "item": f"conversation {UUID} {i}",
            "metric": "ok",
            "score": float((i * i + shift * i) % 3 > 0),
            "status": "scored",
            "setting": "live",
            "user": f"user-{i % 9}",
            "locator": f"line {i}",
            "judge": "gpt-4-turbo" if i % 2 else "Ann Smith",
            "passage_text": f"passage {i % 7}",
            "reviewed": "Bob Miller",
        }
        for model, shift in (("m1", 0), ("m2", 1))
        for i in range(60)
    ]
    runs = [{"run": f"{model}~1", "model": model, "system": model, "benchmark": "b"} for model in ("m1", "m2")]
    metric = {"benchmark": "b", "metric": "ok", "kind": "binary", "low": 0.0, "high": 1.0, "primary": True}
    return EvalData(
        outcomes=frame_from_rows(rows, "outcomes"),
        runs=frame_from_rows(runs, "runs"),
        metrics=frame_from_rows([metric], "metrics"),
    )


def values(data: EvalData) -> str:
    return "\n".join(data.table(name).write_json() for name in TABLES)


@pytest.mark.parametrize(
    "told",
    [
        "person-3", "@example.org", "landlord", "session-of", "battle-7", "event-7", "47000", "prompt of", "Called back",
        "wrote", "words on", "13:45", "/home/ann", "Ann", "hello", "1000000",
    ],
)  # fmt: skip
def test_nothing_that_was_told_survives_in_votes(told: str) -> None:
    data = votes()
    assert told in values(data) or told == "13:45"
    assert told not in values(anonymized(data, KEY))


@pytest.mark.parametrize("told", [UUID, "conversation", "user-", "line ", "Ann Smith", "passage ", "Bob"])
def test_nothing_that_was_told_survives_in_outcomes(told: str) -> None:
    assert told in values(outcomes())
    assert told not in values(anonymized(outcomes(), KEY))


def test_what_the_votes_are_about_stays_readable() -> None:
    before, after = votes().comparisons, anonymized(votes(), KEY).comparisons
    kept = ["run", "model_a", "model_b", "outcome", "scenario", "language", "category", "n_turns", "is_code", "status"]
    assert after.select(kept).equals(before.select(kept))
    assert after["tags"].to_list() == [["coding"]] * before.height
    assert after["timestamp"].to_list() == before["timestamp"].dt.truncate("1d").to_list()
    assert not {"email", "prompt"} & set(after.columns)


def test_the_tables_stay_checked_tables() -> None:
    for data in (votes(), outcomes()):
        hidden = anonymized(data, KEY)
        for name in TABLES:
            if hidden.table(name).height:
                assert check_table(hidden.table(name), name).equals(hidden.table(name))


def test_groups_keep_their_structure() -> None:
    before, after = votes().comparisons, anonymized(votes(), KEY).comparisons
    for name in ("battle", "event", "item", "rater", "session", "customerId", "remark_of_support"):
        pairs = pl.DataFrame({"old": before[name].cast(pl.String), "new": after[name]}).unique()
        assert pairs.height == pairs["old"].n_unique() == pairs["new"].n_unique()


def test_the_same_key_gives_the_same_pseudonym_and_another_key_another() -> None:
    first, again, other = (anonymized(votes(), key).comparisons for key in (KEY, KEY, OTHER))
    assert first.equals(again)
    assert not set(first["rater"]) & set(other["rater"])
    # A column is a domain of its own: that a rater is also a user is not told.
    assert Anonymizer(KEY).names.of("rater", "ann") != Anonymizer(KEY).names.of("user", "ann")
    half = anonymized(EvalData(comparisons=votes().comparisons.tail(50)), KEY).comparisons
    assert half.equals(first.tail(50))


def test_an_id_is_the_same_as_a_number_and_as_text() -> None:
    names = Anonymizer(KEY).names
    ids = ([12, 13], ["12", "13"], [12.0, 13.0])
    assert len({tuple(names.of_series(pl.Series("user_id", each))) for each in ids}) == 1


def test_tags_of_other_rows_stay_as_they_are() -> None:
    frame = votes(3).comparisons.with_columns(pl.Series("tags", [["b", "a", "x@y.org"], None, []]))
    after = anonymized(EvalData(comparisons=frame), KEY).comparisons
    assert after["tags"].to_list() == [["b", "a"], None, []]


def test_pseudonyms_are_hmac_sha256() -> None:
    import hashlib

    # RFC 2104 written out, with the key's 32 bytes padded to the block of 64.
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in KEY.ljust(64, b"\0")) + b"evalstats\0rater\0ann").digest()
    outer = hashlib.sha256(bytes(b ^ 0x5C for b in KEY.ljust(64, b"\0")) + inner).hexdigest()
    assert Anonymizer(KEY).names.of("rater", "ann") == outer[:16]


def test_the_analysis_of_votes_is_the_same() -> None:
    before, after = (arena(data, cluster=["rater"]) for data in (votes(), anonymized(votes(), KEY)))
    assert before.clusters[0].name == "rater"
    for one, other in zip(before.rows, after.rows, strict=True):
        assert (one.name, one.n_clusters, one.ranks) == (other.name, other.n_clusters, other.ranks)
        for name in ("estimate", "std_error", "conf_low", "conf_high"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=SAME)


def test_the_comparison_of_outcomes_is_the_same() -> None:
    before, after = (compare(data, "m1", "m2", cluster=["user"]) for data in (outcomes(), anonymized(outcomes(), KEY)))
    for one, other in zip(before.rows, after.rows, strict=True):
        # Weights are drawn cluster by cluster in the order of their names; a p-value from draws moves by their noise.
        drawn = "wild" in one.method
        for name in ("estimate", "conf_low", "conf_high", *(() if drawn else ("p_value",))):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=SAME)


def test_items_of_the_lab_stay_since_other_files_share_them() -> None:
    data = outcomes()
    lab = data.outcomes.with_columns(
        pl.lit("lab").alias("setting"), pl.format("q{}", pl.int_range(pl.len()) % 60).alias("item")
    )
    assert anonymized(EvalData(outcomes=lab), KEY).outcomes["item"].to_list() == lab["item"].to_list()
    digests = lab.with_columns(pl.lit(UUID.replace("-", "")).alias("item"))
    assert set(anonymized(EvalData(outcomes=digests.head(1)), KEY).outcomes["item"]) == {UUID.replace("-", "")}
    text = lab.with_columns(pl.lit("Please write a poem for me and my wife on our wedding").alias("item"))
    assert "wedding" not in values(anonymized(EvalData(outcomes=text.head(1)), KEY))


def test_judges_that_are_models_stay() -> None:
    judges = anonymized(outcomes(), KEY).outcomes["judge"]
    assert judges.n_unique() == 2
    assert "gpt-4-turbo" in judges.to_list()


def test_ratings_and_their_raters() -> None:
    rows = [
        {"item": "i", "rater": "Ann", "rater_kind": "human", "criterion": "tone", "value": 1.0},
        {"item": "i", "rater": "gpt-4-turbo", "rater_kind": "judge", "criterion": "tone", "value": 1.0},
        {
            "item": "i",
            "rater": "gpt-4-turbo",
            "rater_kind": "human",
            "criterion": "aim",
            "label": "not what I asked of it at all",
        },
    ]
    after = anonymized(EvalData(ratings=frame_from_rows(rows, "ratings")), KEY).ratings
    assert after["rater"].to_list()[1] == "gpt-4-turbo"
    assert after["rater"].n_unique() == 3
    assert after["criterion"].to_list() == ["tone", "tone", "aim"]
    assert "asked" not in after.write_json()


def test_a_reason_that_quotes_the_row_is_not_told() -> None:
    row = {"run": "r", "battle": "1", "model_a": "x", "model_b": "y", "status": "unscored"}
    rows = [
        row | {"value_raw": "bob", "status_reason": "is bob, not a or b"},
        row | {"battle": "2", "status_reason": "no winner is given"},
    ]
    after = anonymized(EvalData(comparisons=frame_from_rows(rows, "comparisons")), KEY).comparisons
    assert after["status_reason"].to_list() == ["other", "no winner is given"]
    lab = frame_from_rows([each | {"setting": "lab"} for each in rows], "comparisons")
    after = anonymized(EvalData(comparisons=lab), KEY).comparisons
    assert after["status_reason"].to_list() == ["not told (anonymised)", "no winner is given"]
    assert after["value_raw"].to_list() == [None, None]


def test_a_column_may_be_kept_and_its_texts_are_not() -> None:
    frame = votes().comparisons.with_columns(pl.lit("gold").alias("plan"), pl.lit(UUID).alias("segment"))
    after = anonymized(EvalData(comparisons=frame), KEY, keep=["plan", "segment"])
    assert after.comparisons["plan"].to_list() == ["gold"] * frame.height
    assert UUID not in values(after)
    for name in ("email", "user_id", "prompt"):
        with pytest.raises(InputError, match=f"'{name}' is not kept"):
            anonymized(EvalData(), KEY, keep=[name])


def test_rows_that_depend_on_a_dropped_column_are_refused() -> None:
    data = outcomes()
    runs = data.runs.with_columns(pl.Series("dependence", [["passage_text"]] * data.runs.height))
    with pytest.raises(InputError, match="rows depend on column 'passage_text', which is dropped"):
        anonymized(EvalData(outcomes=data.outcomes, runs=runs), KEY)


def test_a_short_key_is_refused_without_being_shown() -> None:
    with pytest.raises(InputError, match="the key has 6 bytes") as caught:
        anonymized(EvalData(), b"secret")
    assert "secret" not in str(caught.value).replace("secrets.token_bytes", "")


def test_what_was_done_is_said() -> None:
    told = "\n".join(problem.message for problem in anonymized(votes(), KEY).problems)
    assert "pseudonyms in place of battle (240), event (240), item (240), rater (240), session (240)" in told
    assert "email (240)" in told
    assert "remark_of_support (keep=COLUMN keeps it readable)" in told
    assert "times are cut to the day" in told


def test_no_rows_are_no_trouble() -> None:
    assert anonymized(EvalData(), KEY).problems == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("prompt", "text"), ("conversation_a", "text"), ("userMessage", "text"), ("raw", "text"), ("feedback", "text"),
        ("email", "personal"), ("client_ip", "personal"), ("Phone", "personal"), ("name", "personal"), ("zip", "personal"),
        ("user_id", "id"), ("chatId", "id"), ("request_id", "id"), ("device_id", "id"), ("order_no", "id"), ("annotator", "id"),
        ("category", "label"), ("Difficulty", "label"),
        ("prompt_tokens", ""), ("n_messages", ""), ("length", ""), ("foo", ""), ("evaluation_order", ""), ("turn", ""),
    ],
)  # fmt: skip
def test_what_the_name_of_a_column_tells(name: str, kind: str) -> None:
    tests = (("personal", is_personal), ("text", holds_text), ("id", holds_ids), ("label", holds_labels))
    assert next((each for each, test in tests if test(name)), "") == kind


@pytest.mark.parametrize(
    "value",
    ["a@b.org", UUID, "192.168.0.1", "2001:db8::ff00:42:8329", "+49 30 1234567", "deadbeef00112233", "2026-01-01T10:00",
     "x" * 61, "two\nlines", "one two three four five six seven eight"],
)  # fmt: skip
def test_values_that_tell(value: str) -> None:
    assert is_telling(value)


@pytest.mark.parametrize(
    "value", ["travel", "goal_switching", "q17", "2026-01-01", "v1.2.3", "12", "Judgment under uncertainty", ""]
)
def test_labels_do_not_tell(value: str) -> None:
    assert not is_telling(value)


@pytest.mark.parametrize("judge", ["gpt-4", "claude-3-opus", "openai/o3", "gpt-4, claude-3"])
def test_models_that_judge(judge: str) -> None:
    assert is_model_name(judge)


@pytest.mark.parametrize("judge", ["Claude", "ann", "rater7", "claude7@example.org", "gpt-4, Ann"])
def test_people_who_judge(judge: str) -> None:
    assert not is_model_name(judge)
