"""Published claims about agents, and counts of the results that their own repositories hold.

Only figures ship, with the words of each claim as they stand in its JSON file. `dev/published_claims.py` makes the two files
from the repositories.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from evalstats.datasets.tables import outcome, records, shipped
from evalstats.record import record
from evalstats.schema.data import EvalData

CLAIMS: Final = "published_claims.csv"
COUNTS: Final = "published_claims_counts.csv"


@record
class ClaimCounts:
    """Tasks of one claim that ended alike: `tasks` of them, in one `group` ("" where the source names none).

    `baseline` and `candidate` have a digit a trial: 1 passed, 0 failed; "" where the source has no trials of that arm. Scores
    are proportions, None where there are none.
    """

    claim: str
    group: str = ""
    tasks: int = 1
    baseline: str = ""
    candidate: str = ""
    baseline_score: float | None = None
    candidate_score: float | None = None


@record
class ClaimSource:
    """What one repository states: `words` of `file` at `commit`, and the numbers in them, as proportions.

    `data` names the files of the same commit that the counts are of. `licence` is the repository's.
    """

    claim: str
    repository: str
    commit: str
    file: str
    data: str
    licence: str
    estimate: float
    conf_low: float | None
    conf_high: float | None
    p_value: float | None
    words: str


@record
class PublishedClaim:
    """One claim with its source, and the results it is about."""

    source: ClaimSource
    counts: tuple[ClaimCounts, ...]

    @property
    def n_tasks(self) -> int:
        """Number of tasks in the data of the claim."""
        return sum(row.tasks for row in self.counts)

    def to_data(self) -> EvalData:
        """Return the results as outcomes of the models "baseline" and "candidate"; the task ids are made.

        Metric "passed" has the trials, "score" the graded scores, each where the source has them.

        Examples
        --------
        >>> data = load_published_claims()["zero-of-tau2"].to_data()
        >>> data.outcomes.height, round(data.outcomes["score"].mean(), 3)
        (150, 0.513)
        """
        rows = list(self._outcomes())
        scored = {row["metric"] for row in rows}
        kinds = {metric: kind for metric, kind in _KINDS.items() if metric in scored}
        about: dict[str, Any] = {"source": f"{self.source.repository} @ {self.source.commit}: {self.source.data}"}
        return shipped(rows, self.source.claim, kinds, **about, note="Expanded from counts; the task ids are made")

    def _outcomes(self) -> Iterator[dict[str, object]]:
        place = 0
        for row in self.counts:
            for _ in range(row.tasks):
                place += 1
                known = {"benchmark": self.source.claim, "task": "all", "item": f"task-{place:02d}"}
                if row.group:
                    known["scenario"] = row.group
                for model in ("baseline", "candidate"):
                    named = {"run": f"{self.source.claim}.{model}", "model": model, **known}
                    for trial, digit in enumerate(getattr(row, model)):
                        yield outcome(**named, metric="passed", score=float(digit), trial=trial)
                    score = getattr(row, f"{model}_score")
                    if score is not None:
                        yield outcome(**named, metric="score", score=score)


_KINDS: Final = {"passed": "binary", "score": "bounded"}


@cache
def load_published_claims() -> dict[str, PublishedClaim]:
    """Return the claims by their names, in the order of the study that shows them.

    Examples
    --------
    >>> list(load_published_claims())
    ['zero-of-tau2', 'tau2-baseline', 'score-or-pass', 'two-points', 'three-rates', 'against-nothing']
    """
    counts = records(COUNTS, ClaimCounts)
    sources = records(CLAIMS, ClaimSource)
    return {
        source.claim: PublishedClaim(source=source, counts=tuple(row for row in counts if row.claim == source.claim))
        for source in sources
    }
