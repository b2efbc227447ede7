"""The interval of whatever was estimated, whether it covers the truth, and how far a simulated rate may stray."""

import math
from typing import Any


def ends(found: Any) -> tuple[float, float]:
    """Return both ends of an estimate, or of the estimate that a record holds."""
    estimate = found if hasattr(found, "conf_low") else found.estimate
    return estimate.conf_low, estimate.conf_high


def covered(found: Any, truth: float) -> bool:
    return found.conf_low is not None and found.conf_low <= truth <= found.conf_high


def allowance(replicates: int, rate: float = 0.05) -> float:
    """Return four standard errors of a rate from so many replicates."""
    return 4 * math.sqrt(rate * (1 - rate) / replicates)
