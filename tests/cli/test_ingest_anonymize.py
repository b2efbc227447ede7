"""`evalstats ingest --anonymize`: what reaches the store, what the report says, and what becomes of the key."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.ingest_run import ENVIRONMENT, ingest
from evalstats.cli.main import app
from evalstats.errors import UnreadableFileError
from evalstats.loaders.column_map import ColumnMap
from evalstats.schema import anonymize
from evalstats.store.manifest import INCOMING, MANIFEST, SOURCES, Shelf
from evalstats.store.read import open_store

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
SECRETS = ("person-", "example.org", "landlord", "10.0.0.", "battle-", "13:45", "free words", "/home/", "said so")


@pytest.fixture(autouse=True)
def no_key_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


def vote(i: int) -> dict[str, Any]:
    person = f"person-{i % 5}@example.org"
    return {
        "question_id": f"battle-{i}",
        "model_a": ("x", "y", "z")[i % 3],
        "model_b": ("y", "z", "x")[i % 3],
        "winner": ("model_a", "model_b", "tie", "he said so")[i % 4],
        "judge": "arena_user",
        "user_id": person,
        "session_id": f"{person}-{i % 10}",
        "tstamp": f"2026-03-01T13:45:{i % 60:02d}",
        "language": "German",
        "conversation_a": [{"role": "user", "content": "my landlord"}, {"role": "assistant", "content": "x"}],
        "ip": f"10.0.0.{i}",
        "impression": "free words",
    }


def write_votes(folder: Path, name: str = "votes.jsonl", n: int = 40) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("\n".join(json.dumps(vote(i)) for i in range(n)))
    return path


def everything(store: Path) -> str:
    """All values of all tables, and all other bytes of a store."""
    texts = [path.read_bytes().decode("latin-1") for path in store.rglob("*") if path.is_file()]
    texts += [pl.read_parquet(path).write_json() for path in store.rglob("*.parquet")]
    return "\n".join(texts)


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flat(text: str) -> str:
    return " ".join(text.split())


def test_no_id_and_no_text_is_anywhere_in_the_store(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "person-1" / "export")
    ingest([path], tmp_path / "plain")
    ingest([path], tmp_path / "store", anonymize=KEY)
    plain, hidden = everything(tmp_path / "plain"), everything(tmp_path / "store")
    assert [secret for secret in ("person-", "battle-", "free words", "said so") if secret not in plain] == []
    assert [secret for secret in (*SECRETS, str(tmp_path), KEY.hex()) if secret in hidden] == []
    assert KEY not in b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())


def test_the_store_is_whole_and_says_what_was_done(tmp_path: Path) -> None:
    report = ingest([write_votes(tmp_path / "in")], tmp_path / "store", anonymize=KEY)
    store = open_store(tmp_path / "store")
    assert store.check() == ()
    (source,) = Shelf(tmp_path / "store").current()
    assert source.origin.options["anonymized"] == anonymize.RULES
    assert source.origin.path == "in/votes.jsonl"
    assert all(problem.message.startswith("anonymised; ") for problem in source.manifest.problems)
    assert source.manifest.problems
    lines = "\n".join(report.summary_lines())
    assert "anonymised: pseudonyms in place of" in lines
    assert "rater (40)" in lines
    assert "times are cut to the day" in lines
    assert report.sources[0].path == str(tmp_path / "in" / "votes.jsonl")


def test_groups_keep_their_size(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "in")
    ingest([path], tmp_path / "plain")
    ingest([path], tmp_path / "store", anonymize=KEY)
    before, after = (open_store(tmp_path / name).read().comparisons for name in ("plain", "store"))
    for name in ("rater", "session", "battle"):
        sizes = [sorted(frame.group_by(name).len()["len"].to_list()) for frame in (before, after)]
        assert sizes[0] == sizes[1]


def test_users_are_the_same_across_files_under_one_key(tmp_path: Path) -> None:
    first, second = write_votes(tmp_path / "a", n=40), write_votes(tmp_path / "b", n=41)
    for path, key in ((first, KEY), (second, KEY)):
        ingest([path], tmp_path / "store", anonymize=key)
    raters = open_store(tmp_path / "store").read().comparisons.group_by("run").agg(pl.col("rater").unique().sort())
    assert raters["rater"].n_unique() == 1
    ingest([second], tmp_path / "other", anonymize=OTHER)
    others = set(open_store(tmp_path / "other").read().comparisons["rater"])
    assert not others & set(raters["rater"][0])


def test_the_same_key_changes_no_byte_and_another_takes_the_place(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "in")
    ingest([path], tmp_path / "store", anonymize=KEY)
    before = everything(tmp_path / "store")
    again = ingest([path], tmp_path / "store", anonymize=KEY)
    assert [source.status for source in again.sources] == ["skipped"]
    assert everything(tmp_path / "store") == before
    other = ingest([path], tmp_path / "store", anonymize=OTHER)
    assert other.sources[0].reason.startswith("put in the place of an earlier reading")
    assert open_store(tmp_path / "store").read().comparisons.height == 40


def test_a_plain_reading_is_replaced_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "in")
    ingest([path], tmp_path / "store")
    assert "person-" in everything(tmp_path / "store")
    report = ingest([path], tmp_path / "store", anonymize=KEY)
    assert report.sources[0].reason == "put in the place of an earlier reading that was not anonymised"
    assert "person-" not in everything(tmp_path / "store")


def test_a_forgotten_option_does_not_bring_plain_ids_back(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "in")
    ingest([path], tmp_path / "store", anonymize=KEY)
    before = everything(tmp_path / "store")
    (failed,) = ingest([path], tmp_path / "store").failed
    assert "the store holds it anonymised" in failed.reason
    assert everything(tmp_path / "store") == before
    with pytest.raises(UnreadableFileError, match="give --anonymize"):
        ingest([path], tmp_path / "store", strict=True)
    store = open_store(tmp_path / "store")
    store.remove(store.runs()["run"][0])
    assert not ingest([path], tmp_path / "store").failed


def test_a_fault_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_votes(tmp_path / "in")

    def broken(*_: object) -> object:
        raise ValueError("person-1@example.org is too long")

    monkeypatch.setattr(anonymize.Anonymizer, "_refuse_lost_clusters", broken)  # runs come last
    report = ingest([path], tmp_path / "store", anonymize=KEY)
    assert [source.status for source in report.sources] == ["failed"]
    assert list((tmp_path / "store" / SOURCES).iterdir()) == []
    assert list((tmp_path / "store" / INCOMING).iterdir()) == []
    assert "person-" not in everything(tmp_path / "store")


def test_a_column_map_is_not_written_down(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("q,ok,who\n1,1,person-1\n2,0,person-2\n")
    by = ColumnMap(
        columns={"item": ("q",), "score": ("ok",), "user": ("who",)}, constants={"model": "m", "session": "person-9"}
    )
    ingest([path], tmp_path / "store", column_map=by, anonymize=KEY)
    manifest = next((tmp_path / "store").rglob(MANIFEST)).read_text()
    assert "person-" not in manifest + everything(tmp_path / "store")
    again = ingest([path], tmp_path / "store", column_map=by, anonymize=KEY)
    assert [source.status for source in again.sources] == ["skipped"]


def test_files_named_by_ids_get_other_names(tmp_path: Path) -> None:
    path = write_votes(tmp_path / "in", "chat_3f2504e0-4f89-11d3-9a0c-0305e82c3301.jsonl")
    ingest([path], tmp_path / "store", anonymize=KEY)
    assert "3f2504e0" not in everything(tmp_path / "store")
    assert ingest([path], tmp_path / "store", anonymize=KEY).skipped
    ingest([path], tmp_path / "store", anonymize=OTHER)
    assert open_store(tmp_path / "store").runs().height == 1


def test_the_command_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    path, key, store = write_votes(tmp_path / "in"), tmp_path / "key", tmp_path / "store"
    first = run("ingest", path, "--store", store, "--anonymize", "--key-file", key)
    assert first.exit_code == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(bytes.fromhex(key.read_text())) == 32
    assert "a new key was written to" in flat(first.output)
    assert "person-" not in everything(store)
    assert key.read_text().strip() not in first.output + everything(store)
    second = run("ingest", path, "--store", store, "--anonymize", "--key-file", key)
    assert "1 already in the store" in second.output
    assert "key" not in second.output


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_a_key_that_others_can_read_is_told(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY.hex())
    key.chmod(0o644)
    found = run("ingest", write_votes(tmp_path / "in"), "--store", tmp_path / "s", "--anonymize", "--key-file", key)
    assert "can be read by others on this machine; chmod 600" in flat(found.output)


def test_the_key_may_stand_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_votes(tmp_path / "in")
    monkeypatch.setenv(ENVIRONMENT, KEY.hex())
    assert run("ingest", path, "--store", tmp_path / "one", "--anonymize").exit_code == 0
    ingest([path], tmp_path / "two", anonymize=KEY)
    one, two = (open_store(tmp_path / name).read().comparisons for name in ("one", "two"))
    assert one["rater"].equals(two["rater"])


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["--key-file", "k"], None, "--key-file goes with --anonymize"),
        (["--keep", "plan"], None, "--keep goes with --anonymize"),
        (["--anonymize", "--keep", "email"], None, "'email' is not kept"),
        (["--anonymize"], "correct horse battery staple", "EVALSTATS_ANONYMIZE_KEY: is no key; 64 hexadecimal digits"),
        (["--anonymize", "--key-file", "store/key"], None, "must not lie in the store"),
        (["--anonymize", "--key-file", "bad"], None, "bad: is no key"),
        (["--anonymize", "--key-file", "no/such/folder/key"], None, "cannot be made"),
        (["--anonymize", "--key-file", "in"], None, "cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(
    arguments: list[str], environment: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_votes(tmp_path / "in")
    (tmp_path / "bad").write_text("hunter2")
    if environment:
        monkeypatch.setenv(ENVIRONMENT, environment)
    found = run("ingest", "in", "--store", "store", *arguments)
    told = flat(found.output + str(found.exception or ""))
    assert found.exit_code != 0
    assert words in told
    assert "hunter2" not in told
    assert "horse" not in told
    assert not (tmp_path / "store").exists()


def test_labels_may_be_kept(tmp_path: Path) -> None:
    rows = [vote(i) | {"plan": ("free", "paid")[i % 2]} for i in range(20)]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = run("ingest", tmp_path / "v.jsonl", "--store", tmp_path / "s", "--anonymize", "--keep", "plan")
    assert found.exit_code == 0
    assert set(open_store(tmp_path / "s").read().comparisons["plan"]) == {"free", "paid"}
    report = ingest([tmp_path / "v.jsonl"], tmp_path / "t", anonymize=KEY)
    assert "unknown columns" in " ".join(" ".join(report.summary_lines()).split())
    kept = ingest([tmp_path / "v.jsonl"], tmp_path / "t", anonymize=KEY, keep=["plan"])
    assert kept.sources[0].reason.startswith("put in the place of an earlier reading")
