"""What a fitted mixed model is to further questions of it: means, intervals, tests against a smaller model."""

from evalstats.analysis.mixing.frame import ModelFrame
from evalstats.analysis.mixing.inference import Inference
from evalstats.stats.mixed.design import Family, MixedFit


class Fitted:
    """The fields of a `MixedModel` that further questions need; see there."""

    __slots__ = ()

    formula: str
    response: str
    family: Family
    method: str
    conf_level: float
    df_method: str
    groups: tuple[tuple[str, int], ...]
    n_rows: int
    n_trials: int
    seed: int
    fit: MixedFit
    frame: ModelFrame
    inference: Inference
