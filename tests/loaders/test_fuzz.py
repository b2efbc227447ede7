"""Every registered loader, given small valid files that were damaged in all ways we know: read or refused in words.

A loader without a seed in `seeds.py` fails. `-m slow` runs more than a hundred times as many examples.
"""

import gzip
import json
import re
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from evalstats.errors import EvalStatsError, UnreadableFileError
from evalstats.loaders.base import Loader, read_head
from evalstats.loaders.registry import loader_named, loaders, plan, read, read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.damage import KINDS, Mutation, damaged
from tests.loaders.seeds import SEEDS, Tree

N_EXAMPLES, N_SLOW = 2, 1_000
_SECONDS = 30
_RESTORED = "evalstats-tables"
_NAMES = [loader.name for loader in loaders()]
_NUMBER = st.integers(0, 2**20)
_MUTATIONS = st.lists(st.tuples(st.sampled_from(KINDS), _NUMBER, _NUMBER), min_size=1, max_size=3)
# Which seed, which of its files, and what is done to it.
_DAMAGE = st.tuples(_NUMBER, st.sampled_from([0, 0, 0, 1, 2, 3]), _MUTATIONS)
_UNFORESEEN = re.compile(r"could not be read by the|failed to (?:look|group)")
_FAST = settings(
    max_examples=N_EXAMPLES, deadline=None, database=None, suppress_health_check=[*HealthCheck], derandomize=True
)
_LONG = settings(_FAST, max_examples=N_SLOW, derandomize=False)


class HangError(BaseException):
    """Raised by an alarm; no `except Exception` swallows it."""


