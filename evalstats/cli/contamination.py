"""`evalstats contamination`: do models score more on items they may have seen?"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from evalstats.cli import options

_CANNOT_ANSWER = 3


class Alternative(StrEnum):
    """What the test is for."""

    TWO_SIDED = "two-sided"
    GREATER = "greater"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("contamination")(contamination)


def contamination(
    paths: options.Paths = None,
    store: options.StoreDir = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that tells old items from new ones.", show_default=False),
    ] = None,
    old: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL", help="Level of old, public items; with --twin, of originals.", show_default=False
        ),
    ] = None,
    new: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL", help="Level of new, held-out items; with --twin, of rephrased.", show_default=False
        ),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the date of every item.", show_default=False),
    ] = None,
    cutoff: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL=DATE", help="Where a model's training data ends; may be repeated.", show_default=False
        ),
    ] = None,
    twin: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that tells rephrased items, or names on each the item it rephrases.",
            show_default=False,
        ),
    ] = None,
    suspect: Annotated[
        list[str] | None,
        typer.Option(
            "--suspect", metavar="MODEL", help="Model in question; may be repeated; default: all.", show_default=False
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            metavar="MODEL",
            help="Model known to be clean; may be repeated; default: all others.",
            show_default=False,
        ),
    ] = None,
    metric: options.MetricName = None,
    higher_is_better: options.HigherIsBetter = None,
    margin: Annotated[
        str | None,
        typer.Option(metavar="M", help="Largest inflation that does not matter: 5pp, or a number.", show_default=False),
    ] = None,
    alternative: Annotated[
        Alternative, typer.Option(help="greater: one-sided, where declared before looking.")
    ] = Alternative.TWO_SIDED,
    cluster: options.Cluster = None,
    conf_level: options.PlannedLevel = None,
    accept: options.Accept = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    full: options.Full = False,
    explain: options.Explain = False,
    report: options.Report = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Do models score more on items they may have seen?"""
    from evalstats.analysis.contamination.contamination import contamination as contamination_of
    from evalstats.cli.load import column_map, load, names_of
    from evalstats.cli.output import present, step_line
    from evalstats.cli.plan import columns_for, declared_plan

    cutoffs = cutoffs_of(cutoff)
    declared = declared_plan(plan, wanted=not no_plan, quiet=quiet)
    columns = column_map(map_) or columns_for(declared, paths or [])
    data = load(paths or [], store=store, where=where, columns=columns, input_format=input_format, quiet=quiet)
    with step_line(quiet=quiet) as on_step:
        on_step("setting old items against new ones")
        result = contamination_of(
            data,
            split=split,
            old=old or None,
            new=new or None,
            date=date,
            twin=twin,
            suspects=names_of(suspect, data),
            references=names_of(reference, data),
            cutoffs=cutoffs,
            metric=metric,
            higher_is_better=higher_is_better,
            cluster=cluster,
            margin=margin,
            conf_level=conf_level,
            alternative=alternative.value,
            accept=accept or (),
            plan=declared.plan if declared else None,
            seed=seed,
        )
    present(
        result,
        style=style,
        output=output,
        full=full,
        explain=explain,
        report=report,
        quiet=quiet,
        no_color=no_color,
    )
    if result.verdict == "invalid":
        raise typer.Exit(_CANNOT_ANSWER)


def cutoffs_of(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Read MODEL=DATE; what follows the last equals sign is the date.

    Raises
    ------
    InputError
        If a text is not of that form, or names a model twice.

    Examples
    --------
    >>> cutoffs_of(["gpt-x=2023-09-30"])
    {'gpt-x': '2023-09-30'}
    """
    from evalstats.errors import InputError

    if not texts:
        return None
    found: dict[str, str] = {}
    for text in texts:
        model, equals, day = text.rpartition("=")
        if not equals or not model or not day:
            raise InputError(f"--cutoff {text!r} is not understood; give MODEL=DATE, such as gpt-x=2023-09-30")
        if model in found:
            raise InputError(f"--cutoff names {model!r} twice; a model has one cut-off")
        found[model] = day
    return found
