"""Find the loader for each file, and read any number of files into one `EvalData`."""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import msgspec
import polars as pl
from msgspec import structs

from evalstats.errors import LINE, InputError, Option, UnreadableFileError
from evalstats.grammar import comma_list, on_one_line
from evalstats.loaders.base import (
    ANY_FAULT,
    Head,
    Loader,
    Match,
    Shape,
    Source,
    paths_apart,
    read_head,
    tables_of,
    with_digest,
)
from evalstats.loaders.blocks import BLOCK_ROWS
from evalstats.loaders.column_map import OF_VOTES, ColumnMap
from evalstats.loaders.layout import Contents, equally_deep, layout_of, time_in, values_by_path
from evalstats.loaders.look import how_to_map
from evalstats.loaders.roles import names_a_model
from evalstats.loaders.sampled_column import NOTHING_ASKED, AskedNames
from evalstats.loaders.sheets import holds_sheets
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.table import TableLoader, contents_of, fault_of, names_alike, unnamed_benchmarks
from evalstats.regular import part_of
from evalstats.schema.columns import TableName
from evalstats.schema.data import UNNAMED, EvalData, Problem, combine, same_votes, with_distinct_names
from evalstats.schema.memory import HeldOnce, InStep, limit_of, too_much
from evalstats.schema.tables import check_key, concat_tables, is_constant

