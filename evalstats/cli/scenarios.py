"""`evalstats scenarios`: where do models break, and is it more than noise?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import typer

from evalstats.analysis.options import Option
from evalstats.analysis.scenarios.options import ScenarioOptions
from evalstats.cli.command import CANNOT_ANSWER, Planned, Reading, Showing, add_command, noted, with_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(Planned):
    """What the shell has to read before it can be asked."""

    weights: Annotated[
        tuple[str, ...],
        Option(
            "How scenarios count in the mean of a model: equal (default), observed, or a mix LEVEL=SHARE,LEVEL=SHARE,...",
            metavar="WEIGHTS",
        ),
    ] = ()


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "scenarios", scenarios, Reading, ScenarioOptions, Declared, Showing)


def scenarios(reading: Reading, asked: ScenarioOptions, declared: Declared, showing: Showing) -> None:
    """Where do models break: which scenario types, which users?"""
    from evalstats.analysis.scenarios.scenarios import scenarios as scenarios_of
    from evalstats.cli.output import step_line

    weights = weights_of(declared.weights)
    plan = declared.declared(quiet=showing.quiet)
    data = reading.load(plan, quiet=showing.quiet, asked=asked)
    options = replace(with_names(asked, data), weights=weights, plan=plan.plan if plan else None)
    with step_line(quiet=showing.quiet) as on_step:

        def told(text: str, done: int = 0, total: int = 0) -> None:
            on_step(f"{text} {done:,} of {total:,}" if total else text)

        given = asdict(replace(options, plan=None)) | {"plan": options.plan}
        result = scenarios_of(data, **given, on_step=told)
    showing.present(noted(result, reading, declared))
    if not result.answered:
        raise typer.Exit(CANNOT_ANSWER)


def weights_of(texts: Sequence[str] | None) -> str | dict[str, float]:
    """Read equal, observed, or shares of scenarios; a share may be a percentage.

    A level whose name has a comma or an equals sign in it goes into a `--weights` of its own: what follows the last equals
    sign is the share. InputError if the text is neither, or a level is named twice.

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
                raise InputError(
                    f"--weights {text!r} is not understood at {part!r}; give equal, observed, or LEVEL=SHARE,..."
                )
            if level in shares:
                raise InputError(f"--weights names {level!r} twice; give every scenario once")
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
