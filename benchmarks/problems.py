"""The problems that all sides are given, drawn from a seed and written as files.

`python -m benchmarks.problems NAME SIZE FOLDER`

Each function fills a folder. Arrays are in `data.npz`, files for whole commands have the format that the command reads.
"""

import csv
import sys
from pathlib import Path

import numpy as np

MODELS = 100  # of an arena
ITEMS = 2000  # of a board
SCENARIOS = 7
LETTERS = np.array(["a", "b", "tie", "both_bad"])
# Rows of a mixed model: models, items, trials of each.
SHAPES = {
    1000: (10, 100, 1),
    5000: (10, 500, 1),
    15_000: (10, 500, 3),
    31_122: (19, 1638, 1),
    1_000_000: (100, 5000, 2),
}
_BLOCK = 1_000_000


def pairs(folder: Path, n_items: int) -> None:
    """Right or wrong answers of two models on the same items, the second a little better."""
    ease, rng = _ease(n_items)
    a, b = ((ease + shift + rng.normal(size=n_items) > 0).astype(float) for shift in (0.0, 0.2))
    np.savez(folder / "data.npz", a=a, b=b)


def board(folder: Path, n_models: int) -> None:
    """Right or wrong answers of models from a third to nine tenths right, on 2,000 items of unequal difficulty."""
    np.savez(folder / "data.npz", scores=_board(n_models))


def linear(folder: Path, n_rows: int) -> None:
    """Scores with effects of items, models, and models in scenarios."""
    item, model, both, rng = _crossed(n_rows)
    mean = rng.normal(size=item.max() + 1)[item] + 0.5 * rng.normal(size=model.max() + 1)[model]
    mean += 0.3 * rng.normal(size=both.max() + 1)[both]
    _responses(folder, item, model, both, mean + rng.normal(size=item.size))


def binomial(folder: Path, n_rows: int) -> None:
    """Right or wrong answers with the same effects on their log odds."""
    item, model, both, rng = _crossed(n_rows)
    logit = rng.normal(size=item.max() + 1)[item] + 0.3 * rng.normal(size=both.max() + 1)[both]
    logit += np.linspace(-0.5, 1.0, model.max() + 1)[model]
    _responses(folder, item, model, both, (rng.random(item.size) < 1.0 / (1.0 + np.exp(-logit))).astype(float))


