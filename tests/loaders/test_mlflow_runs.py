"""Runs of MLflow through its client, by what its entities have."""

from types import SimpleNamespace

import pytest

import evalstats as es
from evalstats.errors import InputError


def feedback(name, value, kind="CODE", **more):
    source = SimpleNamespace(source_type=kind, source_id="gpt" if kind == "LLM_JUDGE" else name)
    given = {"feedback": SimpleNamespace(value=value), "valid": True, **more}
    return SimpleNamespace(name=name, source=source, **given)


def trace(question, *assessments, state="TraceState.OK"):
    info = SimpleNamespace(
        state=state, execution_duration=1500, assessments=list(assessments), trace_id=f"tr-{question}"
    )
    return SimpleNamespace(info=info, data=SimpleNamespace(request=question))


class Page(list):
    token = ""


class Client:
    """A store that gives one thing a page."""

    def __init__(self, runs):
        self.runs = [
            (SimpleNamespace(info=SimpleNamespace(run_name=name, run_id=f"{k}" * 32)), traces)
            for k, (name, traces) in enumerate(runs)
        ]

    def get_experiment_by_name(self, name):
        return SimpleNamespace(experiment_id="1") if name == "qa" else None

    def search_experiments(self, page_token=None):
        return self.page([SimpleNamespace(name="qa"), SimpleNamespace(name="Default")], page_token)

    def search_runs(self, experiment_ids, page_token=None):
        assert experiment_ids == ["1"]
        return self.page([run for run, _ in self.runs], page_token)

    def search_traces(self, locations, run_id, page_token=None):
        assert locations == ["1"]
        return self.page(next(traces for run, traces in self.runs if run.info.run_id == run_id), page_token)

    def page(self, found, token):
        at = int(token or 0)
        page = Page(found[at : at + 1])
        page.token = str(at + 1) if at + 1 < len(found) else None
        return page


def test_feedback_of_code_and_judges_is_read_and_that_of_people_is_not():
    old = [
        trace("a", feedback("ok", True), feedback("tone", "yes", "LLM_JUDGE"), feedback("ok", False, "HUMAN")),
        trace("a", feedback("ok", False), feedback("ok", True, valid=False)),
        trace("b", feedback("ok", None), feedback("expected", None, feedback=None)),
        trace("c", feedback("ok", 1.0), state="TraceState.ERROR"),
    ]
    data = es.from_mlflow(Client([("old", old)]), "qa")
    rows = data.outcomes.select("model", "metric", "trial", "score", "status", "latency_s").rows()
    assert sorted(rows, key=str) == sorted(
        [
            ("old", "ok", 0, 1.0, "scored", 1.5),
            ("old", "ok", 1, 0.0, "scored", 1.5),
            ("old", "ok", 0, None, "unscored", 1.5),
            ("old", "ok", 0, None, "error", 1.5),
            ("old", "tone", 0, 1.0, "scored", 1.5),
        ],
        key=str,
    )
    assert data.outcomes.filter(metric="tone")["judge"].to_list() == ["gpt"]
    assert data.outcomes["item"].n_unique() == 3
    assert data.outcomes["benchmark"].unique().to_list() == ["qa"]


def test_two_runs_meet_on_their_inputs():
    runs = [
        (name, [trace(f"q{k}", feedback("ok", bool(k % share))) for k in range(40)])
        for name, share in (("old", 2), ("new", 9))
    ]
    r = es.compare(es.from_mlflow(Client(runs), "qa"), "old", "new")
    assert (r.n_items, r.verdict) == (40, "better")


def test_runs_of_one_name_are_told_apart():
    runs = [("gpt", [trace("a", feedback("ok", True))]), ("gpt", [trace("a", feedback("ok", False))])]
    assert es.from_mlflow(Client(runs), "qa").models() == ("gpt (00000000)", "gpt (11111111)")


@pytest.mark.parametrize(
    ("experiment", "told"),
    [
        ("typo", "no experiment 'typo' in this store; it has qa, Default"),
        ("qa", "none of the 1 runs of 'qa' has feedback on traces"),
    ],
)
def test_what_cannot_be_read_says_what_there_is(experiment, told):
    with pytest.raises(InputError, match=told):
        es.from_mlflow(Client([("old", [trace("a")])]), experiment)
