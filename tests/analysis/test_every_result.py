"""What holds for a result of any kind: saved it is the same again, and names from files stay text in every form.

Where one bit of it is not what it was, it is refused in words, or read as a result; never a traceback.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError, validators
from markdown_it import MarkdownIt

import evalstats as es
from evalstats.analysis.brief import MOST_BYTES
from evalstats.analysis.saved import RESULTS
from evalstats.analysis.schemas import brief_schema, result_schema
from evalstats.cli.options import OutputStyle
from evalstats.cli.output import json_text, written
from evalstats.document.comment import MOST_WORDS, to_comment
from evalstats.document.escape import one_line
from evalstats.document.terminal import to_text
from evalstats.errors import EvalStatsError, InputError
from tests.document.pdflatex import compiled
from tests.frozen.cases import CASES
from tests.report import hostile_results

# One small result of every kind; those of hostile names are escaped where they are saved.
MADE: dict[str, Callable[[], Any]] = {
    **CASES,
    **{f"hostile {kind}": make for kind, make in hostile_results.RESULTS.items()},
    "hostile metrics": hostile_results.several_metrics,
}
HOSTILE = tuple(name for name in MADE if name.startswith("hostile"))
COMMENT_TAGS = {
    *("p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre", "code"),
}
FEW = (
    "comparison_trials_clusters", "comparisons_by_three_metrics", "score_clusters", "leaderboard_published", "mixed_binomial",
    "means_of_mixed", "contamination_twins", "frontier_of_cost", "items_of_few_models", "power_from_a_pilot", "gap_of_four",
    "reliability_of_scaffolds",
    "scenarios_graded", "arena_covariates", "hostile audit", "hostile judges", "hostile changes", "hostile overview",
    "scores_by_macro_average", "posterior_of_clusters", "posterior_of_ranks", "leaderboards_by_two_metrics",
)  # fmt: skip


@cache
def results(name: str) -> tuple[Any, ...]:
    found = MADE[name]()
    return found if isinstance(found, tuple) else (found,)


@cache
def saved(name: str) -> bytes:
    return json_text(results(name)[0].to_dict()).encode()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_saved_result_is_the_same_again(name: str, tmp_path: Path) -> None:
    """Results of other names are in `frozen/test_frozen`, where they are computed anyway."""
    for result in results(name):
        result.save(tmp_path / "r.json")
        assert es.load_result(tmp_path / "r.json") == result


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    for result in results(name):
        html, markdown = result.to_html(), result.to_markdown()
        assert not re.search(r"<(script|img|svg|b|i)[ >]", html)
        # Within code names are what they are.
        before_code = re.sub(r"(`+).*?\1", "", markdown, flags=re.DOTALL)
        assert not re.search(r"(?<!\\)<(script|img)", before_code)
        assert "\n# heading" not in markdown
        assert not re.search(r"(?<!\\)\$x", result.to_latex())
        text = to_text(result.document(), full=True)
        assert "\x1b" not in text
        assert not re.search(r"^\s*::", text, re.MULTILINE)


def any_of(validator: Any, kinds: list[Any], instance: Any, whole: Any) -> Iterator[ValidationError]:
    """Leave each kind at the first thing that is wrong with it; jsonschema lists everything that is."""
    if not any(validator.evolve(schema=kind).is_valid(instance) for kind in kinds):
        yield from Draft202012Validator.VALIDATORS["anyOf"](validator, kinds, instance, whole)


@cache
def schema(form: str) -> Any:
    made = {"brief": brief_schema, "result": result_schema}[form]()
    Draft202012Validator.check_schema(made)
    return validators.extend(Draft202012Validator, {"anyOf": any_of})(made)


@pytest.mark.parametrize("name", MADE)
def test_its_json_is_as_the_schemas_say(name: str) -> None:
    for result in results(name):
        schema("result").validate(json.loads(json_text(result.to_dict())))
        brief = result.brief()
        schema("brief").validate(brief)
        assert len(json_text(brief, indent=None).encode()) <= MOST_BYTES
        document = result.document()
        assert brief["tone"] == document.tone
        assert brief["headline"] == one_line(document.headline) or "…" in brief["headline"]
        assert ("estimate" in brief) == (document.interval is not None)


@pytest.mark.parametrize("name", MADE)
def test_its_comment_is_short_and_has_one_table(name: str) -> None:
    for result in results(name):
        comment = to_comment(result.document())
        shown, _, folded = comment.partition("<details>")
        assert shown.startswith("<!-- evalstats: ")
        words = re.sub(r"\(<[^>]*>\)|<!--.*?-->", "", shown).replace("|", " ").split()
        assert len([word for word in words if re.search(r"\w", word)]) <= MOST_WORDS
        assert len(re.findall(r"^\|(?: :?-+:? \|)+$", shown, re.MULTILINE)) <= 1
        assert len(comment) < 16_000
        assert folded
        tags = set(re.findall(r"<(/?\w+)", MarkdownIt("commonmark", {"html": True}).enable("table").render(comment)))
        assert {tag.strip("/") for tag in tags} <= COMMENT_TAGS


@pytest.mark.parametrize(
    "names",
    [pytest.param((*HOSTILE, *FEW), id="few"), pytest.param(tuple(MADE), id="all", marks=pytest.mark.slow)],
)
def test_pdflatex_sets_every_table_of_every_result(names: tuple[str, ...]) -> None:
    """Beside it, whether pdflatex is here or not: their LaTeX is ASCII, and a table's own is what it needs alone."""
    parts: list[str] = []
    for name in dict.fromkeys(names):
        for result in results(name):
            tables = [result.to_latex(table, label=f"tab:{table}", caption="One") for table in result.document().tables]
            parts += [result.to_latex(), *tables]
    for part in parts:
        assert part.isascii()
        assert ("\\evalstatschar{" in part) == ("\\providecommand" in part)
    compiled("\n\n\\clearpage\n".join(parts))


