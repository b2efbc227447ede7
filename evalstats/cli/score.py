"""`evalstats score`: every system's score with its interval."""

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("score")(score)


def score(
    paths: options.Paths = None,
    system: Annotated[str | None, typer.Option(help="Run, system or model; default: all.", show_default=False)] = None,
    store: options.StoreDir = None,
    metric: options.MetricName = None,
    higher_is_better: options.HigherIsBetter = None,
    cluster: options.Cluster = None,
    conf_level: options.ConfLevel = 0.95,
    pass_hat: options.PassHat = None,
    pass_at: options.PassAt = None,
    average: options.Average = None,
    average_over: options.AverageOver = None,
    weights: options.Weights = None,
    against: Annotated[
        str | None,
        typer.Option(help="Published number to hold the score against, such as 0.87 or 87%.", show_default=False),
    ] = None,
    against_n: Annotated[
        int | None, typer.Option(help="Items behind the published number.", show_default=False)
    ] = None,
    against_se: Annotated[
        str | None, typer.Option(help="Standard error of the published number.", show_default=False)
    ] = None,
    trials_from_runs: options.TrialsFromRuns = False,
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    full: options.Full = False,
    explain: options.Explain = False,
    report: options.Report = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Each system's score, with an interval that fits it."""
    from evalstats.analysis.score.result import Score, Scores
    from evalstats.analysis.score.score import score as score_data
    from evalstats.cli.load import averages, column_map, load
    from evalstats.cli.show import present

    columns = column_map(map_)
    targets: list[Path] = paths or []
    if store is not None and system is None and len(targets) == 1 and not targets[0].exists():
        system, targets = str(targets[0]), []  # `score NAME --store DIR`, as `compare A B --store DIR`
    data = load(targets, store=store, where=where, columns=columns, input_format=input_format, quiet=quiet)
    data = data.trials_from_runs() if trials_from_runs else data
    found = score_data(
        data,
        system,
        metric=metric,
        higher_is_better=higher_is_better,
        cluster=cluster,
        conf_level=conf_level,
        pass_hat=pass_hat,
        pass_at=pass_at,
        **averages(average, average_over, weights),
        against=against,
        against_n=against_n,
        against_se=against_se,
    )
    scores = (found,) if isinstance(found, Score) else found
    present(
        scores[0] if len(scores) == 1 else Scores(rows=scores),
        style=style,
        output=output,
        full=full,
        explain=explain,
        report=report,
        quiet=quiet,
        no_color=no_color,
    )
