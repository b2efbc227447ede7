"""The questions that evalstats answers, each named once: the public functions, commands, pages and docs are made from this.

A question is a folder of `analysis` with the function of its name and the result that it returns. Its options are those of the
function's signature (`evalstats.options`).
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal

from evalstats import options
from evalstats.record import record

# Where a command finds the data of a question: scores counted on an engine too, single rows, two sides, votes, lab and live,
# ratings, or a pilot.
Form = Literal["scores", "rows", "sides", "votes", "lab and live", "ratings", "pilot"]
# What of a store it reads: all tables; all columns of scores; those that it uses, with costs or without.
Keeps = Literal["tables", "columns", "scores and costs", "scores"]


@record
class Question:
    """One question: its command's help, the result, the page, and what its command reads and may fail by.

    `asks` is the help of its command, `more` a second paragraph of it; `keeps` is what of a store is read, `step` what is being
    done while it computes. `rules` are what `--fail-on` takes, `gate` is its help, and `gated_by` the option that it needs.
    """

    name: str
    asks: str
    result: str
    page: str
    form: Form = "rows"
    more: str = ""
    step: str = ""
    keeps: Keeps = "tables"
    rules: tuple[str, ...] = ()
    gate: str = ""
    gated_by: str = ""

    @property
    def module(self) -> str:
        """Where its function stands."""
        return f"evalstats.analysis.{self.name}.{self.name}"

    def function(self) -> Any:
        """Import the function, and with it all that it computes with."""
        return getattr(import_module(self.module), self.name)


# In the order of reading: the answer first, then where it breaks, what it costs and whether it can be trusted.
QUESTIONS: Mapping[str, Question] = {
    each.name: each
    for each in (
        Question(
            name="compare",
            asks="Is B better than A? Difference, interval, verdict.",
            result="Comparison",
            page="compare",
            form="sides",
            keeps="scores and costs",
            rules=("worse", "worse-overall", "not-noninferior", "inconclusive"),
            gate="Exit with status 1 if the rule fails: worse (overall or in a task or level), worse-overall, not-noninferior "
            "(with --margin) or inconclusive; may be repeated.",
        ),
        Question(
            name="leaderboard",
            asks="How do all models stand, and which ranks are certain?",
            result="Leaderboard",
            page="leaderboard",
            form="scores",
            keeps="scores",
            step="comparing all pairs of models",
        ),
        Question(
            name="score",
            asks="How precise is each system's score?",
            result="Score",
            page="score",
            form="scores",
            rules=("worse", "inconclusive"),
            gate="With --against, exit with status 1 if a score is shown to be worse (worse), or is not shown to be better "
            "(inconclusive); may be repeated.",
            gated_by="against",
        ),
        Question(
            name="arena",
            asks="Which models do live users prefer, and with what certainty?",
            result="ArenaRanking",
            page="arena",
            form="votes",
            step="rating the models and checking the votes",
        ),
        Question(
            name="gap",
            asks="For which models does the lab predict the live world?",
            result="LabLiveGap",
            page="lab-live",
            form="lab and live",
            step="setting lab against live",
        ),
        Question(
            name="judges",
            asks="Can a judge stand in for people?",
            result="JudgeReport",
            page="judges",
            form="ratings",
        ),
        Question(
            name="scenarios",
            asks="Where do models break: which scenario types, which users?",
            result="ScenarioModel",
            page="scenarios",
            form="scores",
        ),
        Question(
            name="frontier",
            asks="Which systems score the most for their cost?",
            result="Frontier",
            page="frontier",
        ),
        Question(
            name="contamination",
            asks="Do models score higher on items they may have seen?",
            result="ContaminationCheck",
            page="contamination",
            step="setting old items against new ones",
        ),
        Question(
            name="audit",
            asks="Can these numbers be trusted?",
            result="Audit",
            page="audit",
            keeps="columns",
            step="drawing conclusions with and without each finding",
            rules=("flips",),
            gate="Exit with status 1 if a finding flips a comparison.",
        ),
        Question(
            name="items",
            asks="Which items tell models apart, and would fewer do?",
            result="ItemReport",
            page="items",
            keeps="scores",
            step="fitting curves of items, with models left out in turn",
        ),
        Question(
            name="reliability",
            asks="Would other items, scaffolds or judges give the same order?",
            result="ReliabilityReport",
            page="reliability",
            keeps="columns",
        ),
        Question(
            name="power",
            asks="How many items, trials or clusters do I need?",
            result="PowerPlan",
            page="power",
            form="pilot",
        ),
        Question(
            name="overview",
            asks="What does a store hold and answer, and what has changed?",
            more="Answers every question that the data allow, with default options. For runs on several days it reports which "
            "scores have changed (--metric, --models, --cluster, --since and --accept apply); the error rate is controlled "
            "over all looks. With -o FOLDER, each answer gets a page, linked from an index.",
            result="Overview",
            page="overview",
        ),
    )
}


@cache
def signature_of(name: str) -> inspect.Signature:
    """Return the signature of a question's function as its source has it: to import it would load all that it computes with.

    An annotation that is not of `evalstats.options` (data, listeners) is left out.

    >>> [each for each in signature_of("score").parameters][:3]
    ['data', 'name', 'metric']
    """
    folder, _, module = QUESTIONS[name].module.rpartition(".")
    text = files(folder).joinpath(f"{module}.py").read_text(encoding="utf-8")
    # Up to its docstring: to parse all modules whole takes a tenth of a short command.
    begin = text.index(f"\ndef {name}(")
    body = ast.parse(text[begin : text.index('\n    """', begin)] + "\n    ...").body
    (function,) = (each for each in body if isinstance(each, ast.FunctionDef))
    given, empty = function.args, inspect.Parameter.empty
    positional = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = [
        inspect.Parameter(
            each.arg,
            kind,
            default=empty if default is None else _value(default),
            annotation=empty if each.annotation is None else _value(each.annotation),
        )
        for kind, pairs in zip(
            kinds,
            (zip(given.args, positional, strict=True), zip(given.kwonlyargs, given.kw_defaults, strict=True)),
            strict=True,
        )
        for each, default in pairs
    ]
    return inspect.Signature(parameters)


def _value(node: ast.expr) -> Any:
    """Return what `opt.NAME` stands for, or a literal; empty for anything else, which belongs to no option."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "opt":
        return getattr(options, node.attr)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return inspect.Parameter.empty
