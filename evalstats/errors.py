"""Every error that evalstats raises on purpose.

Each message is one sentence or two: what was found, what was expected, what to do next.
The command line turns `exit_status` into the process's exit status.
"""


class EvalStatsError(Exception):
    """Base of all errors raised on purpose. `except EvalStatsError` catches every one of them."""

    exit_status: int = 2


class InputError(EvalStatsError):
    """A table, an argument or an option is not what it must be."""


class UnreadableFileError(InputError):
    """A result file cannot be read: damaged, too large, of an unknown format, or not what its name says."""


class StoreError(EvalStatsError):
    """A store is missing, damaged, or was written by a newer version."""


class CannotAnswerError(EvalStatsError):
    """The data are fine, but they cannot answer the question (no shared items, too few clusters, ...)."""

    exit_status = 3


class RenderError(EvalStatsError):
    """A report could not be rendered by the chosen engine."""


class EvalStatsWarning(UserWarning):
    """Something the user should know and that no result object could carry."""