_JSON: Final[frozenset[Shape]] = frozenset({"object", "array", "lines"})
_ANY: Final[frozenset[Shape]] = frozenset({*_JSON, "empty", "zip", "parquet", "text", "binary"})
# Modules of built-in loaders, their names there, and the shapes of files of which they are asked: of others they need not be
# imported. Order settles equal confidence.
_MODULES: Final[tuple[tuple[str, str, frozenset[Shape]], ...]] = (
    ("lm_eval", "LOADER", frozenset({*_JSON, "parquet"})),
    ("formats.lighteval_details", "FORMAT", frozenset({"parquet"})),
    ("inspect_ai", "LOADER", _ANY),
    ("formats.tau_bench", "FORMAT", _JSON),
    ("formats.promptfoo", "FORMAT", _JSON),
    ("formats.deepeval", "FORMAT", _JSON),
    ("formats.openai_evals", "FORMAT", _JSON),
    ("formats.ragas", "FORMAT", _ANY),
    ("formats.mlflow", "FORMAT", _JSON),
    ("formats.tau2_bench", "FORMAT SUBMISSION", _JSON),
    ("formats.rutbench", "FORMAT", _JSON),
    ("formats.tenacious", "PAIRS EVALUATION", _JSON),
    ("formats.tenacious_numbers", "FORMAT NUMBERS", _JSON),
    ("formats.tenacious_arms", "FORMAT SIMULATIONS", _JSON),
    ("formats.tenacious_numbers", "SUMMARY", _JSON),
    ("harmamp", "LOADER", _ANY),
    ("devicerepair", "LOADER", _ANY),
    ("formats.aider", "FORMAT", _ANY),
    ("arena_votes", "LOADER", _ANY),
    ("formats.mt_bench_single", "FORMAT", _JSON),
    ("formats.human_eval", "FORMAT", _JSON),
    ("formats.ifeval", "FORMAT", _JSON),
    ("formats.mteb", "FORMAT", _JSON),
    ("formats.garak", "FORMAT", _JSON),
    ("formats.label_studio", "FORMAT", _JSON),
    ("formats.label_studio_rows", "FORMAT", _ANY),
    ("formats.argilla", "FORMAT", _JSON),
    ("formats.argilla", "FLAT", _ANY),
    ("formats.reward_bench", "FORMAT SUMMARY", _JSON),
    ("formats.bigcodebench", "FORMAT RATES BOARD", _JSON),
    ("formats.simple_evals", "FORMAT", _JSON),
    ("formats.google_adk", "FORMAT", _JSON),
    ("formats.trulens", "FORMAT", _ANY),
    ("formats.uptrain", "FORMAT", _ANY),
    ("formats.hal", "FORMAT", _JSON),
    ("formats.agent_bench", "FORMAT", _JSON),
    ("formats.browser_gym", "FORMAT", _JSON),
    ("formats.tool_eval", "FORMAT", _JSON),
    ("formats.mmlu", "FORMAT", _ANY),
    ("formats.azure_evaluation", "FORMAT", _JSON),
    ("formats.harbor", "FORMAT", _JSON),
    ("formats.inspect_frames", "FORMAT", _ANY),
    ("formats.langfuse", "FORMAT SCORES", _ANY),
    ("formats.lmms_eval", "FORMAT", _JSON),
    ("formats.opencompass", "FORMAT", _ANY),
    ("formats.opik", "FORMAT", _ANY),
    ("formats.phoenix", "FORMAT", _ANY),
    ("formats.pydantic_evals", "FORMAT", _JSON),
    ("formats.vlmevalkit", "FORMAT ACCURACIES", _ANY),
    ("formats.weave", "FORMAT", _JSON),
    ("formats.judgebench", "FORMAT", _JSON),
    ("formats.llmbar", "FORMAT", _JSON),
    ("formats.mmlu_pro", "FORMAT", _JSON),
    ("formats.eq_bench", "FORMAT RAW", _JSON),
    ("formats.reasoning_gym", "FORMAT", _JSON),
    ("formats.alpaca_eval", "FORMAT", _ANY),
    ("formats.arena_hard", "FORMAT", _JSON),
    ("formats.mt_bench", "FORMAT", _ANY),
    ("formats.wildbench", "SCORES PAIRS", _ANY),
    ("formats.langsmith", "FORMAT RUNS PAGE", _ANY),
    ("formats.braintrust", "FORMAT", _ANY),
    ("formats.helm", "FORMAT", _JSON),
    ("formats.terminal_bench", "FORMAT", _JSON),
    ("formats.bfcl", "FORMAT", _JSON),
    ("formats.swe_bench", "FORMAT", _JSON),
    ("formats.swe_bench_issues", "FORMAT SYSTEMS BOARD", _JSON),
    ("formats.evalplus", "FORMAT", _JSON),
    ("formats.cruxeval", "FORMAT", _JSON),
    ("every_eval_ever", "LOADER", _JSON),
    ("exported_tables", "LOADER", _ANY),
    ("formats.livecodebench", "FORMAT SITE", _JSON),
    ("formats.leaderboards", "FORMAT", _ANY),
    ("formats.benchbench", "FORMAT", _ANY),
    ("formats.open_llm_leaderboard", "FORMAT", _ANY),
    ("score_table", "LOADER", _ANY),
    ("table", "LOADER", _ANY),
)
BUILT_IN: Final = [
    (f"evalstats.loaders.{module}", name, shapes) for module, names, shapes in _MODULES for name in names.split()
]
_VOTES = "arena-votes"
# What is read with a map that names no item, where a file shows that it is one.
_MAPPED = (_VOTES, "score-table")
_HIDDEN = (".", "__MACOSX")
# What a harness hides of its own accord: DeepEval keeps its newest run so, Google ADK all of them.
_HIDDEN_RESULTS = frozenset({".deepeval", ".latest_test_run.json", ".adk"})
# A folder with this file is a store (evalstats.store.manifest.MARKER): its tables hold results that were read already.
STORE_MARKER = "evalstats-store.json"
# Inside a folder only such files are looked at; a file that the user names is always looked at.
_RESULT_ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".eval", ".zip"})
_PACKED = frozenset({".gz", ".zst"})
# How a saved result of this package begins; its list of changed items would pass for a table.
_SAVED = re.compile(r'\s*\{\s*"result": ?"[A-Z][A-Za-z]+",')
# DeepEval's older versions write results without an ending.
_BARE = re.compile(r"test_run_\d{8}_\d{6}(?:_\d+)?")


class MatchedSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source and the loader that will read it."""

    loader: Loader
    source: Source


@runtime_checkable
class Remappable(Protocol):
    """A loader of a known format whose columns may be called otherwise."""

    def with_columns(self, column_map: ColumnMap) -> Loader:
        """Return a loader that finds the columns by the map."""
        ...


@cache
def loaders(shape: Shape | None = None) -> tuple[Loader, ...]:
    """All loaders, or those worth asking about a file of a shape: the built-in ones, then those that other packages offer."""
    built_in = [
        getattr(import_module(module), name) for module, name, shapes in BUILT_IN if shape is None or shape in shapes
    ]
    offered = [point.load() for point in entry_points(group="evalstats.loaders")]
    return (*built_in, *offered)


def loader_named(name: str) -> Loader:
    """Return the loader of that name."""
    for loader in loaders():
        if loader.name == name:
            return loader
    raise InputError(f"there is no format {name!r}; known are {', '.join(loader.name for loader in loaders())}")


def sniffed(head: Head, table: TableLoader = TABLE) -> tuple[tuple[Loader, Match] | None, list[str]]:
    """Ask the loaders what a file is: the surest and what it says, then which of them failed on the question.

    `table` stands for the loader of plain tables. It and that of published scores look long at a file, and are asked only where
    no other loader is surer than they can be.
    """
    found: list[tuple[Loader, Match]] = []
    failed: list[str] = []
    for loader in (*(each for each in loaders(head.shape) if each is not TABLE), table):
        if any(match.confidence > getattr(loader, "surest", 1.0) for _, match in found):
            continue
        try:
            match = loader.sniff(head)
        except ANY_FAULT as error:
            failed.append(f"the {loader.name} loader failed to look at it ({type(error).__name__}: {error})")
            continue
        if match is not None:
            found.append((loader, match))
    return max(found, key=lambda pair: pair[1].confidence, default=None), failed


def list_files(paths: Iterable[str | Path]) -> Iterator[tuple[Path, bool]]:
    """Yield every file below the paths, sorted, and whether the user named it (a folder's files are not named).

    Hidden files (but DeepEval's newest run) and links are passed over inside folders, so that nothing leaves the folder; so
    are stores, whose tables would count the same results again. What may not be looked at (a closed folder) is yielded as if
    it were a named file, so that reading it says why.
    """
    seen: set[Path] = set()
    for path in map(Path, paths):
        for file, named in _files_of(path):
            identity = _identity(file)
            if identity not in seen:
                seen.add(identity)
                yield file, named


def _files_of(path: Path) -> Iterable[tuple[Path, bool]]:
    try:
        whole, part = part_of(path)
        whole.stat()
        if whole.is_file():
            if part and not holds_sheets(whole):
                raise InputError(f"{path}: only sheets of a workbook are named behind ::, and {whole.name} is none")
            return [(path, True)]
        if not path.is_dir():
            raise InputError(f"{path}: is neither a file nor a folder; save what it holds as a file first")
        is_store = (path / STORE_MARKER).is_file()
    except PermissionError:
        return [(path, True)] if not _is_folder(path) else _walk(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a name with a zero byte
        folder = next(each for each in path.parents if _is_folder(each))
        names = [each.name for each in folder.iterdir()] if os.access(folder, os.R_OK) else []
        like = get_close_matches(path.relative_to(folder).parts[0], names, n=1)
        near = f"; did you mean {folder / like[0]}?" if like else ""
        raise InputError(f"{path}: there is no such file or folder{near}") from None
    except OSError as error:
        raise InputError(f"{path}: there is no such file or folder ({error.strerror or error})") from error
    if is_store:
        raise InputError(f"{path}: is a store, not result files; open it with {Option('store', str(path))}")
    return _walk(path)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _identity(path: Path) -> Path:
    """Name a file the same by whatever way it was reached."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def _is_hidden(name: str) -> bool:
    return name.startswith(_HIDDEN) and name not in _HIDDEN_RESULTS


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    closed: list[Path] = []
    for root, folders, files in os.walk(
        folder, followlinks=False, onerror=lambda error: closed.append(Path(error.filename))
    ):
        if STORE_MARKER in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in sorted(files):
            path = Path(root, name)
            if _is_hidden(name):
                continue
            try:
                if path.is_file() and not path.is_symlink():
                    yield path, False
            except OSError:
                yield path, True
    for path in closed:
        yield path, True


def plan(
    paths: Iterable[str | Path],
    *,
    format: str | None = None,  # noqa: A002 - the user's word
    column_map: ColumnMap | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    stored: Iterable[Path] = (),
    asked: AskedNames = NOTHING_ASKED,
    alongside: Iterable[str | Path] = (),
) -> tuple[list[MatchedSource], list[Problem]]:
    """Find sources and their loaders. A file that no loader knows is a problem; a manifest is passed over.

    Inside folders, files whose ending no result file has (READMEs, scripts) are passed over.

    A column map makes every file a table that is read with it, or a file of votes where it names what a vote has, unless a
    format is named that takes one. Sources of the same name, also of the name of a `stored` file that was read
    earlier, are told apart by their paths. `asked` are names that the question uses, by which columns may be found. What the
    paths of tables say is seen from all of them and from those `alongside`, which are not read.
    """
    forced = _forced(format, column_map)
    table = replace(TABLE, where=where or {}, asked=asked)
    paths = [Path(path) for path in paths]
    problems = [Problem(path=str(path), message=_ONLY_LINKS) for path in paths if _holds_only_links(path)]
    by_loader: dict[str, tuple[Loader, list[Path]]] = {}
    columns: dict[Path, ColumnMap | None] = {}
    for path, named in list_files(paths):
        if not named and not _may_hold_results(path):
            continue
        try:
            loader, match, failed = (forced, None, []) if forced is not None else _detected(path, column_map, table)
        except UnreadableFileError as error:
            problems.append(Problem(path=str(path), message=_without_path(error, path)))
            continue
        problems.extend(Problem(path=str(path), message=message, severity="note") for message in failed)
        if match is not None:
            columns[path] = match.columns
        if match is None or not match.skip:
            by_loader.setdefault(loader.name, (loader, []))[1].append(path)
        elif named:
            message = f"holds no results but {match.reason}; it belongs to {loader.title} and is skipped"
            problems.append(Problem(path=str(path), message=message, severity="note"))
    planned: list[MatchedSource] = []
    for found, files in by_loader.values():
        loader = found if not isinstance(found, TableLoader) else replace(table, column_map=found.column_map)
        for part in _grouped(loader, files):
            if isinstance(part, Problem):
                problems.append(part)
                continue
            try:
                source = structs.replace(with_digest(part), columns=columns.get(part.path))
                planned.append(MatchedSource(loader=loader, source=source))
            except OSError as error:
                message = f"cannot be read ({error.strerror or error})"
                problems.append(Problem(path=str(error.filename or part.path), message=message))
    planned, copies = _without_copies(planned, {path.absolute() for path in paths})
    planned, told = _laid_out(_told_apart(planned, stored), column_map or ColumnMap(), asked, alongside)
    return planned, [*problems, *told, *copies]


def _without_copies(
    planned: Sequence[MatchedSource], given: Collection[Path]
) -> tuple[list[MatchedSource], list[Problem]]:
    """Leave out tables of a folder below others of the same name, which are old copies: they would count as further systems."""
    held = {item.source.path.absolute() for item in planned if isinstance(item.loader, TableLoader)}
    kept, problems = list[MatchedSource](), list[Problem]()
    for item in planned:
        path = item.source.path.absolute()
        above = next((each / path.name for each in path.parent.parents if each / path.name in held), None)
        if path in held and above is not None and path not in given:
            message = f"is called as {above}, above it, and is left out as an old copy; if it is none, name it beside its folder"
            problems.append(Problem(path=str(path), message=message))
        else:
            kept.append(item)
    return kept, problems


def _laid_out(
    planned: Sequence[MatchedSource], map_: ColumnMap, asked: AskedNames, alongside: Iterable[str | Path]
) -> tuple[list[MatchedSource], list[Problem]]:
    """Give tables what their paths say of model, task and repetition, by the template of the map or by what they show."""
    tables = {item.source.path: item for item in planned if isinstance(item.loader, TableLoader)}
    if not tables:
        return [*planned], []
    template, perhaps, paths = map_.files, tuple[str, ...](), [*tables]
    if template is None and (len(tables) > 1 or alongside):
        others = [path for path, _ in list_files(alongside) if _may_hold_results(path)]
        files: list[tuple[Path, Contents]] = []
        for path in sorted({*tables, *others}):
            try:
                held = contents_of(path, map_, asked, tables[path].source.columns if path in tables else None)
            except (InputError, OSError):  # said when it is read
                continue
            files += [(path, held)] if held is not None else []
        files = equally_deep(files)
        template, perhaps = layout_of(files, sides=bool(alongside), asked=asked.sides)
        paths = [path for path, _ in files]
    if not template or not paths:
        ways = "; or: ".join(str(Option("map", each, of="files")) for each in perhaps)
        message = f"names no task, nor do {len(paths) - 1:,} more files; if their paths do: {ways}"
        return [*planned], [Problem(path=str(paths[0]), message=message, severity="note")] if perhaps else []
    said = values_by_path(template, paths)
    trials = sorted({each["trial"] for each in said if "trial" in each}, key=_in_order)
    given = {
        path: {
            name: str(trials.index(value) if name == "trial" else (name == "timestamp" and time_in(value)) or value)
            for name, value in each.items()
        }
        for path, each in zip(paths, said, strict=True)
    }
    shown = "" if map_.files else template
    # Where a template says all of a file's name and no model, the folder above is the model's.
    nameless, above = not re.search(r"\{model\}|\*", template), -2 - template.count("/")

    def named(source: Source) -> Source:
        apart = source.path.absolute().parts[above] if nameless else source.apart
        return structs.replace(source, given=given[source.path], layout=shown, apart=apart)

    laid = [
        structs.replace(item, source=named(item.source)) if item.source.path in {*tables} & {*paths} else item
        for item in planned
    ]
    return laid, []


def _in_order(text: str) -> list[tuple[int, str]]:
    """Return a key by which names stand in the order of the numbers in them."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text)]


def _told_apart(planned: Sequence[MatchedSource], stored: Iterable[Path]) -> list[MatchedSource]:
    """Name sources by what differs in their paths where their files have the same name: three runs are not one system."""
    paths = [item.source.path for item in planned]
    own = {path.absolute() for path in paths}
    groups: dict[str, list[Path]] = {}
    for path in dict.fromkeys((*paths, *(path for path in stored if path.absolute() not in own))):
        groups.setdefault(Source(path=path).called, []).append(path)
    apart: dict[Path, str] = {}
    for name, group in groups.items():
        if len(group) > 1:
            # A model's name says more than its folder and stays in the name.
            ending = f"/{name}" if names_a_model(name) else ""
            apart |= {path: f"{part}{ending}" for path, part in zip(group, paths_apart(group), strict=True)}
    depths = {item.source.path: len(item.source.path.absolute().parts) for item in planned}
    alike = Counter((item.source.stem, item.source.digest, depths[item.source.path]) for item in planned)
    return [
        structs.replace(
            item,
            source=structs.replace(
                item.source,
                apart=apart.get(item.source.path, ""),
                twin=alike[item.source.stem, item.source.digest, depths[item.source.path]] > 1,
            ),
        )
        for item in planned
    ]


def _grouped(loader: Loader, files: Sequence[Path]) -> list[Source | Problem]:
    """Let the loader group its files; if it fails none of them can be read, and each is named."""
    try:
        return list(loader.plan(files))
    except ANY_FAULT as error:
        message = f"the {loader.name} loader failed to group the files of its format ({type(error).__name__}: {error})"
        return [Problem(path=str(path), message=message) for path in files]


_ONLY_LINKS = (
    "holds only links, and links in a folder are not followed; give the files that they lead to, or put these here"
)


def _holds_only_links(folder: Path) -> bool:
    """Whether there are links in a folder and no file beside them that may hold results."""
    if not _is_folder(folder) or any(named or _may_hold_results(path) for path, named in _walk(folder)):
        return False
    found = (Path(root, name) for root, folders, files in os.walk(folder) for name in (*folders, *files))
    return any(path.is_symlink() for path in found)


def _may_hold_results(path: Path) -> bool:
    """Tell a result file in a folder from what stands beside it (READMEs, scripts, pictures), by its ending."""
    if _BARE.fullmatch(path.name):
        return True
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return bool(endings) and (endings[-1] in _RESULT_ENDINGS or (endings[-1] in _PACKED and len(endings) > 1))


def _forced(name: str | None, column_map: ColumnMap | None) -> Loader | None:
    if column_map is None:
        return None if name is None else loader_named(name)
    named = {*column_map.columns, *column_map.constants}
    if name is None and named & {*OF_VOTES}:
        name = _VOTES
    elif name is None and "item" not in named:
        return None  # files of votes and published scores say themselves that they are; all others are tables
    loader = TABLE if name in {None, TABLE.name} else loader_named(str(name))
    if isinstance(loader, Remappable):
        return loader.with_columns(column_map)
    others = ", ".join(loader.name for loader in loaders() if isinstance(loader, Remappable))
    raise InputError(f"columns can be mapped in the formats {others}, not in {name!r}; leave one of the two out")


def _detected(path: Path, column_map: ColumnMap | None, table: TableLoader) -> tuple[Loader, Match | None, list[str]]:
    """Return the loader of a file, what it says of it, and which loaders failed to look at it."""
    try:
        head = read_head(path)
    except OSError as error:
        raise UnreadableFileError(f"{path}: cannot be read ({error.strerror or error})") from error
    if head.shape == "empty":
        raise UnreadableFileError(f"{path}: is empty")
    if _SAVED.match(head.text) and '"conf_level"' in head.text:
        raise UnreadableFileError(
            f"{path}: is an answer that evalstats saved, without the rows behind it; give the result files themselves "
            "(`evalstats show` prints it)"
        )
    if column_map is not None:
        for loader in map(loader_named, _MAPPED):
            if isinstance(loader, Remappable) and loader.sniff(head) is not None:
                return loader.with_columns(column_map), None, []
        return TableLoader(column_map), None, []
    found, failed = sniffed(head, table)
    if found is None and failed:
        raise UnreadableFileError(f"{path}: no known format, and {'; '.join(failed)}")
    if found is None:
        advice = how_to_read(head, table.asked)
        raise UnreadableFileError(
            f"{path}: no known format (`evalstats formats` lists them){'. ' if advice else ''}{advice}"
        )
    return (*found, failed)


def how_to_read(head: Head, asked: AskedNames = NOTHING_ASKED) -> str:
    """Say how a file is read that no loader knows; "" where nothing fits it. What is shown was tried on it."""
    return how_to_map(head, asked, partial(fault_of, head.path))


def read(
    *paths: str | Path,
    format: str | None = None,  # noqa: A002 - the user's word
    column_map: ColumnMap | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    sides: Collection[str] = (),
    metrics: Collection[str] = (),
    factors: Collection[str] = (),
    question: str = "",
    alongside: Iterable[str | Path] = (),
    strict: bool = False,
    progress: Callable[[int, int, Source], None] | None = None,
    coded: bool = False,
    without: Collection[str] = (),
) -> EvalData:
    r"""Read result files and folders of any known format into tidy tables.

    Parameters
    ----------
    *paths
        Files and folders.
    format
        Name of the format, when detection should be passed by (`evalstats formats`).
    column_map
        Where the standard columns are found in a table of your own; every file is then read as such a table.
    where
        Column to the level (or levels) that outcomes are kept of. Other rows of a table are dropped before anything is
        checked.
    sides, metrics, factors
        Names of what will be compared, such as ``("old", "new")``, of metrics, and of columns that group items: they help to
        find the columns of a table of your own.
    question
        What will be asked of one file, such as ``"leaderboard"``: where its columns can be read as one system or as several, a
        question that compares takes them as several, and ``"arena"`` as votes.
    alongside
        Files and folders that these will be compared with: they are not read, but their paths help to tell models from tasks.
    strict
        Raise on the first file or row that cannot be read, instead of reporting it in `problems` and loading the rest.
    progress
        Called with (sources done, sources in all, next source).
    coded
        Hold the names of runs, models and systems in outcomes as categories, which take 4 bytes a row in place of 16.
    without
        Columns of outcomes that are not wanted: null, which takes no memory.

    Returns
    -------
    EvalData
        The tables; `problems` names each file that was not read, and why.

    Raises
    ------
    InputError
        If a path does not exist, or nothing at all could be read.
    UnreadableFileError
        With `strict`, for the first file or row that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "results.csv")
    >>> _ = path.write_text("question_id,model,correct\nq1,old,0\nq1,new,1\n")
    >>> read(path).outcomes.select("item", "model", "score").rows()
    [('q1', 'old', 0.0), ('q1', 'new', 1.0)]
    """
    for path in paths:
        if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
            kind = type(path).__name__
            remedy = (
                "several are given as read(*paths)"
                if kind in {"list", "tuple"}
                else "a table in memory is given to from_frame"
            )
            raise InputError(f"read takes paths of files and folders, found {kind}; {remedy}")
    levels = {name: (level,) if isinstance(level, str) else tuple(level) for name, level in (where or {}).items()}
    # Of several files each may hold one system.
    alone = len(paths) == 1 and not _is_folder(Path(paths[0]))
    asked = AskedNames(
        sides=frozenset(sides),
        metrics=frozenset(metrics),
        factors=frozenset(factors),
        question=question if alone or question == "arena" else "",
    )
    planned, problems = plan(
        paths, format=format, column_map=column_map, where=levels, asked=asked, alongside=alongside
    )
    _raise_if_strict(problems, strict=strict)
    parts: list[EvalData] = []
    most = limit_of(path for item in planned for path in (item.source.path, *item.source.companions))
    once = HeldOnce()
    for done, item in enumerate(planned):
        if progress is not None:
            progress(done, len(planned), item.source)
        before = once.n_bytes
        try:
            part = read_source(item.loader, item.source, once, coded=coded, without=without)
            _raise_if_strict(part.problems, strict=strict)
            if excess := too_much(once.n_bytes, most):
                raise InputError(f"the results up to {item.source.path} take more {excess}")
            parts.append(part)
        except UnreadableFileError as error:
            once.n_bytes = before
            problems.append(Problem(path=str(item.source.path), message=_without_path(error, item.source.path)))
            _raise_if_strict(problems, strict=strict)
    if not parts:
        faults = [problem for problem in problems if problem.severity == "error"] or problems
        raise InputError(f"nothing could be read: {_reasons(faults) or _without_results(paths)}")
    data = combine(parts)
    data = data.where(**levels) if data.outcomes.height else data
    if (data.runs["loader"] == TABLE.name).any():
        problems.extend(_doubts_of_tables(data.runs.filter(loader=TABLE.name), [item.source for item in planned]))
    problems.extend(same_votes(data.comparisons))
    return replace(data, problems=(*problems, *data.problems))


def _doubts_of_tables(runs: pl.DataFrame, sources: Sequence[Source]) -> Iterator[Problem]:
    """Yield what a reader should know of the runs of tables: benchmarks without a name, and names of models that are alike."""
    unnamed = runs.filter(benchmark=UNNAMED)["source"].unique(maintain_order=True)
    named = sum("benchmark" in source.given for source in sources)
    if len(unnamed) and (named or (len(unnamed) > 1 and not any(source.given for source in sources))):
        yield unnamed_benchmarks(unnamed.to_list(), named)
    if runs.height:
        yield from names_alike(runs["source"][0], runs["model"].unique().drop_nulls().to_list())


def _reasons(faults: Iterable[Problem]) -> str:
    """Say why files are not read, what is the same of several once, and last what may be copied for the first of them."""
    paths: dict[str, list[str]] = {}
    for each in faults:
        paths.setdefault(each.message, []).append(each.path)
    told, offered = list[str](), list[str]()
    for why, files in paths.items():
        text, *lines = f"{comma_list(map(on_one_line, files), 2)}: {why}".split(LINE)
        if lines and not offered:
            offered = [LINE.join([text, *lines])]
        else:
            told.append(text.partition(". ")[0] if lines else text)
    return "; ".join([*told, *offered])


def _without_results(paths: Iterable[str | Path]) -> str:
    """Say what is there in folders without a file that may hold results."""
    others = [path.name for path, _ in list_files(paths)]
    endings = ", ".join(sorted(_RESULT_ENDINGS))
    return f"no result files among {comma_list(others)}; they end in {endings}" if others else "no files were found"


def read_source(
    loader: Loader,
    source: Source,
    once: HeldOnce | None = None,
    *,
    coded: bool = False,
    without: Collection[str] = (),
) -> EvalData:
    """Read one source whole. UnreadableFileError if it takes more memory than one reading may.

    `once` holds what its tables share with those of sources that were read before; `coded` and `without` as in `read`.
    """
    frames: dict[TableName, list[pl.DataFrame]] = {}
    problems: list[Problem] = []
    once, step = once or HeldOnce(), InStep(BLOCK_ROWS)
    before, most = once.n_bytes, limit_of((source.path, *source.companions))

    def hold(name: TableName, pieces: Iterable[pl.DataFrame]) -> None:
        frames.setdefault(name, []).extend(map(once.of, pieces))
        if excess := too_much(once.n_bytes - before, most):
            raise UnreadableFileError(f"{source.path}: its results take more {excess}")

    for part in tables_of(loader, source):
        if isinstance(part, Problem):
            problems.append(part)
            continue
        name, frame = part
        pieces = step.of(_narrowed(frame, coded=coded, without=without)) if name == "outcomes" else (frame,)
        hold(name, pieces)
    hold("outcomes", (step.rest(),))
    tables: dict[str, pl.DataFrame] = {}
    for name, parts in frames.items():
        tables[name] = concat_tables(parts, name)
        if name in {"outcomes", "comparisons"} and tables[name].height <= getattr(loader, "n_keyed", 0):
            continue
        try:
            check_key(tables[name], name, source=str(source.path))
        except InputError as error:
            raise UnreadableFileError(str(error)) from error
    return with_distinct_names(EvalData(**tables, problems=tuple(problems), merged=False))


def _narrowed(outcomes: pl.DataFrame, *, coded: bool, without: Collection[str]) -> pl.DataFrame:
    """Return the rows with names as categories where `coded`, and nulls for the columns that are not wanted."""
    if not (coded or without):
        return outcomes
    nothing = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in outcomes.schema.items() if name in without]
    names = [outcomes[name] for name in ("run", "model", "system") if coded]
    categories = [
        # A block is most often of one system, whose name need not be looked up for every row.
        name[:1].cast(pl.Categorical).new_from_index(0, len(name)) if is_constant(name) else name.cast(pl.Categorical)
        for name in names
    ]
    return outcomes.with_columns(*nothing, *categories)


def _raise_if_strict(problems: Sequence[Problem], *, strict: bool) -> None:
    faults = [problem for problem in problems if problem.severity == "error"]
    if strict and faults:
        raise UnreadableFileError(str(faults[0]))


def _without_path(error: Exception, path: Path) -> str:
    return str(error).removeprefix(f"{path}: ")
