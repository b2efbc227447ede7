"""`evalstats scenarios`: where do models break, and is it more than noise?"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options

if TYPE_CHECKING:
    from typing import Protocol

    class OnStep(Protocol):
        """What is told what is being done, and of draws how many are done."""

        def __call__(self, text: str, done: int = 0, total: int = 0) -> None:
            """Show it."""
            ...


_CANNOT_ANSWER = 3


class As(StrEnum):
    """Whether scenarios are these very ones or a sample of more."""

    FIXED = "fixed"
    RANDOM = "random"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("scenarios")(scenarios)


def scenarios(
    paths: options.Paths = None,
    store: options.StoreDir = None,
    metric: options.MetricName = None,
    higher_is_better: options.HigherIsBetter = None,
    scenario: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that names the scenarios; default: scenario.", show_default=False),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Scenario that changes are counted from, or average; default: that of ideal users, else average.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEIGHTS",
            help="How scenarios count in the mean of a model: equal (default), observed, or a mix LEVEL=SHARE,LEVEL=SHARE,...",
            show_default=False,
        ),
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The model in lme4's notation, such as 'score ~ model * scenario + (1|item)'; default: chosen by the data.",
            show_default=False,
        ),
    ] = None,
    as_: Annotated[
        As | None,
        typer.Option(
            "--as",
            help="Scenarios are these very ones, or a sample of more; default: fixed up to 8.",
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(help="Models to keep: A,B,C, or the option several times; default: all.", show_default=False),
    ] = None,
    cluster: options.Cluster = None,
    conf_level: options.PlannedLevel = None,
    contrast: Annotated[str, typer.Option(help="What is compared: model, or another column (run).")] = "model",
    bootstrap: Annotated[
        int | None,
        typer.Option(
            "--bootstrap",
            min=0,
            help="Draws of the parametric bootstrap; 0: none; default: by the data.",
            show_default=False,
        ),
    ] = None,
    accept: options.Accept = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    explain: options.Explain = False,
    trials_from_runs: options.TrialsFromRuns = False,
    where: options.Where = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    seed: Annotated[int, typer.Option(help="For the draws of the bootstrap and of random signs.")] = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Where do models break: which scenario types, which users?"""
    from evalstats.analysis.scenarios.scenarios import scenarios as scenarios_of
    from evalstats.analysis.scenarios.wording_answer import answers
    from evalstats.cli.leaderboard import names_of
    from evalstats.cli.load import column_map, load
    from evalstats.cli.plan import columns_for, declared_plan
    from evalstats.cli.show import show_result

    shares = weights_of(weights)
    declared = declared_plan(plan, wanted=not no_plan, quiet=quiet)
    columns = column_map(map_) or columns_for(declared, paths or [])
    data = load(paths or [], store=store, where=where, columns=columns, input_format=input_format, quiet=quiet)
    data = data.trials_from_runs() if trials_from_runs else data
    with _progress(quiet=quiet) as on_step:
        result = scenarios_of(
            data,
            formula=formula,
            metric=metric,
            higher_is_better=higher_is_better,
            scenario=scenario,
            reference=reference,
            weights=shares,
            as_=None if as_ is None else as_.value,
            cluster=cluster,
            models=names_of(models, data),
            contrast=contrast,
            conf_level=conf_level,
            n_resamples=bootstrap,
            accept=accept or (),
            plan=declared.plan if declared else None,
            seed=seed,
            on_step=on_step,
        )
    show_result(result, explain=explain, style=style, output=output, no_color=no_color, quiet=quiet)
    if not answers(result):
        raise typer.Exit(_CANNOT_ANSWER)


def weights_of(texts: Sequence[str] | None) -> str | dict[str, float]:
    """Read equal, observed, or shares of scenarios; a share may be a percentage.

    A level whose name has a comma or an equals sign in it goes into a `--weights` of its own: what follows the last equals
    sign is the share.

    Raises
    ------
    InputError
        If the text is neither, or a level is named twice.

    Examples
    --------
    >>> weights_of(None), weights_of(["observed"]), weights_of(["ideal=60%,hostile=0.4"])
    ('equal', 'observed', {'ideal': 0.6, 'hostile': 0.4})
    """
    from evalstats.errors import InputError

    if not texts:
        return "equal"
    if len(texts) == 1 and texts[0] in ("equal", "observed"):
        return texts[0]
    shares: dict[str, float] = {}
    for text in texts:
        for part in _parts(text):
            level, equals, share = part.rpartition("=")
            value = _share(share)
            if not equals or not level or value is None:
                message = f"--weights {text!r} is not understood at {part!r}; give equal, observed, or LEVEL=SHARE,..."
                raise InputError(message)
            if level in shares:
                message = f"--weights names {level!r} twice; give every scenario once"
                raise InputError(message)
            shares[level] = value
    return shares


def _parts(text: str) -> list[str]:
    """Split at commas, unless one of the parts would have no share: then a name holds a comma."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return parts if all("=" in part for part in parts) and parts else [text]


def _share(text: str) -> float | None:
    percent = text.strip().endswith("%")
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        return None
    return value / 100 if percent else value


@contextmanager
def _progress(*, quiet: bool) -> "Generator[OnStep | None]":
    """Show on a terminal what is being done, with a bar while there are draws to count; nothing in a pipe."""
    from evalstats.cli.load import on_terminal

    if quiet or not on_terminal():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from evalstats.document.width import clean, shorten

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        shown = [progress.add_task("fitting the model", total=None)]

        def on_step(text: str, done: int = 0, total: int = 0) -> None:
            said = shorten(clean(text), 50)
            if total:
                progress.update(shown[0], description=said, completed=done, total=total)
                return
            # A task with a number of draws cannot be made one without.
            progress.remove_task(shown[0])
            shown[0] = progress.add_task(said, total=None)

        yield on_step
