"""`evalstats compare`: is B better than A?"""

from pathlib import Path
from typing import Annotated

import typer

from evalstats.cli import options
from evalstats.cli.gate import FailOn, Junit

_CANNOT_ANSWER = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="A B | DATA...", help="Two files or folders; two names with --store; or data."),
    ],
    baseline: Annotated[
        str | None, typer.Option(help="Run, system or model to compare against.", show_default=False)
    ] = None,
    candidate: Annotated[str | None, typer.Option(help="Run, system or model under test.", show_default=False)] = None,
    store: options.StoreDir = None,
    metric: options.MetricName = None,
    higher_is_better: options.HigherIsBetter = None,
    by: options.By = None,
    cluster: options.Cluster = None,
    margin: Annotated[
        str | None, typer.Option(help="Largest difference that does not matter, such as 2pp.", show_default=False)
    ] = None,
    conf_level: options.PlannedLevel = None,
    contrast: options.Contrast = "model",
    method: Annotated[str, typer.Option(help="auto, tango, augmented-t, t or cr2.")] = "auto",
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
    average: options.Average = None,
    average_over: options.AverageOver = None,
    weights: options.Weights = None,
    missing: options.Missing = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    fail_on: FailOn = None,
    junit: Junit = None,
    trials_from_runs: options.TrialsFromRuns = False,
    shared_trials: options.SharedTrials = None,
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    full: options.Full = False,
    explain: options.Explain = False,
    report: options.Report = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Is B better than A? Difference, interval, verdict."""
    from evalstats.analysis.compare.compare import compare as compare_data
    from evalstats.cli.gate import (
        apply_gate,
        check_rules,
        gate_line,
        gate_values,
        rules_in_force,
        told_in_junit,
        with_gate,
    )
    from evalstats.cli.load import averages, column_map, sides
    from evalstats.cli.plan import columns_for, declared_plan
    from evalstats.cli.show import present, say

    declared = declared_plan(plan, wanted=not no_plan, quiet=quiet)
    rules = rules_in_force(fail_on, declared)
    check_rules(rules, margin, declared)

    with told_in_junit(junit):
        found = sides(
            [Path(target) for target in targets],
            baseline=baseline,
            candidate=candidate,
            store=store,
            where=where,
            columns=column_map(map_) or columns_for(declared, targets),
            input_format=input_format,
            trials_from_runs=trials_from_runs,
            quiet=quiet,
        )
        aliases = dict(declared.plan.aliases) if declared else dict[str, str]()
        result = compare_data(
            found.data,
            aliases.get(found.baseline, found.baseline),
            aliases.get(found.candidate, found.candidate),
            metric=metric,
            higher_is_better=higher_is_better,
            by=by,
            cluster=cluster,
            margin=margin,
            conf_level=conf_level,
            contrast=contrast,
            method=method,
            pass_hat=pass_hat,
            pass_at=pass_at,
            sequential=sequential,
            planned_n=planned_n,
            shared_trials=shared_trials,
            accept=accept or (),
            **averages(average, average_over, weights),
            missing=missing,
            plan=declared.plan if declared else None,
            seed=seed,
        )
    gated = apply_gate(result, rules, junit)
    failed = gated is not None and not gated.passed
    present(
        with_gate(result, gated),
        style=style,
        output=output,
        full=full,
        explain=explain,
        report=report,
        quiet=quiet or (failed and output is not None),
        no_color=no_color,
        more=gate_values(gated),
    )
    if gated is not None and failed:
        say(gate_line(gated, output))
    if result.verdict == "invalid":
        raise typer.Exit(_CANNOT_ANSWER)
    if gated is not None and gated.exit_status:
        raise typer.Exit(gated.exit_status)
