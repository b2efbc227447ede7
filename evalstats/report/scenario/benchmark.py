"""What is to be known of the benchmark itself: what its scenarios are, and what its files do not say."""

from dataclasses import dataclass

from evalstats.document.blocks import Table
from evalstats.report.markup import bullets, linked, prose, section
from evalstats.report.scenario.page import ScenarioPage
from evalstats.report.tables import table_float


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A benchmark in words. `levels` are its scenarios with what they mean, as far as its source says it."""

    what: str
    points: tuple[str, ...]
    levels: tuple[tuple[str, str], ...] = ()
    levels_caption: str = ""


_ASSUMED = "The columns read here are those that evalstats assumes; a column map puts others in their place."
_RUT = About(
    what=(
        "RUT-Bench plays each base task once with a cooperative user and once with each of six kinds of user who is not "
        "(Yang et al. 2026, arXiv:2606.03318). The task and what solves it stay the same, only the user changes: so a drop is "
        "a difference within tasks, and tasks that are hard for everyone cancel out. A sample whose judge failed has no score "
        "for honesty (faithfulness), clarification or tool discipline: it is missing here, where the benchmark's own summary "
        "counts it as 0. There is one run of each model, so what a model would do another time cannot be told from how a task "
        "suits it in a scenario."
    ),
    points=(
        "A sample that crashed is an error in every metric, though an empty conversation may pass a task without assertions.",
        "Success is the relaxed one, recomputed from the final state: the summary's keys of that name do not all mean the same.",
        "Tasks lie in environments, about four in each. For conclusions about new environments name them as clusters.",
    ),
    levels=(
        ("stable", "the cooperative user, who says what is needed: the reference"),
        ("ideal", "the cooperative user, who says what is needed: the reference"),
        ("underspecification", "leaves out what the task needs"),
        ("information_overload", "buries the request in what does not matter"),
        ("fabricated_parameters", "gives values that do not exist"),
        ("goal_switching", "changes the goal on the way"),
        ("contradictory_constraints", "asks for what cannot be had together"),
        ("impatience_and_hostility", "presses and insults"),
    ),
    levels_caption="The behaviours of users, read from their names in the benchmark",
)
_HARM = About(
    what=(
        "HarmAmp asks whether a model amplifies harm over several turns (Guo, Xu & Ritter 2026, arXiv:2606.02423): 279 plans, "
        "132 malicious and 147 benign. On malicious plans harm is counted, on benign ones refusal; of both less is better, and "
        "no plan has both. The plans are published, a format of results is not."
    ),
    points=(
        _ASSUMED,
        "Several plans may be made from one seed: they are dependent, and seeds are the clusters where the data name them.",
        "A low rate of harm and a high rate of refusal on benign plans often come together: read the two side by side.",
    ),
)
_REPAIR = About(
    what=(
        "The device-repair questions (Rahman et al. 2026, arXiv:2606.03331) are 991 questions by owners of phones and "
        "computers, asked in English and in Bangla, with answers scored on four criteria: correctness, completeness, "
        "practicality, safety. Neither a format of results nor the scale of the criteria was published."
    ),
    points=(
        _ASSUMED,
        "The two languages of a question are two versions of one item: a change with language is a difference within questions.",
        "Domains and languages are asked one at a time: name the other one as the column of scenarios.",
        "A question belongs to one domain: a change with domain is a difference between questions, and has wider intervals.",
        "Each criterion is a metric of its own; nothing is adjusted across the four.",
    ),
)
_ABOUT = {"RUT-Bench": _RUT, "HarmAmp": _HARM, "device-repair": _REPAIR}


def about(page: ScenarioPage) -> str:
    """Return what is to be known of the benchmark; nothing of one that evalstats does not know."""
    known = _ABOUT.get(page.model.benchmark)
    if known is None:
        return ""
    shown = [row for row in known.levels if row[0] in page.model.scenario_names]
    table = ""
    if shown:
        table = table_float(
            Table(columns=("Scenario", "The user"), rows=tuple(shown), align="ll", caption=known.levels_caption),
            "tbl-levels",
        )
    return section(
        f"About {page.model.benchmark}",
        linked(known.what),
        table,
        bullets([prose(text) for text in known.points]),
        level=2,
    )