def facets(folder: Path, n_rows: int) -> None:
    """Scores of models with scaffolds on items, every fifth cell missing."""
    n_models, n_scaffolds = 10, 5
    rng = np.random.default_rng(n_rows)
    model, scaffold, item = (each.ravel() for each in np.indices((n_models, n_scaffolds, n_rows // 40)))
    y = rng.normal(size=n_models)[model] + rng.normal(size=item.max() + 1)[item] + rng.normal(size=item.size)
    y += 0.5 * rng.normal(size=(n_models, n_scaffolds))[model, scaffold]
    kept = rng.permutation(item.size)[:n_rows]
    np.savez(folder / "data.npz", model=model[kept], scaffold=scaffold[kept], item=item[kept], y=y[kept])


def answers(folder: Path, n_answers: int) -> None:
    """Right or wrong answers of 200 models that follow the two-parameter model."""
    rng, n_items = np.random.default_rng(n_answers), n_answers // 200
    logit = np.outer(rng.lognormal(0.0, 0.4, n_items), rng.normal(size=200)) + rng.normal(size=n_items)[:, None]
    np.savez(folder / "data.npz", right=(rng.random(logit.shape) < 1.0 / (1.0 + np.exp(-logit))).astype(float))


def trials(folder: Path, n_items: int) -> None:
    """Successes in four trials of items whose rates follow Beta(2, 1)."""
    rng = np.random.default_rng(n_items)
    np.savez(folder / "data.npz", right=rng.binomial(4, rng.beta(2.0, 1.0, n_items)))


def clustered(folder: Path, n_items: int) -> None:
    """Differences of items, twenty on average in a cluster."""
    rng = np.random.default_rng(n_items)
    code = np.unique(rng.integers(0, n_items // 20, n_items), return_inverse=True)[1]
    d = 0.02 + 0.2 * rng.normal(size=code.max() + 1)[code] + 0.3 * rng.normal(size=n_items)
    np.savez(folder / "data.npz", difference=d, cluster=code)


def graded(folder: Path, n_items: int) -> None:
    """Differences of graded scores, skewed a little, and what another coder would give."""
    rng = np.random.default_rng(n_items)
    d = 0.02 + 0.1 * rng.standard_t(5, size=n_items)
    np.savez(folder / "data.npz", difference=d, other=d + 0.1 * rng.normal(size=n_items))


def ratings_of_five(folder: Path, n_units: int) -> None:
    """Ratings from 1 to 5 by five raters, a fifth of them missing (NaN)."""
    rng = np.random.default_rng(n_units)
    level = rng.normal(size=n_units) + 0.7 * rng.normal(size=(5, n_units))
    rated = np.digitize(level, (-1.5, -0.5, 0.5, 1.5)) + 1.0
    rated[rng.random(rated.shape) < 0.2] = np.nan
    np.savez(folder / "data.npz", ratings=rated)


def judged(folder: Path, n_items: int) -> None:
    """Verdicts of a judge on all items, and people's labels of a tenth of them."""
    rng = np.random.default_rng(n_items)
    label = (rng.random(n_items) < 0.6).astype(float)
    verdict = np.where(rng.random(n_items) < 0.85, label, 1.0 - label)
    n = n_items // 10
    np.savez(folder / "data.npz", judged=verdict[n:], judged_labelled=verdict[:n], labels=label[:n])


def users(folder: Path, n_users: int) -> None:
    """Scores of the users of two variants, half of them each."""
    rng = np.random.default_rng(n_users)
    n = n_users // 2
    np.savez(folder / "data.npz", a=rng.gamma(2.0, 1.0, n), b=rng.gamma(2.0, 1.05, n))


def tasks(folder: Path, n_tasks: int) -> None:
    """Scores of 40 models on tasks."""
    rng = np.random.default_rng(n_tasks)
    np.savez(folder / "data.npz", scores=np.linspace(-1.0, 1.0, 40) + 0.7 * rng.normal(size=(n_tasks, 40)))


def votes(folder: Path, n_votes: int) -> None:
    """Votes on 100 models of unlike strength, three in ten of them tied."""
    first, second, outcome = _votes(n_votes, seed=0)
    np.savez(folder / "data.npz", names=_names(), first=first, second=second, outcome=outcome)


def two_runs(folder: Path, n_items: int) -> None:
    """Write the pairs as one table of items, models and scores."""
    pairs(folder, n_items)
    with np.load(folder / "data.npz") as data:
        _long(folder / "scores.csv", {"a": data["a"], "b": data["b"]})


def many_runs(folder: Path, n_models: int) -> None:
    """Write the board as one table of items, models and scores."""
    _long(folder / "scores.csv", {f"model-{k:03}": column for k, column in enumerate(_board(n_models).T)})


def vote_table(folder: Path, n_votes: int) -> None:
    """Write the votes as a CSV file for us, and as the one that evalica reads."""
    first, second, outcome = _votes(n_votes, seed=0)
    names = _names()
    for file, header, words in (
        ("votes.csv", ("model_a", "model_b", "winner"), np.array(["model_a", "model_b", "tie", "tie (bothbad)"])),
        ("evalica.csv", ("left", "right", "winner"), np.array(["left", "right", "tie", "tie"])),
    ):
        with (folder / file).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(header)
            writer.writerows(zip(names[first], names[second], words[outcome], strict=True))


def vote_parquet(folder: Path, n_votes: int, *, raters: bool = False) -> None:
    """Votes with dictionary-encoded names, a million to a row group; with a million raters of unlike zeal, if asked."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    labels, names = pa.array(["model_a", "model_b", "tie", "tie (bothbad)"]), pa.array(_names())
    fields = [(name, pa.dictionary(pa.int32(), pa.string())) for name in ("model_a", "model_b", "winner")]
    schema = pa.schema([*fields, *([("rater", pa.int64())] if raters else [])])
    rng = np.random.default_rng(1)
    with ParquetWriter(folder / "votes.parquet", schema) as writer:
        for begin in range(0, n_votes, _BLOCK):
            codes = _votes(min(_BLOCK, n_votes - begin), seed=begin)
            columns = [
                pa.DictionaryArray.from_arrays(code.astype(np.int32), words)
                for code, words in zip(codes, (names, names, labels), strict=True)
            ]
            if raters:
                columns.append(pa.array((_BLOCK * rng.random(codes[0].size) ** 2).astype(np.int64)))
            writer.write_table(pa.table(columns, schema=schema))


def samples(folder: Path, megabytes: int) -> None:
    """Write one file of samples of lm-evaluation-harness."""
    from benchmarks.loaders import FILES

    name, text = next((file, text) for loader, file, text in FILES if loader == "lm-eval")
    (folder / name).write_text(text(megabytes << 20), encoding="utf-8")


def nothing(folder: Path, _: int) -> None:
    """Start-up needs no data."""


def _ease(n_items: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(n_items)
    return rng.normal(size=n_items), rng


def _board(n_models: int) -> np.ndarray:
    ease, rng = _ease(ITEMS)
    skill = np.linspace(-0.8, 1.5, n_models)
    return (ease[:, None] + rng.normal(size=(ITEMS, n_models)) + skill > 0).astype(float)


def _crossed(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    n_models, n_items, n_trials = SHAPES[n_rows]
    item = np.repeat(np.arange(n_items), n_models * n_trials)
    model = np.tile(np.repeat(np.arange(n_models), n_trials), n_items)
    return item, model, model * SCENARIOS + item % SCENARIOS, np.random.default_rng(n_rows)


def _responses(folder: Path, item: np.ndarray, model: np.ndarray, both: np.ndarray, y: np.ndarray) -> None:
    np.savez(folder / "data.npz", item=item, model=model, both=both, y=y)
    np.stack([item, model, both, y]).astype(float).tofile(folder / "data.bin")  # for R: column by column


def _votes(n_votes: int, *, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    strength = 0.6 * np.random.default_rng(0).normal(size=MODELS)
    rng = np.random.default_rng((seed, n_votes))
    first = rng.integers(0, MODELS, n_votes)
    second = (first + rng.integers(1, MODELS, n_votes)) % MODELS
    a_wins = rng.random(n_votes) < 1.0 / (1.0 + np.exp(strength[second] - strength[first]))
    tied = rng.random(n_votes)
    return first, second, np.where(tied < 0.15, 2, np.where(tied < 0.3, 3, np.where(a_wins, 0, 1)))


def _names() -> np.ndarray:
    return np.array([f"organisation/model-{k:03d}-instruct" for k in range(MODELS)])


def _long(path: Path, columns: dict[str, np.ndarray]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("item", "model", "score"))
        for model, scores in columns.items():
            writer.writerows((f"q{i}", model, int(score)) for i, score in enumerate(scores))


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[3]), int(sys.argv[2]))
