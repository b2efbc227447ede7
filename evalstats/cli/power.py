"""`evalstats power`: how many items, trials, clusters do I need?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options

if TYPE_CHECKING:
    from evalstats.schema.data import EvalData


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("power")(power)


def power(
    delta: Annotated[
        str | None, typer.Option(help="True difference that matters, such as 3pp.", show_default=False)
    ] = None,
    items: Annotated[int | None, typer.Option("--n", "--items", help="Items there are.", show_default=False)] = None,
    clusters: Annotated[int | None, typer.Option(help="Clusters there are.", show_default=False)] = None,
    trials: Annotated[
        str | None,
        typer.Option(help="Trials of each item: 3, or 3,5 for baseline and candidate.", show_default=False),
    ] = None,
    from_: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Pilot: result files, folders or a store; may be repeated.", show_default=False),
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="One system of the pilot.", show_default=False)] = None,
    candidate: Annotated[str | None, typer.Option(help="The other system of the pilot.", show_default=False)] = None,
    metric: options.MetricName = None,
    cluster: options.Cluster = None,
    discordance: Annotated[
        float | None,
        typer.Option(help="No pilot: share of items that exactly one of the two gets right.", show_default=False),
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="No pilot: accuracy of the baseline.", show_default=False)
    ] = None,
    variance: Annotated[
        list[str] | None,
        typer.Option(
            help="No pilot: variance of item differences; or its parts item=, trial=, cluster=.", show_default=False
        ),
    ] = None,
    icc: Annotated[
        float | None,
        typer.Option(help="No pilot: correlation of differences within a cluster.", show_default=False),
    ] = None,
    cluster_size: Annotated[
        float | None, typer.Option(help="Mean number of items of a cluster.", show_default=False)
    ] = None,
    cluster_cv: Annotated[float, typer.Option(help="Coefficient of variation of that number.")] = 0.0,
    test: Annotated[str, typer.Option(help="difference, noninferiority, equivalence or precision.")] = "difference",
    margin: Annotated[
        str | None, typer.Option(help="Largest difference that does not matter, such as 2pp.", show_default=False)
    ] = None,
    half_width: Annotated[
        str | None, typer.Option(help="Half the width that the interval is to have.", show_default=False)
    ] = None,
    goal: Annotated[float, typer.Option("--power", help="Power asked for.")] = 0.8,
    conf_level: options.ConfLevel = 0.95,
    cost: Annotated[
        list[str] | None,
        typer.Option(help="item=, trial= or cluster= and what one costs; may be repeated.", show_default=False),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, exact, miller, t, clusters or simulation.")] = "auto",
    contrast: options.Contrast = "model",
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    full: options.Full = False,
    explain: options.Explain = False,
    report: options.Report = None,
    resamples: Annotated[int, typer.Option(help="Comparisons in a simulation.")] = 4000,
    seed: Annotated[int, typer.Option("--seed", help="For simulations.")] = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """How many items, trials, clusters do I need?"""
    from evalstats.analysis.power.power import power as plan
    from evalstats.cli.output import present

    pilot = _pilot(from_, where=where, map_=map_, input_format=input_format, quiet=quiet)
    parts = _numbers(variance, "--variance", alone="item")
    result = plan(
        delta=_amount(delta, "--delta"),
        pilot=pilot,
        baseline=baseline,
        candidate=candidate,
        metric=metric,
        cluster=cluster or None,
        n_items=items,
        n_clusters=clusters,
        n_trials=_trials(trials),
        discordance=discordance,
        accuracy=accuracy,
        variance=parts,
        icc=icc,
        cluster_size=cluster_size,
        cluster_cv=cluster_cv,
        margin=_amount(margin, "--margin"),
        test=test,
        half_width=_amount(half_width, "--half-width"),
        power=goal,
        conf_level=conf_level,
        contrast=contrast,
        costs=_numbers(cost, "--cost"),
        method=method,
        n_resamples=resamples,
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


def _pilot(
    paths: Sequence[Path] | None,
    *,
    where: Sequence[str] | None,
    map_: Sequence[str] | None,
    input_format: str | None,
    quiet: bool,
) -> "EvalData | None":
    from evalstats.cli.load import column_map, load
    from evalstats.errors import InputError

    if not paths:
        if where or map_ or input_format:
            raise InputError("--where, --map and --input-format read a pilot; name its files with --from")
        return None
    return load(paths, where=where, columns=column_map(map_), input_format=input_format, quiet=quiet)


def _amount(text: str | None, option: str) -> float | str | None:
    """Return a number where one was typed, and points as they were typed."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        from evalstats.analysis.power.basis import plain_amount

        plain_amount(text, option)
        return text


def _trials(text: str | None) -> float | tuple[float, float] | None:
    from evalstats.errors import InputError

    if text is None:
        return None
    try:
        counts = [float(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if len(counts) not in (1, 2):
        raise InputError(f"--trials {text!r} is no number of trials; write 3, or 3,5 for baseline and candidate")
    return counts[0] if len(counts) == 1 else (counts[0], counts[1])


def _numbers(pairs: Sequence[str] | None, option: str, *, alone: str | None = None) -> dict[str, float] | None:
    """Return NAME=NUMBER options as a mapping; a bare number belongs to the name `alone`."""
    from evalstats.errors import InputError

    found: dict[str, float] = {}
    for pair in pairs or ():
        name, equals, number = pair.partition("=")
        if not equals and alone is not None:
            name, number = alone, pair
        try:
            value = float(number)
        except ValueError:
            like = f"{alone}=0.1, or a number" if alone else "item=2"
            raise InputError(f"{option} {pair!r} is not NAME=NUMBER; write {like}") from None
        if name in found:
            raise InputError(f"{option} names {name!r} twice; give it once")
        found[name] = value
    return found or None