@contextmanager
def alarm(seconds: float = _SECONDS) -> Iterator[None]:
    """Let nothing go on for ever."""

    def ring(signal_number: int, frame: object) -> None:
        raise HangError(f"still at work after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def write(folder: Path, tree: Tree) -> list[Path]:
    """Write the files of a seed; return their paths."""
    paths = [folder / name for name in tree]
    for path, data in zip(paths, tree.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return paths


def made(name: str, damage: tuple[int, int, list[Mutation]]) -> Tree:
    """Return a seed of the format with one of its files damaged."""
    number, place, mutations = damage
    tree = SEEDS[name][number % len(SEEDS[name])]
    file = list(tree)[place % len(tree)]
    return {**tree, file: damaged(file, tree[file], mutations)}


def read_by(loader: Loader, paths: list[Path]) -> tuple[list[EvalData], list[str]]:
    """Read files as this format; return what was read and what was refused or told."""
    planned, problems = plan(paths, format=loader.name)
    told, data = [str(problem) for problem in problems], list[EvalData]()
    for part in planned:
        try:
            data.append(read_source(part.loader, part.source))
        except EvalStatsError as error:
            told.append(str(error))
    told += [str(problem) for part in data for problem in part.problems]
    for text in told:
        assert not _UNFORESEEN.search(text), text
    return data, told


def add_up(data: EvalData, *, restored: bool) -> None:
    """Check that states are apart and add up (a restored table of runs keeps its counts), and that no table holds the untrue."""
    counts = data.runs.select("n_scored", "n_error", "n_unscored").to_numpy().sum()
    assert restored or counts == data.outcomes.height + data.comparisons.height
    scored = data.outcomes["status"] == "scored"
    assert (data.outcomes["score"].is_not_null() == scored).all()
    assert data.outcomes["score"].drop_nulls().is_finite().all()
    assert set(data.outcomes["run"]) | set(data.comparisons["run"].drop_nulls()) <= set(data.runs["run"])
    votes = data.comparisons
    assert (votes["outcome"].is_null() == (votes["status"] == "unscored")).all()
    assert ((votes["model_a"] != votes["model_b"]) | votes["outcome"].is_null()).all()
    numbers = data.aggregates
    assert numbers["estimate"].drop_nulls().is_finite().all()
    assert ((numbers["conf_high"] - numbers["conf_low"]).drop_nulls() > 0).all()


def examine(name: str, folder: Path, damage: tuple[int, int, list[Mutation]]) -> None:
    """Read a damaged seed twice as its own format, and once as whatever it is taken for."""
    paths = write(folder, made(name, damage))
    with alarm():
        loader = loader_named(name)
        data, told = read_by(loader, paths)
        again, told_again = read_by(loader, paths)
        for part, other in zip(data, again, strict=True):
            add_up(part, restored=name == _RESTORED)
            tables = ("outcomes", "comparisons", "ratings", "aggregates", "runs", "metrics")
            assert all(getattr(part, table).equals(getattr(other, table)) for table in tables)
        assert told == told_again
        for path in paths:
            with suppress(UnreadableFileError):
                assert sniffed(read_head(path))[1] == []
        found, why = None, ""
        try:
            found = read(*paths)
        except EvalStatsError as error:
            why = str(error)
        assert not _UNFORESEEN.search(why), why
        if found is not None:
            add_up(found, restored=name == _RESTORED)


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[], Path]:
    """Give a new folder each time that it is asked: an example must not see the files of another."""
    numbers = count()
    return lambda: tmp_path / str(next(numbers))


def test_every_loader_has_a_seed_that_it_recognises_and_reads_whole(tmp_path: Path) -> None:
    assert set(SEEDS) == set(_NAMES), "a loader has no seed in seeds.py"
    for name, trees in SEEDS.items():
        for k, tree in enumerate(trees):
            data = read(*write(tmp_path / name / str(k), tree), strict=True)
            # Exported tables keep the names of the loaders that made them.
            assert set(data.runs["loader"]) == {name} or name == _RESTORED
            assert any(data.table(table).height for table in ("outcomes", "comparisons", "ratings", "aggregates"))


@pytest.mark.parametrize("name", _NAMES)
def test_damaged_files_are_read_or_refused_in_words(folder: Callable[[], Path], name: str) -> None:
    """Each format is damaged in ways of its own: drawn by the test alone they would be the same for all."""

    @seed(name)
    @_FAST
    @given(damage=_DAMAGE)
    def examined(damage: tuple[int, int, list[Mutation]]) -> None:
        examine(name, folder(), damage)

    examined()


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
@_LONG
@given(damage=_DAMAGE)
def test_many_damaged_files_are_read_or_refused_in_words(
    folder: Callable[[], Path], name: str, damage: tuple[int, int, list[Mutation]]
) -> None:
    examine(name, folder(), damage)


# What stands where a record was expected, in JSON Lines and in a list.
_NO_RECORDS = ("[1]", '"text"', "{}", "7", "null", '{"cut": ')
# Loaders that make outcomes of single records, with how many of their seed's records tell of the run alone.
_BY_RECORD = {
    "promptfoo": 0, "ragas": 0, "openai-evals": 2, "mt-bench-single": 0, "judgebench": 0, "llmbar": 0, "mmlu-pro": 0,
    "langsmith": 0, "every-eval-ever": 0,
}  # fmt: skip


def _listed(name: str) -> tuple[str, list[str]] | None:
    """Return the name and the records of the seed that is nothing but a list of them."""
    for tree in SEEDS[name]:
        file, data = next(iter(tree.items()))
        if len(tree) == 1 and file.endswith("jsonl"):
            return file, data.decode().splitlines()
        if len(tree) == 1 and data.startswith(b"["):
            return file, [json.dumps(record) for record in json.loads(data)]
    return None


@pytest.mark.parametrize("name", _BY_RECORD)
@settings(_FAST, max_examples=8)
@given(bad=st.lists(st.tuples(_NUMBER, st.sampled_from(_NO_RECORDS)), max_size=12))
def test_every_record_is_in_a_table_or_said_to_be_left_out(
    folder: Callable[[], Path], name: str, bad: list[tuple[int, str]]
) -> None:
    found = _listed(name)
    assert found is not None
    file, records = found
    lines = file.endswith("jsonl")
    for place, text in bad:
        if lines or text != _NO_RECORDS[-1]:
            records.insert(1 + place % len(records), text)
    text = "\n".join(records) if lines else f"[{','.join(records)}]"
    (data,), _ = read_by(loader_named(name), write(folder(), {file: text.encode()}))
    told = [problem.message for problem in data.problems if problem.severity == "error"]
    left_out = [re.match(rf"([\d,]+) of {len(records):,} .* are dropped", message) for message in told]
    n_left_out = sum(int(match[1]) for match in left_out if match is not None)
    assert data.outcomes["locator"].n_unique() + n_left_out + _BY_RECORD[name] == len(records)


# A packed file is unpacked in one place, and then read as lines, as a table or as a document.
@pytest.mark.parametrize(
    ("name", "packed"),
    [
        pytest.param(
            name, packed, marks=pytest.mark.slow if packed and name not in {"ragas", "table", "promptfoo"} else ()
        )
        for name in ("ragas", "openai-evals", "mmlu-pro", "arena-votes", "table", "promptfoo", "alpaca-eval")
        for packed in (False, True)
    ],
)
def test_memory_is_bounded_by_the_size_of_the_file(tmp_path: Path, name: str, packed: bool) -> None:
    found = _listed(name)
    assert found is not None
    file, records = found
    first, one = records[:1], records[len(records) // 2]
    many = [
        re.sub(r'"(item|id|sample_id|question_id|user_input|instruction)": "?', rf"\g<0>1{n}", one) for n in range(400)
    ]
    long = f'{{"{"x" * (1 << 20)}": 1, {one[1:]}'  # a name of a million letters
    lines = [*first, *many, long]
    data = ("\n".join(lines) if file.endswith("jsonl") else f"[{','.join(lines)}]").encode()
    paths = write(tmp_path, {file: gzip.compress(data) if packed else data})
    tracemalloc.start()
    with alarm(60):
        data_read, _ = read_by(loader_named(name), paths)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data_read[0].outcomes.height + data_read[0].comparisons.height > 300
    # A window of text, rows of one batch, and what tells items apart.
    assert peak < 12 * len(data) + (12 << 20), f"{peak / len(data):.1f} times the size of the file"


def test_an_info_of_tau2_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    said: list[str] = []
    for k, tree in enumerate(SEEDS["tau2-bench"]):
        paths = write(tmp_path / str(k), tree)
        # A member that begins many lists and ends none.
        paths[0].write_bytes(damaged(paths[0].name, paths[0].read_bytes(), [("add", 982281, 949252)]))
        said += read_by(loader_named("tau2-bench"), paths)[1]
    assert any("its info could not be read" in text for text in said), said
