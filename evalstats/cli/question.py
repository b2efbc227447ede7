"""The commands of the questions: each is made from its record and the signature of its function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.command import Showing, add_command, given_of
from evalstats.cli.gate import (
    CANNOT_ANSWER,
    FailOn,
    FailOnJUnit,
    apply_gate,
    gate_line,
    gate_values,
    told_in_junit,
    with_gate,
)
from evalstats.cli.options import OutputStyle
from evalstats.cli.reading import FORMS, Call, DataForm
from evalstats.cli.texts import Texts
from evalstats.cli.values import read_values, with_names
from evalstats.options import OF_FILES, Flag, Offered, offered
from evalstats.questions import Question, signature_of
from evalstats.record import record

if TYPE_CHECKING:
    from evalstats.analysis.result import Result
    from evalstats.cli.load import Declared
    from evalstats.schema.data import EvalData


@record
class Planned:
    """What was declared before looking."""

    plan: Annotated[
        Path | None, Flag("Declared plan; default: evalstats.toml in this folder.", metavar="FILE", section="Question")
    ] = None
    no_plan: Annotated[bool, Flag("Do not look for evalstats.toml.", section="Question")] = False

    def declared(self, *, quiet: bool) -> "Declared | None":
        """Read the plan, where there is one."""
        from evalstats.cli.load import declared_plan

        return declared_plan(self.plan, wanted=not self.no_plan, quiet=quiet)


def register(question: Question, app: typer.Typer) -> None:
    """Add a question's command: its form of data, the options of its signature, plan, gate and output."""
    signature = signature_of(question.name)
    options = list(offered(signature))
    plan = Planned if "plan" in signature.parameters else None
    gate = (FailOnJUnit if question.form == "sides" else FailOn) if question.rules else None
    texts = Texts if question.form == "sides" else None
    parts = [part for part in (FORMS[question.form], plan, gate, texts, Showing) if part is not None]
    run = partial(ask, question, options)
    help_text = "\n\n".join(filter(None, (question.asks, question.more)))
    add_command(app, question.name, run, *parts, options=options, help=help_text, gate=question.gate)


def ask(question: Question, options: Sequence[Offered], *parts: Any, typed: Mapping[str, Any]) -> None:
    """Read the data, ask, show the answer, and end with the status that it has."""
    from evalstats.cli.output import say

    form: DataForm = parts[0]
    showing: Showing = parts[-1]
    planned = next((part for part in parts if isinstance(part, Planned)), None)
    gate = next((part for part in parts if isinstance(part, FailOn)), FailOn())
    given = read_values(options, typed)
    declared = planned.declared(quiet=showing.quiet) if planned else None
    rules = gate.applied(question, declared, given)
    call = Call(
        question=question,
        given=given,
        declared=declared,
        gated=bool(rules),
        full=showing.full,
        quiet=showing.quiet,
    )
    with told_in_junit(gate.output):
        result, data = answer(call, form, options, showing)
    result = gate.departing(result, question, declared)
    reading = {
        **form.typed(call),
        **{
            each.name: typed[each.name]
            for each in options
            if typed[each.name] is not None and (each.flag.reads in OF_FILES or each.needed)
        },
    }
    texts = next((part for part in parts if isinstance(part, Texts)), Texts())
    for part in (planned, gate):
        reading |= {} if part is None else {name: value for name, value in given_of(part).items() if name != "junit"}
    result = noted(question, result, reading)
    gated = apply_gate(result, rules, gate.output)
    page = with_gate(texts.of(result, data, paths=getattr(form, "targets", ())), gated)
    failed = gated is not None and not gated.passed
    # Where the gate failed, the line on stderr names the file.
    quiet = showing.quiet or (failed and showing.output is not None)
    folder = showing.output
    if question.name == "overview" and folder is not None and (folder.is_dir() or not folder.suffix):
        from evalstats.cli.output import say, step_line
        from evalstats.report.overview import write_pages

        with step_line(quiet=quiet) as on_step:
            index = write_pages(result, folder, on_step=on_step)
        say(f"written: {index} and {len(result.answers)} pages that it links", quiet=quiet)
    else:
        # What is saved holds no texts.
        shown = with_gate(result, gated) if showing.format is OutputStyle.JSON else page
        replace(showing, quiet=quiet).present(shown, page=page, more=gate_values(gated))
    if gated is not None:
        say(gate_line(gated, showing.output if failed else None), quiet=showing.quiet and not failed)
    if not result.answered:
        raise typer.Exit(CANNOT_ANSWER)
    if gated is not None and gated.exit_status:
        raise typer.Exit(gated.exit_status)


def answer(call: Call, form: DataForm, options: Sequence[Offered], showing: Showing) -> "tuple[Result, list[EvalData]]":
    """Read the data and ask; return the answer, and what it was read from."""
    from evalstats.cli.output import step_line
    from evalstats.schema.data import EvalData

    function, parameters = call.question.function(), signature_of(call.question.name).parameters
    data = form.load(call)
    held = [each for each in data.values() if isinstance(each, EvalData)]
    arguments = {**with_names(options, call.given, held), **data}
    if "plan" in parameters:
        arguments["plan"] = call.declared.plan if call.declared else None
    with step_line(quiet=showing.quiet) as on_step:
        if call.question.step:
            on_step(call.question.step)
        if "on_step" in parameters:
            arguments["on_step"] = _counted(on_step)
        return function(**arguments), held


def _counted(on_step: Callable[[str], None]) -> Callable[..., None]:
    """Let a step say how many of how many draws are done."""

    def told(text: str, done: int = 0, total: int = 0) -> None:
        on_step(f"{text} {done:,} of {total:,}" if total else text)

    return told


def noted(question: Question, result: Any, reading: Mapping[str, Any]) -> Any:
    """Let a result, and each answer of an overview, say how the command read the data."""
    from evalstats.analysis.settings import asked_on_shell

    if question.name == "overview":
        answers = tuple(replace(each, result=asked_on_shell(each.result, reading)) for each in result.answers)
        result = replace(result, answers=answers)
    return asked_on_shell(result, reading)