def test_what_the_command_line_writes_beside_a_result_is_no_fault(tmp_path: Path) -> None:
    (result,) = results("score_clusters")
    (tmp_path / "r.json").write_text(
        written(result, style=OutputStyle.JSON, explain=True, more={"gate": {"passed": True}})
    )
    assert es.load_result(tmp_path / "r.json") == result


def show(path: Path) -> bool:
    """Load and show as `evalstats show` does; whether it is a result."""
    try:
        result = es.load_result(path)
        for text in (written(result, full=True), written(result, quiet=True), result.to_markdown(), result.to_html()):
            text.encode()
    except EvalStatsError:
        return False
    return True


def flipped(raw: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[place % len(raw)] ^= 1 << bit
    return bytes(changed)


@pytest.mark.parametrize(
    ("name", "bits"),
    [*((name, 8) for name in FEW), *(pytest.param(name, 100, marks=pytest.mark.slow) for name in MADE)],
)
def test_a_bit_that_is_not_what_it_was_gives_no_traceback(name: str, bits: int, tmp_path: Path) -> None:
    raw, path = saved(name), tmp_path / "r.json"
    path.write_bytes(raw)
    assert show(path), "the file as it was saved is a result"

    @settings(
        max_examples=bits,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(place=st.integers(0, len(raw) - 1), bit=st.integers(0, 7))
    @example(place=0, bit=0)
    def damage(place: int, bit: int) -> None:
        path.write_bytes(flipped(raw, place, bit))
        show(path)

    damage()


def test_every_kind_of_result_is_among_them() -> None:
    kinds = {json.loads(saved(name))["result"] for name in FEW}
    assert kinds >= set(RESULTS) - {"Scores", "Score", "MixedModel", "Means"}
    assert kinds >= {"Score", "MixedModel", "Means"}


# Bits that once gave a traceback, found by this search.
@pytest.mark.parametrize(
    ("name", "was", "became"),
    [
        ("comparison_trials_clusters", b'"quantity": "cost_usd per success"', b'"quantity": "cost_usd per succass"'),
        ("mixed_binomial", b'"method": "Laplace"', b'"method": "Lap|ace"'),
        ("mixed_gaussian", b'"std_dev"', b'"st`_dev"'),
        ("gap_of_four", b'"kind": "outcomes"', b'"kind": "outkomes"'),
        ("contamination_twins", b'"method": "paired twins', b'"method": "paired tvins'),
        ("posterior_of_ranks", b'"prior": "sceptical"', b'"prior": "sceptikal"'),
    ],
)
def test_a_value_that_no_result_has_is_refused_in_words(name: str, was: bytes, became: bytes, tmp_path: Path) -> None:
    raw, path = saved(name), tmp_path / "r.json"
    assert was in raw
    path.write_bytes(raw.replace(was, became))
    with pytest.raises(InputError, match="damaged or edited; compute it again"):
        es.load_result(path)


def test_half_a_letter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(saved("score_clusters").replace(b'"name": "alpha"', b'"name": "\\udeff"'))
    with pytest.raises(InputError, match="not a saved result"):
        es.load_result(path)


@pytest.mark.parametrize(
    ("name", "field"), [("comparison_trials_clusters", "p_value"), ("leaderboard_published", "rank_low")]
)
def test_a_field_whose_name_is_not_known_is_refused_by_name(name: str, field: str, tmp_path: Path) -> None:
    """An optional field under another name would else count as one that there is not."""
    path = tmp_path / "r.json"
    path.write_bytes(saved(name).replace(f'"{field}"'.encode(), f'"{field}z"'.encode()))
    with pytest.raises(InputError, match=rf"holds '[\w.\[\]]*{field}z'.*, which no \w+ has"):
        es.load_result(path)
