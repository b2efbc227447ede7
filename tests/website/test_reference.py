"""The Python reference: what is public has a page, every field and option a type and a meaning, every function an example."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import evalstats
from dev.website import pages
from dev.website.reference import (
    PAGES,
    Reference,
    entries,
    explained,
    meanings,
    parsed,
    public,
    public_fields,
    shown_type,
)
from evalstats.analysis.result import Estimate, Result
from evalstats.analysis.saved import RESULTS
from evalstats.report.engine import find_page
from evalstats.report.render import STUDIES

REFERENCE = Reference(pages.front)
RECORDS = [each for shown in REFERENCE.records.values() for each in shown]
CLASSES = [public(name) for name in dir(evalstats) if dataclasses.is_dataclass(public(name))]


def functions() -> Iterator[Any]:
    for name in dir(evalstats):
        of = public(name)
        inside = [getattr(of, each) for each in of.__all__] if inspect.ismodule(of) else [of]
        yield from (pytest.param(each, id=f"{name}.{each.__name__}") for each in inside if inspect.isfunction(each))


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return REFERENCE.pages()


def test_every_public_name_has_a_page_and_no_link_leads_nowhere(made: dict[str, str]) -> None:
    assert {REFERENCE.homes[name] for name in dir(evalstats)} <= set(made)
    anchors = {path: set(re.findall(r"\{#([\w.]+)", text)) for path, text in made.items()}
    for path, text in made.items():
        up = "../" if "/" in path else ""
        for target, place in re.findall(r"\]\(([\w./-]+\.md)(?:#(\w+))?\)", text):
            if "tables.md" not in target:
                page = target.removeprefix(up)
                assert page in made, (path, target)
                assert not place or place in anchors[page], (path, target, place)


@pytest.mark.parametrize("of", [Estimate, *CLASSES, *RECORDS], ids=lambda of: of.__name__)
def test_every_field_of_what_is_public_has_a_type_and_a_meaning(of: type) -> None:
    # What a record is may explain its fields; a result lists each.
    known = meanings(of) | (dict.fromkeys(re.findall(r"`(\w+)`", parsed(of)[""]), "") if of in RECORDS else {})
    assert [field.name for field in public_fields(of) if field.name not in known] == []
    assert all(shown_type(field.type) for field in public_fields(of))
    fields = {field.name for field in dataclasses.fields(of)} | set(dir(of))
    assert {name for name, _ in entries(parsed(of).get("Attributes", ""))} - fields == set(), "no such field"


@pytest.mark.parametrize("of", list(functions()))
def test_every_function_has_an_example_and_explains_its_options(of: Any) -> None:
    said = parsed(of)
    assert ">>>" in said.get("Examples", said[""])
    assert set(inspect.signature(of).parameters) - set(explained(of)) == set() or "Parameters" not in said


def test_constructors_that_nobody_calls_are_not_shown(made: dict[str, str]) -> None:
    results = [made[REFERENCE.homes[of.__name__]] for of in CLASSES if issubclass(of, Result)]
    assert len(results) == len(RESULTS)
    assert all("**Fields**" in text and "```python\n" not in text.partition("**Fields**")[0] for text in results)


def test_a_result_shows_what_it_inherits(made: dict[str, str]) -> None:
    page = made["results/Comparison.md"]
    for name in ("`conf_low`", "`metric_kind`", "[`to_latex(", "`flips()`", "## PairedCounts {#PairedCounts}"):
        assert name in page


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_uses_the_public_api_alone(study: str) -> None:
    text = find_page(study).source.read_text(encoding="utf-8")
    lines = re.findall(r"^(?:import|from) evalstats\b.*$", text, re.MULTILINE)
    assert lines[0] == "import evalstats as es"
    (names,) = (line.removeprefix(f"from evalstats.{PAGES} import ") for line in lines[1:])
    assert set(names.split(", ")) <= set(public(PAGES).__all__)


def test_every_figure_has_a_picture(made: dict[str, str]) -> None:
    for name in evalstats.plots.__all__:
        assert made[f"more/{name}.svg"].startswith("<svg")
        assert f"]({name}.svg)" in made["more/plots.md"]
