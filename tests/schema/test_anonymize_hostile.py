"""Anonymising tables whose columns hide people: ids as plain numbers, names in labels, words of users in reasons."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.cli.ingest_run import ingest
from evalstats.schema.anonymize import MAX_ROWS, Anonymizer, ReadableColumn, Watch, anonymized
from evalstats.schema.columns import is_measure
from evalstats.schema.data import EvalData
from evalstats.schema.pseudonyms import is_no_label, reason_class
from evalstats.schema.tables import frame_from_rows
from evalstats.store.read import open_store

KEY = bytes(range(32))
NUMBERS_OF_PEOPLE = (
    "usernum", "nhs_number", "msisdn", "badge", "sender", "recipient", "caller", "contact", "ticket", "usr", "uid_num",
    "kundennummer", "device_serial", "mac", "salary",
)  # fmt: skip
SPOKEN = {
    "scenario": "talk with Peter Petersen 194",
    "category": "Mary Smithson 1200",
    "task": "TASKSECRET my name is Karl",
    "variant": "VARIANT of Tom 168",
    "language": "my name is Eve",
}


def live(n_users: int = 20, each: int = 3, **more: Any) -> pl.DataFrame:
    """Rows of users, `each` for every one; a callable in `more` makes a value of a user's and a row's number."""
    rows: list[dict[str, Any]] = []
    for i in range(n_users * each):
        user = i % n_users
        row = {"run": "r", "model": "m", "system": "m", "benchmark": "b", "item": f"q{i}", "metric": "ok"}
        row |= {"score": float(i % 2), "status": "scored", "setting": "live", "user": f"person-{user}"}
        rows.append(row | {name: made(user, i) if callable(made) else made for name, made in more.items()})
    return frame_from_rows(rows, "outcomes")


def hidden(frame: pl.DataFrame, **options: Any) -> tuple[pl.DataFrame, str]:
    after = anonymized(EvalData(outcomes=frame), KEY, **options)
    return after.outcomes, "\n".join(problem.message for problem in after.problems)


@pytest.mark.parametrize("widened", [False, True])
def test_whole_numbers_of_unknown_columns_become_pseudonyms(widened: bool) -> None:
    made = {
        name: lambda user, _, start=start: 310_000 + 1000 * start + user for start, name in enumerate(NUMBERS_OF_PEOPLE)
    }
    before = live(**made)
    if widened:  # as a reader does where one is missing
        before = before.with_columns(pl.col(NUMBERS_OF_PEOPLE).cast(pl.Float64))
    after, told = hidden(before)
    for name in NUMBERS_OF_PEOPLE:
        assert after[name].dtype == pl.String
        pairs = pl.DataFrame({"old": before[name], "new": after[name]}).unique()
        assert pairs.height == pairs["new"].n_unique() == 20
        assert name in told
        assert not set(before[name].cast(pl.Int64).cast(pl.String)) & set(after[name])
    assert "one value for each person" not in told


def test_a_number_has_one_pseudonym_however_a_file_holds_it() -> None:
    frames = [live(badge=lambda user, _, kind=kind: kind(user + 4000)) for kind in (int, float, str)]
    assert len({tuple(hidden(frame)[0]["badge"]) for frame in frames}) == 1


def test_fractions_of_unknown_columns_are_dropped_and_said() -> None:
    after, told = hidden(live(epoch_h=lambda _, i: 493_000.1 + i / 7, mixed=lambda user, i: user + i % 2 / 2))
    assert "epoch_h" not in after.columns
    assert "dropped: epoch_h (60), mixed (30)" in told
    assert after["mixed"].null_count() == 30


def test_counts_and_measures_and_kept_columns_stay_numbers() -> None:
    more = {"reply_tokens": 70, "n_messages": 3, "helpful_score": 0.25, "wait_s": 1.5, "plan": 4, "level": 2}
    after, told = hidden(live(**more), keep=["plan"])
    assert {name: after[name][0] for name in more} == more
    assert (
        "kept as they are, besides models, metrics and results: helpful_score, level, n_messages, plan, reply_tokens"
        in told
    )
    assert told.count("kept as they are") == 1


def test_a_kept_column_that_goes_with_users_is_warned_of() -> None:
    frame = live(person_rank=lambda user, _: 7 * user, tier=lambda user, _: f"t{user}", wait_s=lambda _, i: i / 7)
    frame = frame.with_columns(weight=pl.col("person_rank") + 0.5)
    _, told = hidden(frame, keep=["tier"])
    assert "nearly one value for each person, which may say who it is, in person_rank, tier, weight;" in told
    # A column of ids under a name that the rules do not know goes with people as a user does.
    _, told = hidden(frame.rename({"user": "customer_id"}).with_columns(user=pl.lit(None, pl.String)), keep=["tier"])
    assert "in person_rank, tier, weight;" in told


def test_measures_of_people_with_one_row_are_no_alarm() -> None:
    _, told = hidden(live(each=1, wait_s=lambda _, i: i / 7, reply_tokens=lambda _, i: 50 + i))
    assert "warning" not in told


def test_labels_that_were_spoken_are_replaced_and_keep_their_groups() -> None:
    before = live(
        **{name: lambda user, _, text=text: text if user == 3 else "a label" for name, text in SPOKEN.items()}
    )
    before = before.with_columns(tags=pl.Series([["my cat", "coding"]] * before.height))
    after, told = hidden(before)
    for name, text in SPOKEN.items():
        assert text not in after.write_json()
        assert set(after.filter(before[name] != text)[name]) == {"a label"}
        assert after.filter(before[name] == text)[name].n_unique() == 1
        assert f"{name} (3)" in told
        assert text not in told
    assert set(after["tags"].explode()) == {"coding"}


def test_labels_that_one_person_alone_has_are_counted_and_not_told() -> None:
    rare = {"category": lambda user, _: "Ivan Ivanov" if user == 4 else ("b", "c")[user % 2], "language": "German"}
    frame = live(**rare).with_columns(tags=pl.Series([["all"]] * 59 + [["all", "of Ivan"]]))
    _, told = hidden(frame)
    assert "labels that one person or item alone has, in category (1), tags (1); a rare label may be a name" in told
    assert "Ivan" not in told


def test_reasons_of_users_rows_become_classes_also_where_no_setting_is_given() -> None:
    reason = "timeout while user alice393 was typing"
    for setting in ("live", "lab"):
        frame = live(score=None, status="unscored", setting=setting, status_reason=reason)
        after, told = hidden(frame)
        assert set(after["status_reason"]) == {"timeout"}
        assert "status_reason (60)" in told
    lab = live(score=None, status="error", setting="lab", user=None, status_reason="RuntimeError: no port")
    assert set(hidden(lab)[0]["status_reason"]) == {"RuntimeError: no port"}


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("Timed out for Bob", "timeout"), ("KeyError: 'alice'", "KeyError"), ("HTTP 429", "rate limit"),
        ("BobError", "other"), ("Bob left", "other"), ("the judge gave no score", "the judge gave no score"),
        ("judge: Bob is down", "judge failed"), ("a model against itself", "a model against itself"), ("", "other"),
        ("score 7", "other"),
    ],
)  # fmt: skip
def test_classes_of_reasons(reason: str, kept: str) -> None:
    assert reason_class(reason) == kept


@pytest.mark.parametrize(
    "value",
    ["I am Bob", "ask Dr Miller", "help me", "Why so?", "see www.x.org now", "from 10.0.0.1 again", "order 4711", "ab1234567",
     "bitte Herrn Meier", 'he said "no"', "https://x.org/bob", "a label that goes on and on and on, for fifty-one"],
)  # fmt: skip
def test_no_labels(value: str) -> None:
    assert is_no_label(value)


@pytest.mark.parametrize(
    "value",
    # Labels of public benchmarks: WildBench, tau2-bench, lm-eval, MMLU, BenchBench, SORRY-Bench's kind, RUT-Bench.
    ["Information/Advice seeking", "Math & Data Analysis", "banking_knowledge", "scheduling_edge_cases_eu_us_africa",
     "leaderboard_bbh_tracking_shuffled_objects_seven_objects", "High School US History", "alpaca_eval_cot_gpt4_turbo_fn",
     "wildbench_240612", "mistral-large-2402_ranking", "K=-1", "v0.1", "AIME 2024", "Algebra II", "zh-Hant", "hi",
     "Violence, Aiding and Abetting, Incitement", "impatience_and_hostility", "tb-trace-email-002", "2026-03-01", "20260301"],
)  # fmt: skip
def test_labels_of_benchmarks_stay(value: str) -> None:
    assert not is_no_label(value)


@pytest.mark.parametrize(
    "name", [*NUMBERS_OF_PEOPLE, "epoch_h", "minute_of_day", "order", "account", "profile", "discount_code"]
)
def test_numbers_of_people_are_no_measures(name: str) -> None:
    assert not is_measure(name)


def test_only_so_many_rows_are_looked_at() -> None:
    # The rows before would take long.
    watch, users = Watch(), pl.DataFrame({"user": [f"u{i % 20}" for i in range(40)]})
    rows = MAX_ROWS // 40
    watch._rows["outcomes"] = 40 * rows - 10
    watch.look(
        "outcomes", users, [ReadableColumn(series=pl.Series("tier", ["a"] * 10 + [f"late{i}" for i in range(30)]))]
    )
    assert watch.alone() == {}
    watch.look("outcomes", users, [ReadableColumn(series=pl.Series("tier", [f"late{i}" for i in range(40)]))])
    assert watch.alone() == {}


def test_batches_are_seen_together() -> None:
    frame = live(category=lambda user, _: ("b", "c", "Ivan")[0 if user else 2])
    whole, halves = Anonymizer(KEY), Anonymizer(KEY)
    whole.table("outcomes", frame)
    for half in (frame.head(30), frame.tail(30)):
        halves.table("outcomes", half)
        halves.account.lines()
    assert halves.account.lines() == whole.account.lines()
    assert whole.account.alone == {"category": 1}


def test_the_store_holds_none_of_it_and_the_report_says_what_stays(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "item": f"q{i}",
            "model": "m",
            "score": i % 2,
            "user": f"person-{i % 20}",
            "usernum": 310_000 + i % 20,
            **SPOKEN,
        }
        | {"badge": 520_000 + i % 20 if i else None, "n_turns": 3, "tier": i % 20, "setting": "live"}
        for i in range(60)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = ingest([tmp_path / "rows.jsonl"], tmp_path / "store", anonymize=KEY)
    lines = " ".join(" ".join(report.summary_lines()).split())
    assert "anonymised: kept as they are, besides models, metrics and results: n_trials, n_turns, tier, trial" in lines
    assert "anonymised: warning: nearly one value for each person, which may say who it is, in tier;" in lines
    held = open_store(tmp_path / "store").read().outcomes
    assert held["usernum"].n_unique() == held["user"].n_unique() == 20
    stored = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
    told = held.write_json() + stored.decode("latin-1")
    assert [secret for secret in ("person-", *SPOKEN.values(), "310004", "520004") if secret in told] == []
