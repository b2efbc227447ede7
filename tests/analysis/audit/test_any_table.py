"""Whatever a table of outcomes holds, the audit answers, in every form, or refuses by name."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evalstats as es
from evalstats.document import terminal
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows

NAMES = st.sampled_from(["a", "b", "c", "<b>", "a\x1b[31m", "x|y", "-1", "π"])
VALUES = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, -1.0, 999.0, 62.0, 1e12, -1e12]),
    st.integers(-50, 1050).map(lambda tenths: tenths / 10),
)


@st.composite
def tables(draw) -> EvalData:
    n_items = draw(st.integers(1, 14))
    models = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    runs = draw(st.integers(1, 2))
    pool = draw(st.lists(VALUES, min_size=1, max_size=6))
    judge = draw(st.sampled_from([None, "gpt"]))
    rows, made = [], []
    for model in models:
        for number in range(runs):
            run = f"{model}/{number}"
            made.append(
                {
                    "run": run,
                    "benchmark": "b",
                    "judge": judge,
                    "n_shots": draw(st.sampled_from([None, 0, 5])),
                    "model": model,
                }
            )
            for item in range(n_items):
                status = draw(st.sampled_from(["scored", "scored", "scored", "error", "unscored", "absent"]))
                if status == "absent":
                    continue
                rows.append(
                    {
                        "run": run,
                        "model": model,
                        "system": model,
                        "benchmark": "b",
                        "item": f"q{item // 2}",
                        "variant": "v" if item % 2 else "",
                        "metric": "m",
                        "trial": draw(st.sampled_from([0, None])),
                        "n_trials": 3,
                        "score": draw(st.sampled_from(pool)) if status == "scored" else None,
                        "value_raw": draw(st.sampled_from([None, "A", "[invalid]"])),
                        "status": status,
                        "judge": judge,
                        "topic": draw(st.sampled_from(["s", "t", None])),
                    }
                )
    kind = draw(st.sampled_from([None, "binary", "continuous"]))
    metrics = [{"benchmark": "b", "metric": "m", "kind": kind}] if kind else []
    return EvalData(
        outcomes=frame_from_rows(rows, "outcomes"),
        runs=frame_from_rows(made, "runs"),
        metrics=frame_from_rows(metrics, "metrics"),
    )


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables())
def test_any_table_is_audited_in_every_form(data):
    try:
        found = es.audit(data)
    except es.EvalStatsError as error:
        assert str(error)  # noqa: PT017 - a refusal in words is an answer
        return
    assert 0 <= found.n_depend <= found.n_pairs
    assert all(0 <= each.n_depend <= found.n_pairs for each in found.findings)
    again = es.Audit.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert again == found
    text = terminal.to_text(found.document(), full=True)
    assert "\x1b" not in text
    assert "<b>" not in found.to_html()
    assert found.to_frame().height == len(found.findings)
