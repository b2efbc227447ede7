"""Render a report: a page, data, an engine; one file comes out."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evalstats.analysis.result import Result
from evalstats.errors import InputError
from evalstats.report.embedded import EmbeddedEngine
from evalstats.report.engine import Engine, Job, Target, find_page, no_one_listens
from evalstats.report.handover import write_tables
from evalstats.report.opened import today
from evalstats.report.qmd import read_document
from evalstats.report.quarto import QuartoEngine, find_quarto
from evalstats.schema.data import EvalData

_TARGETS: tuple[Target, ...] = ("html", "pdf")
# Options that may name a file or a folder.
_FILES = frozenset({"plan"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A finished report: where it is, and which engine made it."""

    path: Path
    engine: str


def report(
    kind: str,
    data: EvalData | str | Path | None = None,
    *,
    to: str = "html",
    output: str | Path | None = None,
    engine: str = "auto",
    baseline: str | None = None,
    candidate: str | None = None,
    **options: Any,
) -> Path:
    """Render a report and return its path.

    Parameters
    ----------
    kind
        The name of a page of stored results: "validation", the error rates of evalstats itself. Other results are rendered
        as they are: see `render_results`.
    data
        What was read, or the folder of a store.
    to
        "html" (one file that loads nothing) or "pdf".
    output
        Where to; by itself the page's name with `.html` or `.pdf` in the working folder. A folder takes that name inside.
    engine
        "quarto", "embedded", or "auto": Quarto where it is on the machine.
    baseline, candidate
        Run, system or model.
    **options
        What the page's first cell sets; and `time_limit`, the seconds that any one step may
        take (600).

    Raises
    ------
    InputError
        If there is no such page, target, engine or option.
    RenderError
        If the engine fails, with its own words; also when the question inside the page does.

    Examples
    --------
    >>> import evalstats as es
    >>> path = es.report("validation")  # doctest: +SKIP
    """
    held = isinstance(data, EvalData)
    return render_report(
        kind=kind,
        data=data if held else None,
        store=None if held else data,
        baseline=baseline,
        candidate=candidate,
        to=to,
        output=output,
        engine=engine,
        options=options,
    ).path


def render_report(
    *,
    kind: str,
    data: EvalData | None = None,
    store: str | Path | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    to: str = "html",
    output: str | Path | None = None,
    engine: str = "auto",
    options: Mapping[str, Any] | None = None,
    on_step: Callable[[str], None] = no_one_listens,
) -> Rendered:
    """Render a report; as `report`, and says which engine made it.

    A page takes what its own parameters cell sets, and nothing else: data, baseline and candidate only where it has them.

    Some seconds go by: `on_step` is called with what is being done ("running the cells", "making HTML", ...).
    """
    return render_reports(
        kind=kind,
        data=data,
        store=store,
        baseline=baseline,
        candidate=candidate,
        outputs={to: output},
        engine=engine,
        options=options,
        on_step=on_step,
    )[0]


def render_reports(
    *,
    kind: str,
    data: EvalData | None = None,
    store: str | Path | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    outputs: Mapping[str, str | Path | None],
    engine: str = "auto",
    options: Mapping[str, Any] | None = None,
    on_step: Callable[[str], None] = no_one_listens,
) -> tuple[Rendered, ...]:
    """Render a page in several forms, and hand over its data once; the embedded engine runs its cells once as well.

    `outputs` holds where each of "html" and "pdf" goes, as `output` of `render_report`; the rest is as there. A form is put
    in its place when it is made, so one that fails leaves those before it.
    """
    page = find_page(kind)
    paths: list[tuple[Target, Path]] = []
    for to, output in outputs.items():
        target = _target(to)
        paths.append((target, _output_path(output, kind, target)))
    given = dict(options or {})
    time_limit = int(given.pop("time_limit", 600))
    chosen = choose_engine(engine)
    day = today()
    with tempfile.TemporaryDirectory(prefix="evalstats-report-") as temporary:
        if data is not None:
            on_step("handing over the data")
            store = Path(temporary, "data")
            write_tables(data, store)
        if store is not None:
            given["store"] = str(Path(store).resolve())
        given = _handed_over(given, Path(temporary), on_step)
        given |= {"baseline": baseline or None, "candidate": candidate or None}
        parameters: dict[str, object] = {name: _plain(value) for name, value in given.items() if value is not None}
        parameters |= {"engine": chosen.description, "rendered": day.isoformat()}
        _refuse_unknown(parameters, kind, page.source)
        for target, path in paths:
            folder = Path(temporary, f"render-{target}")
            folder.mkdir()
            job = Job(
                page=page,
                parameters=parameters,
                to=target,
                folder=folder,
                day=day,
                time_limit=time_limit,
                on_step=on_step,
            )
            _put(chosen.render(job), path)
    return tuple(Rendered(path=path, engine=chosen.name) for _, path in paths)


