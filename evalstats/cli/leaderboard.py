"""`evalstats leaderboard`: how do all models stand, and which ranks are certain?"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalstats.schema.data import EvalData

_CANNOT_ANSWER = 3


class Adjustment(StrEnum):
    """How p is adjusted for the family of pairs."""

    MAX_T = "max-t"
    HOLM = "holm"
    BH = "bh"
    BY = "by"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("leaderboard")(leaderboard)


def leaderboard(
    paths: options.Paths = None,
    store: options.StoreDir = None,
    metric: options.MetricName = None,
    higher_is_better: options.HigherIsBetter = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare all others with this model.", show_default=False)
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(help="Models to keep: A,B,C, or the option several times; default: all.", show_default=False),
    ] = None,
    cluster: options.Cluster = None,
    adjust: Annotated[
        Adjustment | None,
        typer.Option(help="How p is adjusted for all pairs; default: max-t, or the plan's.", show_default=False),
    ] = None,
    top: Annotated[str, typer.Option(metavar="K,K,...", help="Say who may be among the K best.")] = "1,3,5",
    conf_level: options.PlannedLevel = None,
    contrast: Annotated[str, typer.Option(help="What names the entries: model, or another column (run).")] = "model",
    pass_hat: options.PassHat = None,
    pass_at: options.PassAt = None,
    accept: options.Accept = None,
    missing: options.Missing = None,
    average: options.Average = None,
    average_over: options.AverageOver = None,
    weights: options.Weights = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    explain: options.Explain = False,
    trials_from_runs: options.TrialsFromRuns = False,
    shared_trials: options.SharedTrials = None,
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    seed: Annotated[int, typer.Option(help="For random sign flips, where there are too many to list.")] = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """How do all models stand, and which ranks are certain?"""
    from evalstats.analysis.leaderboard.leaderboard import leaderboard as leaderboard_of
    from evalstats.analysis.leaderboard.published import keep_published
    from evalstats.cli.load import averages, column_map, conditions, load
    from evalstats.cli.plan import columns_for, declared_plan
    from evalstats.cli.show import show_result, step_line

    levels = whole_numbers(top)
    declared = declared_plan(plan, wanted=not no_plan, quiet=quiet)
    columns = column_map(map_) or columns_for(declared, paths or [])
    data = load(paths or [], store=store, where=where, columns=columns, input_format=input_format, quiet=quiet)
    data = data.trials_from_runs() if trials_from_runs else data
    data = data if data.outcomes.height else keep_published(data, conditions(where))
    with step_line(quiet=quiet) as on_step:
        on_step("comparing all pairs of models")
        result = leaderboard_of(
            data,
            metric=metric,
            higher_is_better=higher_is_better,
            baseline=baseline,
            cluster=cluster,
            adjust=None if adjust is None else adjust.value,
            models=names_of(models, data),
            conf_level=conf_level,
            contrast=contrast,
            pass_hat=pass_hat,
            pass_at=pass_at,
            top=levels,
            accept=accept or (),
            missing=missing,
            **averages(average, average_over, weights),
            plan=declared.plan if declared else None,
            shared_trials=shared_trials,
            seed=seed,
        )
    show_result(result, explain=explain, style=style, output=output, no_color=no_color, quiet=quiet)
    if not any(row.rank_low for row in result.rows):
        raise typer.Exit(_CANNOT_ANSWER)


def names_of(values: "Sequence[str] | None", data: "EvalData") -> list[str] | None:
    """Split A,B,C at the commas, except where the whole is itself a name."""
    if not values:
        return None
    have = {
        name
        for table in (data.outcomes, data.aggregates)
        for column in ("run", "system", "model")
        if column in table.columns
        for name in table[column].unique().to_list()
    }
    return [name for value in values for name in ([value] if value in have else value.split(",")) if name]


def whole_numbers(text: str) -> list[int]:
    """Read whole numbers with commas between them; anything else is an InputError."""
    from evalstats.errors import InputError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and part.isascii() for part in parts):
        message = f"--top is {text!r}; give whole numbers from 1, such as 1,3,5"
        raise InputError(message)
    return [int(part) for part in parts]
