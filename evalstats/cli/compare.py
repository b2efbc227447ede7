"""`evalstats compare`: is B better than A?"""

import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from evalstats.analysis.compare.options import CompareOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import (
    CANNOT_ANSWER,
    ColumnMaps,
    Engine,
    InputFormat,
    Planned,
    Reading,
    Showing,
    Where,
    add_command,
    noted,
)
from evalstats.errors import NothingSharedError

if TYPE_CHECKING:
    from evalstats.analysis.compare.result import Comparison
    from evalstats.cli.load import Declared as Plan
    from evalstats.cli.load import Narrow
    from evalstats.cli.load import Sides as Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Where both sides come from."""

    targets: Annotated[
        tuple[str, ...], Option("Two files or folders; two names with --store; or data.", metavar="A B | DATA...")
    ] = ()
    baseline: Annotated[str | None, Option("Run, system or model to compare against.")] = None
    candidate: Annotated[str | None, Option("Run, system or model under test.")] = None
    store: Annotated[Path | None, Option("Folder of ingested results to read from.", metavar="DIR")] = None
    trials_from_runs: Annotated[
        bool, Option("Take several runs of one system (seeds) as trials of its items.", ("--trials-from-runs",))
    ] = False
    where: Where = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None
    engine: Engine = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(Planned):
    """What was declared before looking, and the gate."""

    weights: Annotated[
        Path | None, Option("Share of each level, instead of --average: CSV (level,share) or TOML.", metavar="FILE")
    ] = None
    labels: Annotated[
        Path | None,
        Option("People's labels of a part of the items, to correct a judge: item, model, value.", metavar="FILE"),
    ] = None
    fail_on: Annotated[
        tuple[str, ...],
        Option(
            "Exit with 1 where the rule fails: worse, not-noninferior (with --margin) or inconclusive; may be repeated.",
            metavar="RULE",
        ),
    ] = ()
    junit: Annotated[Path | None, Option("Also write the outcome as JUnit XML.", metavar="FILE")] = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "compare", compare, Sides, CompareOptions, Declared, Showing)


def compare(given: Sides, asked: CompareOptions, declaring: Declared, showing: Showing) -> None:
    """Is B better than A? Difference, interval, verdict."""
    from evalstats.analysis.compare.compare import compare as compare_data
    from evalstats.analysis.compare.result import Comparisons
    from evalstats.cli.gate import (
        apply_gate,
        check_rules,
        gate_line,
        gate_values,
        rules_in_force,
        told_in_junit,
        with_gate,
    )
    from evalstats.cli.load import averages, column_map, columns_for, label_table, metrics_of, sides
    from evalstats.cli.output import say

    if not given.targets and given.store is None:
        raise typer.BadParameter(
            "name two files or folders, two names with --store, or data", param_hint="A B | DATA..."
        )
    declared = declaring.declared(quiet=showing.quiet)
    rules = rules_in_force(declaring.fail_on, declared)
    check_rules(rules, asked.margin, declared)
    with told_in_junit(declaring.junit):
        if given.engine is not None:
            found = _on_engine(given, asked, declared, quiet=showing.quiet)
        else:
            found = sides(
                [Path(target) for target in given.targets],
                baseline=given.baseline,
                candidate=given.candidate,
                store=given.store,
                where=given.where,
                columns=column_map(given.map) or columns_for(declared, given.targets),
                input_format=given.input_format,
                trials_from_runs=given.trials_from_runs,
                narrow=_narrow(given, asked, declared, single=declaring.labels is not None),
                quiet=showing.quiet,
            )
        plan = declared.plan if declared else None
        options: dict[str, Any] = {
            **asdict(asked),
            "metric": metrics_of(asked.metric, found.data),
            **averages(asked.average, asked.over, declaring.weights),
            "plan": plan,
            "labels": None if declaring.labels is None else label_table(declaring.labels),
        }
        aliases = dict(declared.plan.aliases) if declared else dict[str, str]()
        names = [aliases.get(name, name) for name in (found.baseline, found.candidate)]
        try:
            result = cast("Comparison | Comparisons", compare_data(found.data, *names, **options))
        except NothingSharedError as error:
            raise NothingSharedError(
                f"{error}; for sides with different users, {_alone(given)} gives each its interval"
            ) from error
    by_name = given.store is not None and given.baseline is None
    named = replace(given, targets=(), baseline=given.targets[0], candidate=given.targets[1]) if by_name else given
    result = noted(result, named, declaring)
    gated = apply_gate(result, rules, declaring.junit)
    failed = gated is not None and not gated.passed
    # Where the gate failed, the line on stderr names the file.
    quiet = showing.quiet or (failed and showing.output is not None)
    replace(showing, quiet=quiet).present(with_gate(result, gated), more=gate_values(gated))
    if gated is not None:
        say(gate_line(gated, showing.output if failed else None), quiet=showing.quiet and not failed)
    rows = result.rows if isinstance(result, Comparisons) else (result,)
    if any(row.verdict == "invalid" for row in rows):
        raise typer.Exit(CANNOT_ANSWER)
    if gated is not None and gated.exit_status:
        raise typer.Exit(gated.exit_status)


def _alone(given: Sides) -> str:
    """Write the command that gives each side's own score: rows in place of items, which depend on whom the item named."""
    maps: list[str] = []
    for option in given.map:
        name, _, source = option.partition("=")
        own = name == "item" and not source.startswith("#")
        maps += ["item=#row", f"dependence={source}"] if own else [option]
    options = [part for option in maps for part in ("--map", option)]
    return f"`{shlex.join(['evalstats', 'score', *given.targets, *options])}`"


def _narrow(given: Sides, asked: CompareOptions, declared: "Plan | None", *, single: bool) -> "Narrow":
    """Say what of a store is read; sides that a plan's aliases or a factor name are looked for in all of it."""
    from evalstats.cli.load import Narrow

    plain = asked.contrast == "model" and not (declared and declared.plan.aliases)
    named = given.targets if given.baseline is None else (given.baseline, given.candidate or "")
    return Narrow(
        question="compare",
        asked=(asked, given.where, declared),
        sides=tuple(named) if plain else (),
        single=single or given.trials_from_runs or bool(asked.sequential),
        shared=bool(asked.shared_trials),
    )


def _on_engine(given: Sides, asked: CompareOptions, declared: "Plan | None", *, quiet: bool) -> "Loaded":
    """Read both sides out of one table that an engine counts."""
    from evalstats.cli.load import Sides as Loaded

    if given.baseline is None or given.candidate is None:
        raise typer.BadParameter(
            "an engine reads one table; name two models in it: --baseline A --candidate B", param_hint="--engine"
        )
    # Not a path to Python: FILE.duckdb::TABLE and the name of a table go through as they are.
    reading = Reading(
        paths=given.targets,  # pyright: ignore[reportArgumentType] - see above
        store=given.store,
        trials_from_runs=given.trials_from_runs,
        where=given.where,
        map=given.map,
        input_format=given.input_format,
        engine=given.engine,
    )
    data = reading.load(declared, quiet=quiet, asked=asked)
    return Loaded(data=data, baseline=given.baseline, candidate=given.candidate)
