"""Fifty million votes: write them to a Parquet file, or rate them; each in a process of its own, for its time and memory."""

import json
import resource
import sys
from pathlib import Path

import numpy as np
import polars as pl

RATERS = 1_000_000
_STEP = 1_000_000


def write(path: Path, n_votes: int) -> None:
    """Write votes with dictionary-encoded names and the labels of public arenas, a million to a row group."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    from benchmarks.arena import simulated

    labels = pa.array(["model_a", "model_b", "tie", "tie (bothbad)"])
    rng = np.random.default_rng(1)
    writer = None
    for begin in range(0, n_votes, _STEP):
        votes = simulated(min(_STEP, n_votes - begin), seed=begin)
        raters = np.minimum((RATERS * rng.random(votes.first.size) ** 2).astype(np.int64), RATERS - 1)
        columns = {
            "model_a": pa.DictionaryArray.from_arrays(votes.first.astype(np.int32), pa.array(votes.names)),
            "model_b": pa.DictionaryArray.from_arrays(votes.second.astype(np.int32), pa.array(votes.names)),
            "winner": pa.DictionaryArray.from_arrays(votes.outcome.astype(np.int8), labels),
            "rater": pa.array(raters),
        }
        table = pa.table(columns)
        writer = writer or ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def rate(path: Path, *, by_rater: bool) -> str:
    """Make the rating table, and return what it says."""
    from benchmarks.arena import clustered, rated

    cells, _, fit, covariance = (clustered if by_rater else rated)(pl.scan_parquet(path))
    error = np.sqrt(np.diag(covariance.covariance))[: fit.n_models]
    table = pl.DataFrame({"model": cells.models, "strength": fit.strengths, "std_error": error})
    return f"{table.height} models, median std_error {table['std_error'].median():.2g}"


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        said = rate(Path(sys.argv[2]), by_rater=sys.argv[1] == "raters")
        used = resource.getrusage(resource.RUSAGE_SELF)
        status = Path("/proc/self/status").read_text()  # what getrusage tells of memory includes the parent's
        peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024
        print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "peak": peak, "note": said}))
