"""Trials are numbered as a plain table of all samples would number them."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from evalstats.loaders.rows import TrialNumbers

SAMPLES = st.tuples(
    st.sampled_from(["q1", "q2"]), st.sampled_from([None, "a", "b"]), st.one_of(st.none(), st.integers(0, 3))
)


@given(st.lists(SAMPLES, max_size=12))
def test_as_a_table_of_all_samples_would(samples: list[tuple[str, str | None, int | None]]) -> None:
    first: dict[str, str | None] = {}
    taken: dict[str, list[int]] = {}
    trials = TrialNumbers()
    for key, content, epoch in samples:
        met = first.setdefault(key, content)
        taken.setdefault(key, [])
        trial = len(taken[key]) if epoch is None else epoch
        if met is not None and content is not None and met != content:
            expected: int | str = "other"
        elif trial in taken[key]:
            expected = "twice"
        else:
            taken[key].append(trial)
            expected = trial
        assert trials.next((key,), content, epoch) == expected


def test_a_sample_costs_no_more_memory_than_is_said() -> None:
    n = 20_000
    tracemalloc.start()
    trials = TrialNumbers()
    for k in range(n):
        trials.next((f"a long id of an item {k}",), f"{k:064x}")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(trials) == n
    assert size / n < 200
