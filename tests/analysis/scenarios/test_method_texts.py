"""Every method that mixed models and scenarios name has words."""

import ast
from pathlib import Path

import pytest

import evalstats
from evalstats.analysis.method_texts import texts_for

# Functions of scipy and numpy that take a method of their own.
_NOT_OURS = {"minimize", "minimize_scalar", "root_scalar", "linprog", "quantile", "percentile", "solve_ivp"}


def _literal(node: ast.expr) -> str | None:
    """Return the text of a string, with 7 in the place of what an f-string fills in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return None


def _names_in(folder: str) -> set[str]:
    """Every text that a module gives to a parameter or field called `method` or `covariance_method`."""
    names: set[str] = set()
    for path in (Path(evalstats.__file__).parent / folder).glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or getattr(call.func, "attr", getattr(call.func, "id", "")) in _NOT_OURS:
                continue
            for word in call.keywords:
                if word.arg in ("method", "covariance_method"):
                    value = word.value
                    choices = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    names.update(text for each in choices if (text := _literal(each)))
    return names - {"auto", "none"}


@pytest.mark.parametrize("folder", ["stats/mixed", "analysis/mixed", "analysis/scenarios"])
def test_every_method_that_the_code_names_has_words(folder: str) -> None:
    names = _names_in(folder)
    if folder == "stats/mixed":
        assert len(names) >= 5  # so that this cannot pass on nothing
    assert not {name for name in names if not texts_for(name)}


def test_a_fit_and_its_criterion_are_told_apart() -> None:
    whats = [text.what for text in texts_for("binomial mixed model (Laplace)")]
    assert len(whats) == 2
    assert whats[0].startswith("log-odds of success")
    assert texts_for("CR2 covariance of 234 clusters") != texts_for("CR2")
    assert len(texts_for("CR2 covariance of 234 clusters")) == 1
