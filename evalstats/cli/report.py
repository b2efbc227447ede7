"""`evalstats report`: a result as a page to read and to send on."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evalstats.cli import options
from evalstats.errors import InputError

if TYPE_CHECKING:
    from evalstats.analysis.result import Result
    from evalstats.loaders.column_map import ColumnMap
    from evalstats.schema.data import EvalData


class Kind(StrEnum):
    """Which page."""

    LEADERBOARD = "leaderboard"
    VALIDATION = "validation"
    ARENA_SAMPLING = "arena-sampling"


class To(StrEnum):
    """Which kind of document."""

    HTML = "html"
    PDF = "pdf"


class Engine(StrEnum):
    """What renders the page."""

    AUTO = "auto"
    QUARTO = "quarto"
    EMBEDDED = "embedded"


# Pages of stored results, and what they show.
_WITHOUT_DATA = {
    Kind.VALIDATION: "the error rates of evalstats itself",
    Kind.ARENA_SAMPLING: "a stored simulation",
}
_OF_COMPARISON = ("candidate", "by", "margin", "sequential", "planned_n")
# What a page has no use for: to drop it without a word would answer another question than was asked.
_FOREIGN = {
    Kind.LEADERBOARD: _OF_COMPARISON,
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    kind: Annotated[
        Kind,
        typer.Argument(
            show_choices=False,
            # A list of all kinds in the place of their name would be wider than a terminal.
            help=f"Page to render: {', '.join(Kind)}. Of these, validation shows the error rates of evalstats itself, "
            "arena-sampling a stored simulation of which models an arena lets meet, both without data.",
        ),
    ],
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA...",
            help="Files, folders or a store.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Run, system or model to compare against.", show_default=False)
    ] = None,
    candidate: Annotated[str | None, typer.Option(help="Run, system or model under test.", show_default=False)] = None,
    store: options.StoreDir = None,
    to: Annotated[
        list[To] | None, typer.Option("--to", help="html or pdf; may be repeated.", show_default="html")
    ] = None,
    output: options.Output = None,
    engine: Annotated[Engine, typer.Option("--engine", help="What renders the page.")] = Engine.AUTO,
    metric: options.MetricName = None,
    by: options.ReportBy = None,
    cluster: options.Cluster = None,
    margin: Annotated[
        str | None, typer.Option(help="Largest difference that does not matter, such as 2pp.", show_default=False)
    ] = None,
    adjust: Annotated[
        Literal["max-t", "holm", "bh", "by"] | None,
        typer.Option(help="For a leaderboard: how p is adjusted for all pairs; default: max-t.", show_default=False),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(help="For many models: those to keep (A,B,C, or several times).", show_default=False),
    ] = None,
    conf_level: options.PlannedLevel = None,
    contrast: options.Contrast = "model",
    pass_hat: options.PassHat = None,
    pass_at: options.PassAt = None,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="An interval that holds at every look while the run goes on.")
    ] = False,
    planned_n: Annotated[
        int | None,
        typer.Option("--planned-n", help="With --sequential: items (or clusters) planned.", show_default=False),
    ] = None,
    accept: options.Accept = None,
    missing: options.Missing = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Render a report: one HTML file, or a PDF."""
    documents = Documents(kind=kind, to=tuple(to or [To.HTML]), output=output, engine=engine, quiet=quiet)
    question: dict[str, Any] = {
        "metric": metric,
        "by": _one_factor(kind, by),
        "cluster": cluster,
        "margin": margin,
        "adjust": adjust,
        "models": models,
        "conf_level": conf_level,
        "contrast": contrast,
        "pass_hat": pass_hat,
        "pass_at": pass_at,
        "sequential": sequential,
        "planned_n": planned_n,
        "accept": accept,
        "missing": missing,
        "seed": seed,
    }
    sources = Sources(
        targets=tuple(targets or ()),
        baseline=baseline,
        candidate=candidate,
        store=store,
        where=where,
        map_=map_,
        input_format=input_format,
        plan=plan,
        no_plan=no_plan,
    )
    if kind in _WITHOUT_DATA:
        _refuse_question(kind, question, sources)
        documents.render()
    else:
        _leaderboard(documents, sources, _own(kind, {**question, "candidate": candidate}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What is to be written, and where."""

    kind: Kind
    to: tuple[To, ...]
    output: Path | None
    engine: Engine
    quiet: bool

    def render(self, **what: Any) -> None:
        """Render every kind of document and print where it is; `what` goes to `render_report`."""
        from evalstats.cli.show import step_line
        from evalstats.report.render import render_report

        for to in self.to:
            with step_line(quiet=self.quiet) as on_step:
                rendered = render_report(
                    kind=self.kind.value,
                    to=to.value,
                    output=_target(self.kind, self.output, to, several=len(self.to) > 1),
                    engine=self.engine.value,
                    on_step=on_step,
                    **what,
                )
            typer.echo(str(rendered.path))

    def render_result(self, result: "Result") -> None:
        """Render a result as it is, in every form, and print where it is."""
        from evalstats.cli.show import step_line
        from evalstats.report.render import render_results

        several = len(self.to) > 1
        outputs = [_target(self.kind, self.output, to, several=several) for to in self.to]
        with step_line(quiet=self.quiet) as on_step:
            for rendered in render_results([result], outputs, engine=self.engine.value, on_step=on_step):
                typer.echo(str(rendered.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The options that say which data are meant, and what was declared about them."""

    targets: tuple[str, ...]
    baseline: str | None
    candidate: str | None
    store: Path | None
    where: list[str] | None
    map_: list[str] | None
    input_format: str | None
    plan: Path | None
    no_plan: bool


def _leaderboard(documents: Documents, sources: Sources, question: dict[str, Any]) -> None:
    from evalstats.analysis.leaderboard.leaderboard import leaderboard
    from evalstats.analysis.leaderboard.published import keep_published
    from evalstats.cli.load import column_map, conditions, names_of
    from evalstats.cli.plan import columns_for, declared_plan
    from evalstats.cli.show import step_line

    paths = [Path(target) for target in sources.targets]
    declared = declared_plan(sources.plan, wanted=not sources.no_plan, quiet=documents.quiet)
    given = column_map(sources.map_)
    columns = given or columns_for(declared, paths)
    data = _loaded(paths, sources, columns, documents)
    data = data if data.outcomes.height else keep_published(data, conditions(sources.where))
    question = {**question, "models": names_of(question["models"], data)}
    asked: dict[str, Any] = {**question, "accept": question["accept"] or (), "baseline": sources.baseline}
    asked["plan"] = declared.plan if declared else None
    with step_line(quiet=documents.quiet) as on_step:
        on_step("comparing all pairs of models")
        answered = leaderboard(data, **asked)
    documents.render_result(answered)
    if not any(row.rank_low for row in answered.rows):
        raise typer.Exit(3)


def _loaded(paths: "list[Path]", sources: Sources, columns: "ColumnMap | None", documents: Documents) -> "EvalData":
    from evalstats.cli.load import load

    return load(
        paths,
        store=sources.store,
        where=sources.where,
        columns=columns,
        input_format=sources.input_format,
        quiet=documents.quiet,
    )


def _own(kind: Kind, question: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the question that a page takes; refuse what was asked of it and is another page's."""
    foreign = _FOREIGN[kind]
    given = [name for name in foreign if question.get(name) not in (None, False)]
    if given:
        message = f"the report {kind.value} has no option --{given[0].rstrip('_').replace('_', '-')}"
        raise InputError(message)
    return {name: value for name, value in question.items() if name not in foreign}


def _one_factor(kind: Kind, by: list[str] | None) -> str | None:
    """Return the one factor to split by."""
    if by and len(by) > 1:
        message = f"the report {kind.value} takes --by once, found {', '.join(by)}"
        raise InputError(message)
    return by[0] if by else None


def _refuse_question(kind: Kind, question: dict[str, Any], sources: Sources) -> None:
    """Refuse what a page without data has no use for."""
    usual = {"contrast": "model", "sequential": False, "seed": 0}
    given = [name for name, value in question.items() if value != usual.get(name)]
    given += [name for name, value in asdict(sources).items() if value]
    if given:
        name = given[0].rstrip("_").replace("_", "-")
        what = "data" if given[0] == "targets" else f"--{name}"
        message = f"the report {kind.value} shows {_WITHOUT_DATA[kind]}: it takes no {what}"
        raise InputError(message)


def reading(
    files: Sequence[str],
    *,
    store: Path | None,
    where: Sequence[str] | None,
    map_: Sequence[str] | None,
    input_format: str | None,
    plan: Path | None = None,
) -> str:
    """Return the Python that reads what these options read, for the page to print; "" where the page knows it itself.

    `plan` is there where the files are read by the column map that it declares.

    Examples
    --------
    >>> reading(["a.csv"], store=None, where=["language=en"], map_=None, input_format=None)
    'es.read("a.csv", where={"language": "en"})'
    """
    from evalstats.cli.load import conditions

    if not (store or where or map_ or input_format or plan):
        return ""
    named = [json.dumps(name) for name in files]
    if map_:
        named.append(f"column_map=es.ColumnMap.from_options({json.dumps(list(map_))})")
    if plan:
        # Its name and no folder: where it lies is nobody's business.
        named.append(f"column_map=es.ColumnMap.from_tables(es.read_plan({json.dumps(plan.name)}).column_map)")
    if input_format:
        named.append(f"format={json.dumps(input_format)}")
    levels = {column: each[0] if len(each) == 1 else each for column, each in conditions(where).items()}
    kept = json.dumps(levels, ensure_ascii=False)
    if store:
        read = f"es.open_store({json.dumps(str(store))}).read()"
        return f"{read}.where(**{kept})" if levels else read
    return f"es.read({', '.join([*named, *([f'where={kept}'] if levels else [])])})"


def _target(kind: Kind, output: Path | None, to: To, *, several: bool) -> Path:
    """Return where the document goes: a path without an ending is a folder; with several documents the ending follows."""
    name = f"{kind.value}.{to.value}"
    if output is None:
        return Path(name)
    if output.is_dir() or (not output.suffix and not output.exists()):
        output.mkdir(parents=True, exist_ok=True)
        return output / name
    return output.with_suffix(f".{to.value}") if several else output
