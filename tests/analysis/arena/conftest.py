"""What the tests of arenas share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def fewer_draws() -> Iterator[None]:
    """As many draws of rank sets for few pairs as for many; `tests/stats` and the frozen results have them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalstats.stats.arena.contrasts._MOST_DRAWS", 4_999)
        yield
