"""One thread of linear algebra: fits factor many small matrices, which threads make slower, not faster."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

# Both bring a library of their own, which must be loaded before the controller looks for libraries.
import numpy as np  # noqa: F401  # pyright: ignore[reportUnusedImport]
import scipy.linalg  # noqa: F401  # pyright: ignore[reportUnusedImport]
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _controller() -> Any:
    return ThreadpoolController()


def one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with the linear algebra inside it on one thread, and as many as before after it.

    On two busy cores a mixed model of 300 effects was 25 times as slow with two threads as with one: they wait for each
    other at every small factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> one_thread(np.linalg.det)(np.eye(2))
    np.float64(1.0)
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
