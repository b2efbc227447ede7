"""What may be asked of a comparison: options that contradict each other, and the same options written as Python."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from evalstats.errors import InputError, Option
from evalstats.options import GivenOptions

DEFAULT_LEVEL = 0.95
METHODS = ("auto", "tango", "augmented-t", "t", "cr2")


def check_level(conf_level: float, margin: float | str | None) -> None:
    """Refuse a level that makes no interval."""
    lowest = 0.5 if margin is None else 0.8
    if isinstance(conf_level, str) or not lowest < conf_level < 1:
        why = "" if margin is None else " (equivalence is judged by the interval at twice the level less one)"
        raise InputError(f"conf_level is {conf_level}; it must lie above {lowest} and below 1{why}, such as 0.95")


def check_looks(settings: GivenOptions) -> None:
    """Refuse what looks while the run goes on cannot have."""
    if settings.sequential and settings.method != "auto":
        raise InputError(
            f"method {settings.method!r} gives an interval for one look; leave it out with "
            f"{Option('sequential', value=True)}"
        )
    if settings.sequential and settings.by is not None:
        raise InputError(
            "looks while the run goes on are at all items together; leave out the split by "
            f"{settings.by!r}, or look at the end"
        )
    if settings.planned_n is not None and not settings.sequential:
        raise InputError(
            f"planned_n is for looks while the run goes on; ask for them with {Option('sequential', value=True)}"
        )


def check_options(asked: GivenOptions, names: tuple[str, str]) -> None:
    """Refuse options that do not exist, or contradict each other."""
    if isinstance(asked.seed, float | str) or asked.seed < 0:
        raise InputError(f"seed is {asked.seed}; it must be a whole number from 0")
    if asked.method not in METHODS:
        raise InputError(f"method {asked.method!r} is unknown; choose one of {', '.join(METHODS)}")
    if asked.labels is not None:
        unlike = {
            "by": asked.by,
            "sequential": asked.sequential,
            "average": asked.average or asked.weights,
            "pass_hat": asked.pass_hat,
            "pass_at": asked.pass_at,
            "method": asked.method != "auto",
        }
        for name, wanted in unlike.items():
            if wanted:
                raise InputError(f"labels correct the mean difference over all items; leave out {Option(name)}")
    if asked.contrast in ("item", "task"):
        raise InputError(
            f"contrast {asked.contrast!r} names what is paired, not what is compared; name what tells the sides apart"
        )
    if names[0] == names[1]:
        raise InputError(f"baseline and candidate are both {names[0]!r}; name two different runs or models")


def check_metrics(metrics: Sequence[str], asked: GivenOptions) -> tuple[str, ...]:
    """Return the metrics of one comparison; what speaks of a single metric is refused beside several."""
    named = tuple(metrics)
    if not named:
        raise InputError(f"the list of metrics is empty; name one or several with {Option('metric')}")
    if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise InputError(f"metric {twice[0]!r} is named twice; name each once with {Option('metric')}")
    unlike = {
        "by": asked.by,
        "sequential": asked.sequential,
        "labels": asked.labels is not None,
        "pass_hat": asked.pass_hat,
        "pass_at": asked.pass_at,
    }
    for name, wanted in unlike.items():
        if wanted:
            raise InputError(
                f"several metrics are compared over all items; leave out {Option(name)}, or ask for one metric"
            )
    if asked.higher_is_better is not None:
        raise InputError(
            "each of several metrics has a direction of its own; declare it in evalstats.toml, such as [metrics.cost] with "
            "higher_is_better = false, or ask for one metric"
        )
    return named


def as_python(asked: GivenOptions) -> tuple[tuple[str, str], ...]:
    """Return the options that were given as Python."""
    written = {name: repr(_listed(value)) for name, value in asked.given().items() if name not in ("labels", "plan")}
    if asked.labels is not None:
        written["labels"] = "labels"
    if asked.plan is not None:
        written["plan"] = f"es.read_plan({PurePath(asked.plan.source or 'evalstats.toml').name!r})"
    return tuple(written.items())


def _listed(value: Any) -> Any:
    """Return a tuple as the list that a reader would write."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    return [*cast("tuple[object, ...]", value)] if isinstance(value, tuple) else value
