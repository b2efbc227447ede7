"""Result files and stores that faults are tried on, and what has to hold of a store after any of them."""

from pathlib import Path

from evalstats.cli.ingest_run import ingest
from evalstats.errors import StoreError
from evalstats.store.read import open_store

N_ITEMS = 30
TABLES = ("outcomes", "comparisons", "ratings", "aggregates", "runs", "metrics")


def result_files(folder: Path, models: int, *, items: int = N_ITEMS) -> Path:
    """Write a small table for each model."""
    folder.mkdir(parents=True)
    for m in range(models):
        rows = (f"q{k},m{m},{(k * (m + 3)) % 7 / 7},{k % 4}\n" for k in range(items))
        (folder / f"m{m}.csv").write_text("item,model,score,level\n" + "".join(rows))
    return folder


def sound_store(folder: Path, models: int = 2) -> Path:
    """Ingest some of them."""
    ingest([result_files(folder / "src", models)], folder / "store")
    return folder / "store"


def what_is_wrong(store: Path, reported: set[str]) -> str | None:
    """Say what does not hold: it opens, is sound, has every model reported as written, and each of them whole and once."""
    try:
        opened = open_store(store)
        problems = opened.check()
        counts = dict(opened.read().outcomes.group_by("model").len().iter_rows())
    except StoreError as error:
        return None if "there is no store here" in str(error) and not reported else f"does not open: {error}"
    except BaseException as error:  # noqa: BLE001 - a panic of polars is no Exception, and what else comes is a finding
        return f"{type(error).__name__}: {error}"
    if problems:
        return str(problems[0])
    if not reported <= counts.keys():
        return f"lost: {sorted(reported - counts.keys())}"
    odd = {model: n for model, n in counts.items() if n != N_ITEMS}
    return f"rows: {odd}" if odd else None
