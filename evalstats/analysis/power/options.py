"""What can be asked of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from evalstats.analysis.options import Cluster, ConfLevel, Contrast, MetricName, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerOptions:
    """Options of `evalstats.power` and of its command, which reads the pilot from files and the hidden ones from texts."""

    delta: Annotated[str | None, Option("True difference that matters, such as 3pp.")] = None
    n_items: Annotated[int | None, Option("Items there are.", ("--n", "--items"))] = None
    n_clusters: Annotated[int | None, Option("Clusters there are.", ("--clusters",))] = None
    n_trials: Annotated[float | tuple[float, float] | None, Option(hidden=True)] = None
    baseline: Annotated[str | None, Option("One system of the pilot.")] = None
    candidate: Annotated[str | None, Option("The other system of the pilot.")] = None
    metric: MetricName = None
    cluster: Cluster = None
    run_sd: Annotated[
        str | None, Option("Plan by whole runs: standard deviation from run to run, such as 1.4pp; trials are runs.")
    ] = None
    discordance: Annotated[
        str | None, Option("No pilot: share of items that exactly one of the two gets right, such as 20%.")
    ] = None
    accuracy: Annotated[str | None, Option("No pilot: accuracy of the baseline, such as 70%.")] = None
    variance: Annotated[float | Mapping[str, float] | None, Option(hidden=True)] = None
    icc: Annotated[float | None, Option("No pilot: correlation of differences within a cluster.")] = None
    cluster_size: Annotated[float | None, Option("Mean number of items of a cluster.")] = None
    cluster_cv: Annotated[float, Option("Coefficient of variation of that number.")] = 0.0
    test: Annotated[str, Option("difference, noninferiority, equivalence or precision.")] = "difference"
    margin: Annotated[str | None, Option("Largest difference that does not matter, such as 2pp.")] = None
    half_width: Annotated[str | None, Option("Half the width that the interval is to have.")] = None
    power: Annotated[float, Option("Power asked for.")] = 0.8
    conf_level: ConfLevel = 0.95
    costs: Annotated[Mapping[str, float] | None, Option(hidden=True)] = None
    method: Annotated[str, Option("auto, exact, miller, t, clusters or simulation.")] = "auto"
    contrast: Contrast = "model"
    n_resamples: Annotated[int, Option("Comparisons in a simulation.", ("--resamples",))] = 4000
    seed: Annotated[int, Option("For simulations.")] = 0
