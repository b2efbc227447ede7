"""The checks, in the order in which they look.

To add one, write a function that takes a `Panel` (the rows of one metric, and where each stands in the table of items by
models) and yields an `Observation` for each thing it sees: its kind (listed in `result.KINDS`), a clause on what was found with
its number, a clause on what to do, and, where the same rows could defensibly be handled otherwise, `Treatment`s: rows to keep
(`panel.of_items(items)` makes rows of items), other scores, or other clusters. Where the data do not allow the check, it yields
`NotChecked` with the reason; where nothing is wrong, nothing. Then add it to the tuple. What a treatment does to the
conclusions is worked out by `conclusions.ranked`, never by the check.
"""

from evalstats.analysis.audit.answers import multiple_choice
from evalstats.analysis.audit.groups import groups_and_drift
from evalstats.analysis.audit.items import near_duplicates, uninformative_items
from evalstats.analysis.audit.missing import harness_errors, item_sets, judge_failures, missing_scores, run_item_sets
from evalstats.analysis.audit.panel import Check
from evalstats.analysis.audit.repeats import identical_models, repeated_rows, repeated_runs
from evalstats.analysis.audit.scale import failure_codes, scale_oddities
from evalstats.analysis.audit.versions import too_small, versions

CHECKS: tuple[Check, ...] = (
    Check(kinds=("repeated rows",), look=repeated_rows),
    Check(kinds=("repeated runs",), look=repeated_runs),
    Check(kinds=("identical models",), look=identical_models),
    Check(kinds=("versions",), look=versions),
    Check(kinds=("scale",), look=scale_oddities),
    Check(kinds=("failure codes",), look=failure_codes),
    Check(kinds=("too small",), look=too_small),
    Check(kinds=("harness errors",), look=harness_errors),
    Check(kinds=("missing scores",), look=missing_scores),
    Check(kinds=("judge failures",), look=judge_failures),
    Check(kinds=("item sets",), look=item_sets),
    Check(kinds=("item sets",), look=run_item_sets),
    Check(kinds=("near-duplicate items",), look=near_duplicates),
    Check(kinds=("saturated items", "unsolvable items"), look=uninformative_items),
    Check(kinds=("wrong keys", "guessed answers", "answer position", "agreement"), look=multiple_choice),
    Check(kinds=("dependence", "drift"), look=groups_and_drift),
)
