"""Questions of many small products have one thread of linear algebra: several wait for each other, and move the last digit."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from evalstats.analysis.audit import audit
from evalstats.analysis.leaderboard import leaderboard
from evalstats.analysis.scenarios import scenarios
from evalstats.datasets import tenacious_held_out


@pytest.mark.parametrize(
    ("module", "question"), [(leaderboard, "leaderboard"), (audit, "audit"), (scenarios, "scenarios")]
)
def test_a_question_has_one_thread_of_linear_algebra(module, question, monkeypatch):
    seen = []

    def as_data(*_):
        seen.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        raise InterruptedError

    monkeypatch.setattr(module, "as_data", as_data)
    with threadpool_limits(limits=2, user_api="blas"), pytest.raises(InterruptedError):
        getattr(module, question)(tenacious_held_out())
    assert set(seen) == {1}
