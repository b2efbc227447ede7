"""A command as a user types it, in this process."""

from typer.testing import CliRunner, Result

from evalstats.cli.main import app
from evalstats.errors import EvalStatsError


def run(*words: object) -> Result:
    """Run a command; an error of ours is raised as it is."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, EvalStatsError):
        raise result.exception
    return result
