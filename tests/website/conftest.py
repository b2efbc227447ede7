"""A browser for the pages of the website."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browsing import started_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started
