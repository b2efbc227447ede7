"""What commands call is asked as a command asks it: errors speak of options."""

from collections.abc import Iterator

import pytest

from evalstats.cli.advice import on_the_shell


@pytest.fixture(autouse=True)
def shell() -> Iterator[None]:
    """Let errors name options, as they do while a command runs."""
    with on_the_shell():
        yield
