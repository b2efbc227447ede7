"""`evalstats frontier`: which systems score the most for their cost?"""

from enum import StrEnum
from typing import Annotated

import typer

from evalstats.cli import options


class Cost(StrEnum):
    """What is spent."""

    COST_USD = "cost_usd"
    LATENCY_S = "latency_s"
    OUTPUT_TOKENS = "output_tokens"
    INPUT_TOKENS = "input_tokens"
    N_TURNS = "n_turns"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("frontier")(frontier)


def frontier(
    paths: options.Paths = None,
    store: options.StoreDir = None,
    metric: options.MetricName = None,
    higher_is_better: options.HigherIsBetter = None,
    cost: Annotated[Cost, typer.Option(help="What is spent; the less the better.")] = Cost.COST_USD,
    models: Annotated[
        list[str] | None, typer.Option(help="Systems to keep: A,B,C; default: all.", show_default=False)
    ] = None,
    cluster: options.Cluster = None,
    conf_level: options.ConfLevel = 0.95,
    contrast: Annotated[str, typer.Option(help="What names the entries: model, or another column (run).")] = "model",
    accept: options.Accept = None,
    trials_from_runs: options.TrialsFromRuns = False,
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
    """Which systems score the most for their cost?"""
    from evalstats.analysis.frontier.frontier import frontier as frontier_of
    from evalstats.cli.leaderboard import names_of
    from evalstats.cli.load import column_map, load
    from evalstats.cli.show import present, step_line

    data = load(paths or [], store=store, where=where, columns=column_map(map_), input_format=input_format, quiet=quiet)
    data = data.trials_from_runs() if trials_from_runs else data
    with step_line(quiet=quiet) as on_step:
        result = frontier_of(
            data,
            metric=metric,
            higher_is_better=higher_is_better,
            cost=cost.value,
            cluster=cluster,
            models=names_of(models, data),
            accept=accept or (),
            conf_level=conf_level,
            contrast=contrast,
            seed=seed,
            on_progress=lambda done, of: on_step(f"resampling {done:,} of {of:,}"),
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
