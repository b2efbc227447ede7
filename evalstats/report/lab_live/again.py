"""Code that repeats the analysis of the page, from the files of both sides."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evalstats.report.again import Code, arguments, plan_again

SHIPPED_MIX = "rutbench"
_USUAL: dict[str, object] = {"cluster": "auto", "top": (5, 10), "n_resamples": 2000, "min_cell": 10, "seed": 0}
_SIMULATED = (
    "mix = rutbench_live_mix().shares",
    'covered = [level for level in mix if level != "information_overload"]',
    "both = simulate_lab_live(",
    '    14, gaps={"model-05": -0.18}, live_mix=mix, lab_mix=dict.fromkeys(covered, 1 / len(covered)),',
    "    behaviour_shift=-0.04, n_lab_only=3, n_items=600, n_users=700, seed=1,",
    ")",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Expressions that read the data: both sides in one, or each; all empty where they are simulated."""

    both: str = ""
    lab: str = ""
    live: str = ""


def code_again(options: Mapping[str, Any], plan: str | Path | None, reading: Reading) -> str:
    """Return lines of Python that give the same result.

    Examples
    --------
    >>> print(code_again({"seed": 0, "margin": "5pp"}, None, Reading(both='es.read("all.csv")')))
    import evalstats as es
    <BLANKLINE>
    data = es.read("all.csv")
    es.gap(data, margin='5pp')
    """
    imports, asked = _files(options)
    asked["plan"] = plan_again(plan)
    given = arguments([(name, value, _USUAL.get(name)) for name, value in asked.items()])
    simulated = not (reading.both or reading.lab)
    if simulated:
        imports |= {
            "from evalstats.datasets.tables import rutbench_live_mix",
            "from evalstats.simulate import simulate_lab_live",
        }
        data, sides = list(_SIMULATED), "both.lab, both.live"
    elif reading.both:
        data, sides = [f"data = {reading.both}"], "data"
    else:
        data, sides = [f"lab = {reading.lab}", f"live = {reading.live}"], "lab, live"
    before = ["from dataclasses import replace", "", "import polars as pl"] if any("pl.col(" in x for x in data) else []
    return "\n".join([*before, "import evalstats as es", *sorted(imports), "", *data, f"es.gap({sides}{given})"])


def _files(options: Mapping[str, Any]) -> tuple[set[str], dict[str, Any]]:
    """Return the imports that aliases and a mix of files need, and the options with the expressions that read them."""
    imports: set[str] = set()
    asked = {name: value or None if name in ("aliases", "mix") else value for name, value in options.items()}
    aliases, mix = asked.get("aliases"), asked.get("mix")
    if isinstance(aliases, str | Path):
        imports.add("from evalstats.loaders.declarations import read_aliases")
        asked["aliases"] = Code(f"read_aliases({Path(aliases).name!r})")
    if mix == SHIPPED_MIX:
        imports.add("from evalstats.datasets.tables import rutbench_live_mix")
        asked["mix"] = Code("rutbench_live_mix()")
    elif isinstance(mix, str | Path):
        imports.add("from evalstats.loaders.declarations import read_live_mix")
        asked["mix"] = Code(f"read_live_mix({Path(mix).name!r})")
    elif isinstance(mix, Mapping) and "shares" in mix:
        imports.add("from evalstats.schema.live_mix import LiveMix")
        fields = cast("Mapping[str, object]", mix)
        asked["mix"] = Code(f"LiveMix({', '.join(f'{name}={value!r}' for name, value in fields.items())})")
    return imports, asked
