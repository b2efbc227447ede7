"""The chapters of `evalstats/stats`, to one of which each of its modules belongs, and the questions of `evalstats/analysis`.

What mutants of a chapter are tried against is its `Suite`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "evalstats"
STATS: Final = PACKAGE / "stats"


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder of the package that mutants are drawn from, and the places of the tests that they are tried against.

    `fresh`: collecting the tests starts threads (those of Polars), which no forked process has; each child collects its own.
    """

    name: str
    folder: Path
    tests: tuple[str, ...]
    fresh: bool = True


ANALYSIS: Final = PACKAGE / "analysis"
# What is said of results, options, and what repeats them: golden texts tell of a change in these.
_NO_STATISTICS: Final = frozenset({
    "document", "evidence", "figures", "notes", "options", "settings", "repeat", "provenance", "method_texts", "method",
})  # fmt: skip

# A folder stands for all its modules that are not named elsewhere.
CHAPTERS: Final = {
    "input checks and estimates": ("checks", "computation", "estimate", "roots"),
    "one score and proportions": ("one_sample", "proportion_contrasts", "score_scales", "stratified", "unpaired"),
    "paired differences": ("paired", "posterior"),
    "bootstrap": ("bootstrap",),
    "clusters and factors": (
        "beta_binomial",
        "clusters",
        "factor_dependence",
        "reliability",
        "runs",
        "trials",
        "variance_components",
    ),
    "many models": ("many",),
    "multiplicity": (
        "many/max_t",
        "many/multiplicity",
        "many/reference_laws",
        "many/step_down",
        "many/winners_curse",
    ),
    "sequential looks": ("betting", "sequential", "score_drift"),
    "linear mixed models": ("mixed",),
    "binomial mixed models": (
        "mixed/binomial",
        "mixed/glm",
        "mixed/laplace",
        "mixed/laplace_elimination",
    ),
    "arena ratings": (
        "arena/bootstrap",
        "arena/bradley_terry",
        "arena/contrasts",
        "arena/covariance",
        "arena/labelled",
        "arena/likelihood",
        "arena/parametric_bootstrap",
        "arena/slices",
        "arena/votes",
    ),
    "arena checks": ("arena",),
    "lab against live": ("agreement", "errors_in_variables", "gap"),
    "standardisation": ("standardisation",),
    "judges": ("raters",),
    "items and contamination": (
        "answer_choices",
        "contamination",
        "item_fit",
        "item_quality",
        "item_response",
        "rasch",
        "short_form",
    ),
    "planning": ("planning",),
}


def modules() -> dict[str, list[Path]]:
    """Return the files of each chapter; ValueError where a module belongs to none or to two."""
    files = {
        path.relative_to(STATS).with_suffix("").as_posix(): path
        for path in sorted(STATS.rglob("*.py"))
        if path.name != "__init__.py"
    }
    owner: dict[str, str] = {}
    for chapter, names in CHAPTERS.items():
        for name in names:
            if name in owner or not (name in files or (STATS / name).is_dir()):
                raise ValueError(
                    f"chapter {chapter!r} names {name!r}, which another chapter names or which is not there"
                )
            owner[name] = chapter
    found: dict[str, list[Path]] = {chapter: [] for chapter in CHAPTERS}
    for name, path in files.items():
        chapter = owner.get(name) or owner.get(name.partition("/")[0])
        if chapter is None:
            raise ValueError(f"evalstats/stats/{name}.py belongs to no chapter; name it in dev/mutation/chapters.py")
        found[chapter].append(path)
    return found


def questions() -> dict[str, list[Path]]:
    """Return the files of each question of `evalstats/analysis` that compute something, by its folder's name."""
    found: dict[str, list[Path]] = {}
    for path in sorted(ANALYSIS.glob("*/*.py")):
        if path.stem not in _NO_STATISTICS | {"__init__"}:
            found.setdefault(f"analysis/{path.parent.name}", []).append(path)
    return found


def suite_of(chapter: str) -> Suite:
    """Return what mutants of a chapter are tried against: tests of `stats`, or those of the question and frozen numbers."""
    if chapter in CHAPTERS:
        return Suite("stats", STATS, ("tests/stats", "evalstats/stats"), fresh=False)
    return Suite(chapter.replace("/", "-"), PACKAGE / chapter, (f"tests/{chapter}", "tests/frozen"))
