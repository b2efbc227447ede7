"""Options of a question, declared once: the command line is made of them, and the function takes the same.

Each question has a frozen dataclass of its options (`analysis/<question>/options.py`). A field's type may carry an
`Option`, which says what `--help` prints and how the flag is written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Option:
    """How a field is offered on the command line: help of one line, and how its flag is written.

    `flags` are those other than the field's own name: "--metric", "-m"; "--yes/--no" for a choice of two. Where `names` is set,
    a value may hold several with commas between them. What is `hidden` Python alone offers; what is `unlisted` is taken on the
    command line and stands in no help.
    """

    help: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    names: bool = False
    hidden: bool = False
    unlisted: bool = False


AverageKind = Literal["macro", "micro"]
MetricName = Annotated[str | None, Option("Score to use; default: the benchmark's headline.", ("--metric", "-m"))]
HigherIsBetter = Annotated[
    bool | None,
    Option(
        "Which way the metric is better, where neither files nor plan say.", ("--higher-is-better/--lower-is-better",)
    ),
]
Cluster = Annotated[
    tuple[str, ...] | None,
    Option("Column whose levels share something; may be repeated; none: items share nothing.", ("--cluster", "-c")),
]
Runs = Annotated[
    Literal["sample", "fixed", "draws"] | None,
    Option(
        "What trials are: draws of one run, a sample of more runs (judges, seeds), or the very ones asked about (fixed); "
        "default: by what names them.",
        metavar="sample|fixed|draws",
    ),
]
RunSpreadKnown = Annotated[
    str | None,
    Option("Standard deviation from run to run, where known: 1.4pp; prior:2pp: the scale of its prior.", metavar="SD"),
]
Models = Annotated[tuple[str, ...] | None, Option("Those to keep: A,B,C; default: all.", names=True)]
Accept = Annotated[tuple[str, ...], Option("The runs differ in this on purpose; may be repeated.", metavar="SETTING")]
ConfLevel = Annotated[float, Option("Level of the intervals.")]
PlannedLevel = Annotated[float | None, Option("Level of the intervals; default: 0.95, or the plan's.")]
Contrast = Annotated[str, Option("What names the sides: model, or another column (run).")]
Resamples = Annotated[int, Option("Rounds of the bootstrap.", ("--resamples",))]
Seed = Annotated[int, Option("For all that is drawn.")]


@dataclass(frozen=True, slots=True)
class Offered:
    """A field of options: its name, its type without the annotation, its `Option` and its default."""

    name: str
    type: Any
    option: Option
    default: Any


def offered(options: type) -> Iterator[Offered]:
    """Yield the fields of a dataclass of options, in order.

    >>> @dataclass(frozen=True)
    ... class Asked:
    ...     seed: Seed = 0
    >>> [(each.name, each.option.help[:3], each.default) for each in offered(Asked)]
    [('seed', 'For', 0)]
    """
    hints = get_type_hints(options, include_extras=True)
    for each in fields(options):
        hint = hints[each.name]
        found = (
            [extra for extra in get_args(hint)[1:] if isinstance(extra, Option)]
            if get_origin(hint) is Annotated
            else []
        )
        kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        yield Offered(name=each.name, type=kind, option=found[0] if found else Option(), default=_default(each))


def given(options: object) -> Mapping[str, Any]:
    """Return the options that differ from their defaults, by name: what a call has to say."""
    return {
        each.name: getattr(options, each.name)
        for each in offered(type(options))
        if getattr(options, each.name) != each.default
    }


def _default(each: "Field[Any]") -> Any:
    if each.default is not MISSING:
        return each.default
    return each.default_factory() if each.default_factory is not MISSING else None
