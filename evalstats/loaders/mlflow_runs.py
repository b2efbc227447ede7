"""The runs of an MLflow experiment, read through its client: what `mlflow.genai.evaluate` scores stands on traces.

A run is a model, a trace an item, named by a digest of its inputs, and each feedback of a scorer or a judge a score. Nothing of
MLflow is imported; the client is used as it is given.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from evalstats.errors import InputError
from evalstats.loaders.frames import from_frame
from evalstats.loaders.rows import item_of
from evalstats.loaders.values import as_number, word_score
from evalstats.schema.data import EvalData

# Feedback of people is a rating of the judge's work, and no second score of the item.
_SCORERS = ("CODE", "LLM_JUDGE")


def from_mlflow(client: Any, experiment: str) -> EvalData:
    """Read the evaluated runs of an experiment.

    Parameters
    ----------
    client
        An `mlflow.MlflowClient`, of a local store or a server.
    experiment
        The name of the experiment.

    Returns
    -------
    EvalData
        Outcomes: each run is a model of the run's name, each trace an item, each feedback of code or of a judge a score. A trace
        that failed is an error, a feedback without a value unscored.

    Raises
    ------
    InputError
        If there is no such experiment, or none of its runs has feedback on traces.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> data = from_mlflow(mlflow.MlflowClient(), "nightly")  # doctest: +SKIP
    """
    found = client.get_experiment_by_name(experiment)
    if found is None:
        names = ", ".join(each.name for each in _all(client.search_experiments))
        raise InputError(f"no experiment {experiment!r} in this store; it has {names}")
    runs = [*_all(client.search_runs, experiment_ids=[found.experiment_id])]
    names = Counter(run.info.run_name for run in runs)
    rows: list[dict[str, object]] = []
    for run in runs:
        name, run_id, n_seen = run.info.run_name, run.info.run_id, Counter[object]()
        for trace in _all(client.search_traces, locations=[found.experiment_id], run_id=run_id):
            shared = {
                "model": name if names[name] == 1 else f"{name} ({run_id[:8]})",
                "item": item_of(trace.data.request) or trace.info.trace_id,
                "error": "the trace failed" if str(trace.info.state).endswith("ERROR") else None,
                "latency_s": None if trace.info.execution_duration is None else trace.info.execution_duration / 1000,
            }
            for each in trace.info.assessments:
                kind = each.source.source_type
                if each.feedback is None or each.valid is False or kind not in _SCORERS:
                    continue
                judge = each.source.source_id if kind == "LLM_JUDGE" else None
                key, value = (shared["item"], each.name, judge), each.feedback.value
                rows.append(
                    {
                        **shared,
                        "metric": each.name,
                        "judge": judge,
                        "trial": n_seen[key],
                        "score": word_score(value) if isinstance(value, str) else as_number(value),
                    }
                )
                n_seen[key] += 1
    if not rows:
        raise InputError(
            f"none of the {len(runs)} runs of {experiment!r} has feedback on traces, as mlflow.genai.evaluate leaves; "
            "tables of mlflow.evaluate are files of the run: give their folder to evalstats.read"
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    kept = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    named: dict[str, Any] = {name: name for name in kept}
    return from_frame(kept, benchmark=f"@{experiment}", **named)


def _all(search: Callable[..., Any], **asked: object) -> Iterator[Any]:
    token = None
    while True:
        page = search(**asked, page_token=token)
        yield from page
        token = getattr(page, "token", None)
        if not token:
            return
