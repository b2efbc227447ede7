"""Bytes of a store that change, are cut off or vanish: read right or refused in words, and repaired with all the rest."""

import json
import random
import shutil
from pathlib import Path

import pytest

from evalstats.errors import EvalStatsError, StoreError
from evalstats.schema.data import EvalData
from evalstats.store.manifest import MANIFEST, MARKER, SCHEMA_VERSION
from evalstats.store.read import open_store
from evalstats.store.repair import repair_store
from tests.faults.stores import N_ITEMS, TABLES, sound_store
from tests.tally import Tally

N_FAST, N_SLOW = 20, 400
_HOW = ("a bit flipped", "cut off", "64 zeros", "gone", "a block twice")


def damaged(data: bytes, how: str, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    if how == "a bit flipped":
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if how == "cut off":
        return data[:place]
    if how == "64 zeros":
        return data[:place] + bytes(len(data[place : place + 64])) + data[place + 64 :]
    return data[:place] + data[max(0, place - 100) : place] + data[place:]


def equal(one: EvalData, other: EvalData) -> bool:
    return all(getattr(one, table).equals(getattr(other, table)) for table in TABLES)


def read_or_refused(store: Path, sound: EvalData) -> str | None:
    try:
        return None if equal(open_store(store).read(), sound) else "read as other numbers"
    except StoreError:
        return None
    except BaseException as error:  # noqa: BLE001 - a panic of polars is no Exception
        return f"{type(error).__name__}: {error}"


def repaired(store: Path) -> str | None:
    try:
        left = repair_store(store).left
        rows = open_store(store).read().outcomes
    except EvalStatsError as error:
        # A version that a flipped bit made newer cannot be told from one that is.
        return None if "newer evalstats" in str(error) else f"repair: {error}"
    except BaseException as error:  # noqa: BLE001 - as above
        return f"repair: {type(error).__name__}: {error}"
    if left or open_store(store).check():
        return f"repair leaves {left}"
    # One file was damaged, so that at most one source of three is set aside, and its folder is kept.
    aside = [path for path in (store / "set-aside").glob("*") if path.is_dir()]
    return None if rows.height == (3 - len(aside)) * N_ITEMS and len(aside) <= 1 else f"repair keeps {rows.height} rows"


def tried(folder: Path, tally: Tally, n: int) -> None:
    store, rng = sound_store(folder, 3), random.Random(3)  # noqa: S311 - damage, no secrets
    sound = open_store(store).read()
    names = sorted(path.relative_to(store) for path in store.rglob("*") if path.is_file())
    for k in range(n):
        copy = folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)
        path, how = copy / rng.choice(names), _HOW[k % len(_HOW)]
        data = path.read_bytes()
        if how == "gone":
            path.unlink()
        else:
            path.write_bytes(damaged(data, how, rng))
        name = f"{'Parquet' if path.suffix == '.parquet' else path.name}, {how}"
        tally.tried(name)
        wrong = read_or_refused(copy, sound) or repaired(copy)
        if wrong:
            tally.failed(name, f"{path.name}: {wrong}")


def test_damage(tmp_path: Path, tally: Tally) -> None:
    tried(tmp_path, tally, N_FAST)


@pytest.mark.slow
def test_much_damage(tmp_path: Path, tally: Tally) -> None:
    tried(tmp_path, tally, N_SLOW)


_VERSIONS = (-1, 0, 1, SCHEMA_VERSION, SCHEMA_VERSION + 1, 11, 4.0, 4.5, "4", "x", None, True, [], {}, 10**30, 1e308)


def test_versions_of_the_past_and_the_future(tmp_path: Path, tally: Tally) -> None:
    """Any other version is refused, by its marker or by one source; what is no version is damage."""
    store = sound_store(tmp_path)
    for version in _VERSIONS:
        for name in (MARKER, MANIFEST):
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(store, copy)
            path = next(copy.rglob(name))
            found = json.loads(path.read_text())
            found.pop("sha256", None)
            path.write_text(json.dumps({**found, "schema_version": version}))
            other = type(version) is int and version >= 1 and version != SCHEMA_VERSION
            tally.tried("schema versions")
            try:
                open_store(copy).read()
                told = "read"
            except StoreError as error:
                told = str(error)
            if other != ("evalstats (store schema" in told):
                tally.failed("schema versions", f"{name} {version!r}: {told}")
            if not other:
                wrong = repaired_versions(copy)
                if wrong:
                    tally.failed("schema versions", f"{name} {version!r}: {wrong}")


def repaired_versions(store: Path) -> str | None:
    repair_store(store)
    problems = open_store(store).check()
    return str(problems[0]) if problems else None
