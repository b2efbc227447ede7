"""`evalstats report`: a comparison as a page to read and to send on."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.cli import options


class Kind(StrEnum):
    """Which page."""

    COMPARISON = "comparison"


class To(StrEnum):
    """Which kind of document."""

    HTML = "html"
    PDF = "pdf"


class Engine(StrEnum):
    """What renders the page."""

    AUTO = "auto"
    QUARTO = "quarto"
    EMBEDDED = "embedded"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    kind: Annotated[Kind, typer.Argument(help="Page to render.")],
    targets: Annotated[
        list[str],
        typer.Argument(metavar="A B | DATA...", help="Two files or folders; two names with --store; or data."),
    ],
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
    conf_level: options.ConfLevel = 0.95,
    contrast: options.Contrast = "model",
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Render a report: one HTML file, or a PDF."""
    from evalstats.analysis.compare import compare
    from evalstats.cli.load import column_map, sides
    from evalstats.cli.show import step_line
    from evalstats.report.render import render_report

    found = sides(
        [Path(target) for target in targets],
        baseline=baseline,
        candidate=candidate,
        store=store,
        where=where,
        columns=column_map(map_),
        input_format=input_format,
        quiet=quiet,
    )
    options_of_page: dict[str, Any] = {
        "metric": metric,
        "by": by,
        "cluster": cluster,
        "margin": margin,
        "conf_level": conf_level,
        "contrast": contrast,
        "seed": seed,
    }
    asked: dict[str, Any] = {**options_of_page, "by": None if by == "none" else by}
    # Asked here first, so that a question that cannot be answered ends as it does for `compare`.
    answered = compare(found.data, found.baseline, found.candidate, **asked)
    told = reading([] if store else targets, store=store, where=where, map_=map_, input_format=input_format)
    for kind_of_document in to or [To.HTML]:
        with step_line(quiet=quiet) as on_step:
            rendered = render_report(
                kind=kind.value,
                data=found.data,
                baseline=found.baseline,
                candidate=found.candidate,
                to=kind_of_document.value,
                output=_target(output, kind_of_document, several=len(to or []) > 1),
                engine=engine.value,
                options={**options_of_page, **({"reading": told} if told else {})},
                on_step=on_step,
            )
        typer.echo(str(rendered.path))
    if answered.verdict == "invalid":
        raise typer.Exit(3)


def reading(
    files: Sequence[str],
    *,
    store: Path | None,
    where: Sequence[str] | None,
    map_: Sequence[str] | None,
    input_format: str | None,
) -> str:
    """Return the Python that reads what these options read, for the page to print; "" where the page knows it itself.

    Examples
    --------
    >>> reading(["a.csv"], store=None, where=["language=en"], map_=None, input_format=None)
    'es.read("a.csv").where(language="en")'
    """
    if not (store or where or map_ or input_format):
        return ""
    named = [json.dumps(name) for name in files]
    if map_:
        named.append(f"column_map=es.ColumnMap.from_options({json.dumps(list(map_))})")
    if input_format:
        named.append(f"format={json.dumps(input_format)}")
    read = f"es.open_store({json.dumps(str(store))}).read()" if store else f"es.read({', '.join(named)})"
    wanted: dict[str, list[str]] = {}
    for condition in where or ():
        column, _, level = condition.partition("=")
        wanted.setdefault(column, []).append(level)
    levels = [f"{column}={json.dumps(each[0] if len(each) == 1 else each)}" for column, each in wanted.items()]
    return f"{read}.where({', '.join(levels)})" if levels else read


def _target(output: Path | None, to: To, *, several: bool) -> Path:
    """Return where the document goes: a path without an ending is a folder; with several documents the ending follows."""
    if output is None:
        return Path(f"comparison.{to.value}")
    if output.is_dir() or (not output.suffix and not output.exists()):
        output.mkdir(parents=True, exist_ok=True)
        return output / f"comparison.{to.value}"
    return output.with_suffix(f".{to.value}") if several else output
