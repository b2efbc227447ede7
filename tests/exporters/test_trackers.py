"""Results logged to trackers, by the methods that their clients have."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import evalstats as es
from evalstats.errors import InputError, RenderError
from evalstats.exporters import trackers

R = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained", cluster="none")
NUMBERS = {
    "evalstats/estimate": R.estimate, "evalstats/conf_low": R.conf_low, "evalstats/conf_high": R.conf_high,
    "evalstats/p_value": R.p_value, "evalstats/n_items": 43.0,
}  # fmt: skip
WORDS = {"evalstats/verdict": "better", "evalstats/headline": R.document().headline}


class Recorder:
    """Records what it is told, under the names of methods that it is given."""

    def __init__(self, *methods: str) -> None:
        self.calls: list[tuple[str, tuple[object, ...], dict[str, object]]] = []
        self.files: dict[str, str] = {}
        for method in methods:
            setattr(self, method, self.recorded(method))

    def recorded(self, method):
        def call(*given, **named):
            for path in given:
                if str(path).endswith((".json", ".html")):
                    self.files[Path(path).name] = Path(path).read_text()
            self.calls.append((method, given, named))

        return call

    def told(self, method):
        return [(given, named) for name, given, named in self.calls if name == method]


@pytest.fixture(autouse=True)
def _quick_page(monkeypatch):
    """The page is the report's; here it is enough that it is made of the result."""
    monkeypatch.setattr(trackers, "report", lambda result, path: path.write_text(f"<p>{result.verdict}"))


def test_mlflow_by_its_module():
    run = Recorder("log_metrics", "set_tags", "log_artifact")
    R.log(run, step=3)
    assert run.told("log_metrics") == [((NUMBERS,), {"step": 3})]
    assert run.told("set_tags") == [((WORDS,), {})]
    assert run.files["evalstats.html"] == "<p>better"
    assert json.loads(run.files["evalstats.json"])["verdict"] == "better"


def test_a_run_of_mlflow_is_logged_to_by_the_client_of_its_package(monkeypatch):
    client = Recorder("log_metric", "set_tag", "log_artifact")
    monkeypatch.setitem(__import__("sys").modules, "mlflow", SimpleNamespace(MlflowClient=lambda: client))
    kind = type(
        "ActiveRun", (), {"__module__": "mlflow.tracking.fluent", "info": SimpleNamespace(run_id="r1"), "data": None}
    )
    R.log(kind(), page=False)
    assert client.told("log_metric") == [(("r1", *each), {"step": None}) for each in NUMBERS.items()]
    assert client.told("set_tag") == [(("r1", *each), {}) for each in WORDS.items()]
    assert [*client.files] == ["evalstats.json"]


def test_weights_and_biases():
    run = Recorder("log", "log_artifact")
    run.summary = Recorder("update")
    R.log(run, name="qa")
    assert run.told("log") == [
        (({key.replace("evalstats", "qa"): value for key, value in NUMBERS.items()},), {"step": None})
    ]
    assert run.summary.told("update")[0][0][0]["qa/verdict"] == "better"
    assert [named for _, named in run.told("log_artifact")] == [
        {"name": "qa-json", "type": "evaluation"}, {"name": "qa-html", "type": "evaluation"},
    ]  # fmt: skip


def test_a_name_with_a_slash_is_no_folder():
    run = Recorder("log", "log_artifact")
    run.summary = SimpleNamespace(update=lambda _: None)
    R.log(run, name="qa/nightly run", page=False)
    assert "qa/nightly run/estimate" in run.told("log")[0][0][0]
    assert [*run.files] == ["qa-nightly-run.json"]
    assert run.told("log_artifact")[0][1]["name"] == "qa-nightly-run-json"


def test_comet():
    run = Recorder("log_metrics", "log_others", "log_asset", "log", "log_artifact")
    R.log(run)
    assert run.told("log_metrics") == [((NUMBERS,), {"step": None})]
    assert run.told("log_others") == [((WORDS,), {})]
    assets = {named["file_name"]: data.read() for (data,), named in run.told("log_asset")}
    assert assets["evalstats.html"] == b"<p>better"
    assert json.loads(assets["evalstats.json"])["verdict"] == "better"


def test_tensorboard_gets_markdown():
    run = Recorder("add_scalar", "add_text")
    R.log(run, step=2)
    assert run.told("add_scalar") == [(each, {"global_step": 2}) for each in NUMBERS.items()]
    assert run.told("add_text") == [(("evalstats/answer", R.to_markdown()), {"global_step": 2})]
    assert not run.files


def test_what_has_no_number_logs_its_verdict():
    found = es.power(delta="3pp", discordance=0.2)
    run = Recorder("log_metrics", "set_tags", "log_artifact")
    found.log(run, page=False)
    assert run.told("log_metrics")[0][0][0] == {"evalstats/n_items": found.n_items}
    assert run.told("set_tags")[0][0][0]["evalstats/headline"] == found.document().headline


def test_a_page_that_cannot_be_made_leaves_nothing_behind(monkeypatch):
    def refused(*_):
        raise RenderError("install evalstats-toolkit[report]")

    monkeypatch.setattr(trackers, "report", refused)
    run = Recorder("log_metrics", "set_tags", "log_artifact")
    with pytest.raises(RenderError):
        R.log(run)
    assert run.calls == []


@pytest.mark.parametrize("run", [None, "run", {}, Recorder("log"), Recorder("log_metrics")])
def test_what_is_no_run_is_refused(run):
    with pytest.raises(InputError, match="is the run of no tracker that is known; give mlflow"):
        R.log(run)