def render_results(
    results: Sequence[Result],
    outputs: Sequence[str | Path],
    *,
    engine: str = "auto",
    time_limit: int = 600,
    on_step: Callable[[str], None] = no_one_listens,
) -> tuple[Rendered, ...]:
    """Render a result as its page, or several as one document with an index; nothing is computed again.

    Raises
    ------
    InputError
        If a file's name ends neither in .html nor in .pdf, or its folder is not there.
    RenderError
        If the engine fails, with its own words.
    """
    if not results:
        raise InputError("there is no result to render")
    kind = results[0].document().kind if len(results) == 1 else "results"
    page, chosen, day = find_page(kind), choose_engine(engine), today()
    paths: list[tuple[Target, Path]] = []
    for output in outputs:
        target = _target(Path(output).suffix.lower().removeprefix(".") or "html")
        paths.append((target, _output_path(output, kind, target)))
    with tempfile.TemporaryDirectory(prefix="evalstats-report-") as temporary:
        saved = [Path(temporary, f"result-{place}.json") for place, _ in enumerate(results)]
        for result, file in zip(results, saved, strict=True):
            result.save(file)
        given: object = str(saved[0]) if len(saved) == 1 else [str(file) for file in saved]
        parameters: dict[str, object] = {"result": given, "engine": chosen.description, "rendered": day.isoformat()}
        for place, (target, path) in enumerate(paths):
            folder = Path(temporary, f"render-{place}")
            folder.mkdir()
            job = Job(
                page=page,
                parameters=parameters,
                to=target,
                folder=folder,
                day=day,
                time_limit=time_limit,
                on_step=on_step,
            )
            _put(chosen.render(job), path)
    return tuple(Rendered(path=path, engine=chosen.name) for _, path in paths)


def choose_engine(name: str) -> Engine:
    """Return the engine of that name; "auto" takes Quarto where it is on the machine, else the embedded one.

    Raises
    ------
    InputError
        If there is no such engine.
    RenderError
        If Quarto is wanted and not found.
    """
    if name == "embedded":
        return EmbeddedEngine()
    if name == "quarto":
        return QuartoEngine(find_quarto(required=True))
    if name != "auto":
        raise InputError(f"there is no engine {name!r}; choose auto, quarto or embedded")
    program = find_quarto(required=False)
    return QuartoEngine(program) if program else EmbeddedEngine()


def _handed_over(given: Mapping[str, Any], temporary: Path, on_step: Callable[[str], None]) -> dict[str, Any]:
    """Return the options with data written to folders and paths whole: cells run in a folder of their own."""
    out: dict[str, Any] = dict(given)
    for name, value in given.items():
        if isinstance(value, EvalData):
            on_step("handing over the data")
            write_tables(value, temporary / name)
            out[name] = str(temporary / name)
        elif name in _FILES and isinstance(value, str | Path) and value and (name == "plan" or Path(value).exists()):
            out[name] = str(Path(value).resolve())
    return out


def _target(to: str) -> Target:
    for known in _TARGETS:
        if to == known:
            return known
    raise InputError(f"a report cannot be made as {to!r}; choose html or pdf")


def _output_path(output: str | Path | None, kind: str, to: Target) -> Path:
    path = Path(f"{kind}.{to}") if output is None else Path(output)
    if path.is_dir():
        path /= f"{kind}.{to}"
    if path.suffix.lower() in (".html", ".pdf") and path.suffix.lower() != f".{to}":
        raise InputError(f"{path}: the name says {path.suffix[1:]}, but {to} was asked for; say which (to=..., --to)")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder to put the report in")
    return path


def _plain(value: object) -> object:
    """Return a value that papermill and JSON both know: tuples become lists, paths text."""
    if isinstance(value, list | tuple):
        return [str(part) for part in cast("Sequence[object]", value)]
    return str(value) if isinstance(value, Path) else value


def _refuse_unknown(parameters: Mapping[str, object], kind: str, source: Path) -> None:
    """Refuse what the page's parameters cell does not set: it would be dropped without a word."""
    import ast

    cells = [cell for cell in read_document(source).cells if "parameters" in cell.tags]
    known = {
        target.id
        for cell in cells
        for statement in ast.parse(cell.code).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    unknown = sorted(parameters.keys() - known)
    if not unknown:
        return
    if "store" in unknown:
        raise InputError(f"the report {kind!r} shows no data of yours; leave them out")
    usable = ", ".join(sorted(known - {"engine", "rendered", "store"})) or "none"
    raise InputError(f"the report has no option {unknown[0]!r}; it takes {usable}")


def _put(finished: Path, path: Path) -> None:
    """Put the file where it is wanted, whole or not at all."""
    path = path.resolve()
    part = path.with_name(f".{path.name[:40]}.part")
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe is written to; to put a file in its place would destroy it.
            path.write_bytes(finished.read_bytes())
            return
        shutil.copyfile(finished, part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{path}: the report cannot be written there ({error})") from error
