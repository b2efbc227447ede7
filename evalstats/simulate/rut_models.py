"""The models that the simulator knows: 19 published ones, and any that the user makes up."""

from dataclasses import dataclass
from functools import cache

from evalstats.datasets.figures import rows_of
from evalstats.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RutModel:
    """What is known of one model before anything is simulated.

    `success_rate` is the share of all samples it solves; `honesty` and `discipline` are the mean of the judge's
    faithfulness and tool-discipline scores over their maximum. All are proportions strictly between 0 and 1.

    Examples
    --------
    >>> RutModel(name="mine", success_rate=0.4).group
    'made up'
    >>> RutModel(name="mine", success_rate=40)
    Traceback (most recent call last):
        ...
    evalstats.errors.InputError: success_rate of 'mine' is 40; give a proportion strictly between 0 and 1
    """

    name: str
    success_rate: float
    honesty: float = 0.75
    discipline: float = 0.75
    group: str = "made up"

    def __post_init__(self) -> None:
        if not self.name.strip():
            message = "the model's name is empty; give it one"
            raise InputError(message)
        for field in ("success_rate", "honesty", "discipline"):
            value: float = getattr(self, field)
            if not 0 < value < 1:
                message = f"{field} of {self.name!r} is {value:g}; give a proportion strictly between 0 and 1"
                raise InputError(message)


@cache
def published_models() -> tuple[RutModel, ...]:
    """Return the 19 models of the benchmark's performance figure, best first within its three groups.

    The success rates are printed in the figure; honesty and discipline were read off its bars to within a point.

    Examples
    --------
    >>> models = published_models()
    >>> len(models), models[0].name, models[0].success_rate
    (19, 'GPT-5.4', 0.373)
    """
    return tuple(
        RutModel(
            name=row["model"],
            group=row["group"],
            success_rate=_proportion(row["success_rate"]),
            honesty=_proportion(row["informational_honesty"]),
            discipline=_proportion(row["tool_discipline"]),
        )
        for row in rows_of("evalstats.simulate", "rut_models.csv")
    )


def _proportion(percent: str) -> float:
    return round(float(percent) / 100, 6)  # 37.3 / 100 is 0.37299999999999994


def model_named(model: str | RutModel) -> RutModel:
    """Return the published model of that name, or the model itself.

    Raises
    ------
    InputError
        If no published model has the name; the message lists all.
    """
    if isinstance(model, RutModel):
        return model
    for known in published_models():
        if known.name == model:
            return known
    names = ", ".join(known.name for known in published_models())
    message = f"no published model is called {model!r}; known are {names}; or pass RutModel(name=..., success_rate=...)"
    raise InputError(message)
