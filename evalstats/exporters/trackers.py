"""Results into the run of an experiment tracker, by the tracker's own client.

No client is imported: what a run is shows in its methods. Estimate, ends, p and n become metrics, verdict and headline tags; the
page and the saved result become artefacts. TensorBoard keeps no files, so it gets the result as Markdown.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalstats.analysis.result import Result
from evalstats.errors import InputError
from evalstats.report.render import report


@dataclass(frozen=True, slots=True)
class Tracker:
    """What a run of a tracker takes: numbers and words by name; and files, else Markdown by name."""

    numbers: Callable[[Mapping[str, float]], object]
    words: Callable[[Mapping[str, str]], object] = lambda _: None
    file: Callable[[Path], object] | None = None
    markdown: Callable[[str, str], object] = lambda _, __: None


def log(result: Result, run: Any, *, name: str, step: int | None, page: bool) -> None:
    """Log a result to a run; see `Result.log`."""
    tracker = tracker_of(run, step)
    document = result.document()
    drawn = document.interval
    numbers: dict[str, object] = {
        each: getattr(result, each, None) for each in ("estimate", "conf_low", "conf_high", "p_value", "n_items")
    }
    if drawn is not None:
        numbers |= {"estimate": drawn.estimate, "conf_low": drawn.low, "conf_high": drawn.high}
    stem = re.sub(r"[^\w.-]", "-", name)  # trackers group metrics by a slash, which no file's name has
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{stem}.json"), *([Path(folder, f"{stem}.html")] if page else [])]
        if tracker.file is not None:  # before anything is logged: a page that cannot be made leaves nothing behind
            result.save(files[0])
            for each in files[1:]:
                report(result, each)
        tracker.numbers(
            {f"{name}/{key}": float(each) for key, each in numbers.items() if isinstance(each, int | float)}
        )
        tracker.words({f"{name}/verdict": document.label, f"{name}/headline": document.headline})
        if tracker.file is None:
            tracker.markdown(f"{name}/answer", result.to_markdown())
        else:
            for each in files:
                tracker.file(each)


def tracker_of(run: Any, step: int | None = None) -> Tracker:
    """Return what a run takes, known by its methods.

    InputError if it has those of no tracker.
    """

    def has(*names: str) -> bool:
        return all(hasattr(run, each) for each in names)

    if has("log_metrics", "set_tags", "log_artifact"):  # the module mlflow, with its active run
        return Tracker(lambda numbers: run.log_metrics(numbers, step=step), run.set_tags, run.log_artifact)
    if has("info", "data") and hasattr(run.info, "run_id"):  # a run of MLflow
        client, run_id = sys.modules[type(run).__module__.partition(".")[0]].MlflowClient(), run.info.run_id
        return Tracker(
            lambda numbers: [client.log_metric(run_id, *each, step=step) for each in numbers.items()],
            lambda words: [client.set_tag(run_id, *each) for each in words.items()],
            lambda path: client.log_artifact(run_id, str(path)),
        )
    if has("log_metrics", "log_others", "log_asset"):  # Comet
        return Tracker(
            lambda numbers: run.log_metrics(numbers, step=step),
            run.log_others,
            # A path is uploaded later, when the file may be gone; bytes are copied at once.
            lambda path: run.log_asset(BytesIO(path.read_bytes()), file_name=path.name),
        )
    if has("log", "summary", "log_artifact"):  # Weights & Biases
        return Tracker(
            lambda numbers: run.log(numbers, step=step),
            run.summary.update,
            lambda path: run.log_artifact(str(path), name=f"{path.stem}-{path.suffix[1:]}", type="evaluation"),
        )
    if has("add_scalar", "add_text"):  # TensorBoard
        return Tracker(
            lambda numbers: [run.add_scalar(*each, global_step=step) for each in numbers.items()],
            markdown=lambda tag, text: run.add_text(tag, text, global_step=step),
        )
    raise InputError(
        f"a {type(run).__name__} is the run of no tracker that is known; give mlflow or a run of it, a run of wandb, a "
        "SummaryWriter of TensorBoard or an experiment of Comet"
    )
