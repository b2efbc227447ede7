"""A question is named once, and its options are declared once, in its signature."""

import ast
import inspect
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

import evalstats
from evalstats import options
from evalstats.analysis.result import Result
from evalstats.errors import InputError
from evalstats.options import offered
from evalstats.questions import QUESTIONS, signature_of
from evalstats.schema import plan

PACKAGE = Path(evalstats.__file__).parent
LISTS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_signature_is_read_as_it_is(name: str) -> None:
    read, own = (list(offered(each)) for each in (signature_of(name), inspect.signature(getattr(evalstats, name))))
    assert read == own
    # The former name of an option is refused, and told in no help.
    assert all(each.flag.help for each in own if each.name != "reference")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_public_and_gives_its_result(name: str) -> None:
    question = QUESTIONS[name]
    assert question.function() is getattr(evalstats, name)
    assert issubclass(getattr(evalstats, question.result), Result)
    assert {name, question.result} <= set(evalstats.__all__)
    assert (PACKAGE.parent / "reports" / f"{question.page}.qmd").is_file()


def test_no_second_place_lists_the_questions() -> None:
    """Neither as names nor as the modules of their functions."""
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "questions.py"}
    # Parsed are the modules that hold so many of the names at all.
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, text in texts.items()
        if sum(name in text for name in QUESTIONS) > len(QUESTIONS) / 2
        for node in ast.walk(ast.parse(text))
        if isinstance(node, LISTS) and sum(named(each) for each in ast.iter_child_nodes(node)) > len(QUESTIONS) / 2
    ]
    assert not found


def named(node: ast.AST) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and text.rpartition(".")[2] in QUESTIONS


def test_a_plan_may_declare_what_the_options_take() -> None:
    assert (get_args(options.RunsAre), get_args(options.MissingAre)) == (plan.RUNS, plan.MISSING)
    assert set(get_args(options.Adjustment)) <= set(plan.ADJUSTMENTS)
    assert {*get_args(options.GapScale), *get_args(options.InflationScale)} == {"auto", *plan.SCALES}


def test_every_option_with_words_a_level_or_a_seed_refuses_what_is_none() -> None:
    """One check of the declared type serves all questions: before any data are looked at."""
    n = 0
    for name, question in QUESTIONS.items():
        signature = signature_of(name)
        needed = {each.name: "x" for each in signature.parameters.values() if each.default is each.empty}
        for option in offered(signature):
            kind, *others = option.kinds
            wrong: list[object] = ["no such word"] if get_origin(kind) is Literal and not others else []
            wrong += {"conf_level": [95, 0.5, float("nan"), "0.9"], "seed": [-1, 1.5, "one"]}.get(option.name, [])
            for value in wrong:
                with pytest.raises(InputError, match=rf"^{option.name}=.*; (choose one of|it must lie|give a)"):
                    question.function()(**{**needed, option.name: value})
                n += 1
    assert n > 60
