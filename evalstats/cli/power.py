"""`evalstats power`: how many items, trials, clusters do I need?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.analysis.options import Option
from evalstats.analysis.power.options import PowerOptions
from evalstats.cli.command import ColumnMaps, InputFormat, Showing, Where, add_command, noted

if TYPE_CHECKING:
    from evalstats.schema.data import EvalData


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """What the shell gives as files or texts: the pilot, trials, variance and costs."""

    from_: Annotated[
        tuple[Path, ...],
        Option("Pilot: result files, folders or a store; may be repeated.", ("--from",), metavar="PATH"),
    ] = ()
    trials: Annotated[str | None, Option("Trials of each item: 3, or 3,5 for baseline and candidate.")] = None
    variance: Annotated[
        tuple[str, ...],
        Option("No pilot: variance of item differences; or, repeated, its parts item=, trial=, cluster=."),
    ] = ()
    cost: Annotated[tuple[str, ...], Option("item=, trial= or cluster= and what one costs; may be repeated.")] = ()
    where: Where = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None

    def load(self, *, quiet: bool) -> "EvalData | None":
        """Read the pilot; None where no file is named."""
        from evalstats.cli.load import column_map, load
        from evalstats.errors import InputError

        if self.from_:
            columns = column_map(self.map)
            return load(self.from_, where=self.where, columns=columns, input_format=self.input_format, quiet=quiet)
        if self.where or self.map or self.input_format:
            raise InputError("--where, --map and --input-format read a pilot; name its files with --from")
        return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "power", power, PowerOptions, Pilot, Showing)


def power(asked: PowerOptions, pilot: Pilot, showing: Showing) -> None:
    """How many items, trials, clusters do I need?"""
    from evalstats.analysis.power.power import power as plan

    options: dict[str, Any] = asdict(asked) | {
        "discordance": _share(asked.discordance, "discordance"),
        "accuracy": _share(asked.accuracy, "accuracy"),
        "n_trials": _trials(pilot.trials),
        "variance": _numbers(pilot.variance, "--variance", alone="item"),
        "costs": _numbers(pilot.cost, "--cost"),
    }
    showing.present(noted(plan(pilot=pilot.load(quiet=showing.quiet), **options), pilot))


def _share(text: str | None, name: str) -> float | None:
    from evalstats.analysis.power.basis import plain_amount

    return None if text is None else plain_amount(text, name)


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


def _numbers(pairs: Sequence[str], option: str, *, alone: str | None = None) -> dict[str, float] | None:
    """Return NAME=NUMBER options as a mapping; a bare number belongs to the name `alone`."""
    from evalstats.errors import InputError

    found: dict[str, float] = {}
    for pair in pairs:
        name, equals, number = pair.partition("=")
        if not equals and alone is not None:
            name, number = alone, pair
        try:
            value = float(number)
        except ValueError:
            like = f"{alone}=0.1, or a number (once for each part)" if alone else "item=2"
            raise InputError(f"{option} {pair!r} is not NAME=NUMBER; write {like}") from None
        if name in found:
            raise InputError(f"{option} names {name!r} twice; give it once")
        found[name] = value
    return found or None
