"""Aider's leaderboards: a YAML list of runs, each with its pass rates, costs and settings.

The files are lists of flat maps; no more of YAML than that is read, so that no file can make anything happen: `- name: value`
begins a run, `  name: value` goes on with it. Pass rates are in percent. The variant is how the model was used (edit format,
editor model, effort), `n` the number of exercises that were run. No interval is in the file and none is made.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.grammar import comma_list
from evalstats.loaders.base import Head, Source
from evalstats.loaders.files import bounded_lines, open_text
from evalstats.loaders.format import Sign
from evalstats.loaders.published_format import PublishedFormat
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.loaders.values import as_count, as_number, as_text, day_of

Run = dict[str, str]

# Metric, unit, and whether more is better.
_METRICS: Final = {
    "pass_rate_1": ("percent", True),
    "pass_rate_2": ("percent", True),
    "percent_cases_well_formed": ("percent", True),
    "total_cost": ("US dollars", False),
    "seconds_per_case": ("seconds", False),
}
_COUNTS: Final = (
    "pass_num_1", "pass_num_2", "test_cases", "total_tests", "error_outputs", "num_malformed_responses",
    "num_with_malformed_responses", "user_asks", "lazy_comments", "syntax_errors", "indentation_errors",
    "exhausted_context_windows", "test_timeouts", "prompt_tokens", "completion_tokens",
)  # fmt: skip
_TEXTS: Final = ("dirname", "edit_format", "editor_model", "editor_edit_format", "commit_hash", "versions", "command")
_SETTINGS: Final = ("edit_format", "editor_model", "editor_edit_format", "reasoning_effort", "thinking_tokens")
# Sizes of the benchmarks; a run that was cut short by a few exercises is still one of them.
_SIZES: Final = {225: "Aider polyglot", 133: "Aider code editing", 89: "Aider refactoring"}
_SHORT: Final = 9
_ENTRY = re.compile(r"(?P<dash>-)?\s*(?P<name>[A-Za-z_]\w*):(?:\s+(?P<value>.*))?")
_QUOTED = re.compile(r"""(?P<mark>["'])(?P<text>.*)(?P=mark)\s*(?:#.*)?""")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_NO_COST: Final = "{n} runs cost 0, which means an unknown price; it is dropped"
_FEWER: Final = "{n} runs have fewer test cases than tests; the file does not say which of the two a rate is of"


def _board(_: Head, source: Source, numbers: PublishedRows) -> str:
    odd: list[int] = []
    for run in _runs(source, odd):
        _add(run, numbers)
    for row in numbers.metrics.values():
        row["higher_is_better"] = _METRICS[str(row["metric"])][1]
    if odd:
        numbers.left_out.append(
            f"{len(odd):,} lines are not `name: value` of a run and are dropped (line {comma_list(odd)})"
        )
    benchmarks = {str(row["benchmark"]) for row in numbers.rows}
    return benchmarks.pop() if len(benchmarks) == 1 else "Aider"


def _runs(source: Source, odd: list[int]) -> Iterator[Run]:
    """Yield the runs of a list of flat maps; lines that are something else are counted."""
    run: Run = {}
    left: int | None = None  # the column of the list's dashes
    inside: int | None = None  # the column of a run's names
    with open_text(source.path) as stream:
        for number, line in enumerate(bounded_lines(stream.readline, str(source.path)), start=1):
            text = line.strip()
            if not text or text.startswith("#") or text in {"---", "..."}:
                continue
            found = _ENTRY.fullmatch(text)
            column = len(line) - len(line.lstrip())
            if found is not None and found["dash"] and column == (left if left is not None else column):
                if run:
                    yield run
                left, inside, run = column, None, {}
            elif found is None or found["dash"] or not run or column <= (left or 0) or column != (inside or column):
                odd.append(number)
                continue
            else:
                inside = column
            run[found["name"]] = _plain(found["value"] or "")
    if run:
        yield run


def _plain(value: str) -> str:
    """Return a value without quotes, and without the comment behind it."""
    quoted = _QUOTED.fullmatch(value.strip())
    return quoted["text"] if quoted else _COMMENT.sub("", value).strip()


def _add(run: Mapping[str, str], numbers: PublishedRows) -> None:
    """Add the numbers of one run."""
    cases, tests = as_count(run.get("test_cases")), as_count(run.get("total_tests"))
    numbers.counts[_FEWER] += cases is not None and tests is not None and cases < tests
    settings = [run[name] for name in _SETTINGS if run.get(name)]
    known: dict[str, object] = {
        "model": as_text(run.get("model")) or "",
        "benchmark": _benchmark(tests or cases),
        "variant": as_text(", ".join(settings)) or "",
        "setting": "lab",
        "method": "published",
        "date": day_of(run.get("date")),
        "n": cases,
        **{name: as_count(run.get(name)) for name in _COUNTS},
        **{name: as_text(run.get(name)) or None for name in _TEXTS},
    }
    for metric, (unit, _) in _METRICS.items():
        value = run.get(metric)
        if metric == "total_cost" and as_number(value) == 0:
            numbers.counts[_NO_COST] += 1
            continue
        numbers.add(value, {**known, "metric": metric, "unit": unit})


def _benchmark(size: int | None) -> str:
    """Name the benchmark by its number of exercises, which alone tells it.

    >>> _benchmark(225), _benchmark(130), _benchmark(20), _benchmark(None)
    ('Aider polyglot', 'Aider code editing', 'Aider', 'Aider')
    """
    return next((name for whole, name in _SIZES.items() if size and whole - _SHORT <= size <= whole), "Aider")


FORMAT: Final = PublishedFormat(
    name="aider",
    title="Aider leaderboards (.yml)",
    version="2",
    upstream="Aider-AI/aider, aider/website/_data/*.yml",
    harness="Aider",
    tables=(
        (
            Sign(
                confidence=0.95,
                opening=r"(?s:.*?)-\s+(?:dirname|test_cases|model|edit_format)\s*:",
                text=("pass_rate_1:",),
                shapes=("text",),
            ),
            _board,
        ),
    ),
    primary=("pass_rate_2", "pass_rate_1"),
    expected="a list of runs with a model and a pass rate was expected",
)
