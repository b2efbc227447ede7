"""Make stats.json, the reference values that tests/stats reads, from the shared folder of reference values.

Run as `EVALSTATS_SHARED=/path/to/shared python tests/golden/make_stats_golden.py`. The shared folder's own README names
the programs and versions behind each number; `source` beside each section repeats what matters.
"""

import csv
import json
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAIRED_METHODS = ("Tango score", "Bonett-Price", "t (n-1)", "boot percentile", "boot pct +1/-1 augmented")
SINGLE_METHODS = ("Wilson", "Clopper-Pearson", "Jeffreys", "boot percentile")
PAIRED_SCENARIOS = ("p0.5 eff", "p~1 eff", "p~1 null", "Tenacious-like")


def section(source: str, values: object) -> dict[str, object]:
    return {"source": source, "values": values}


def paired_tables(misc: dict, published: list) -> list[dict]:
    rows = [
        {
            "name": name,
            # Rows of the published 2x2 tables are the candidate, columns the baseline.
            "table": [case["table"][0][0], case["table"][0][1], case["table"][1][0], case["table"][1][1]],
            "conf_level": 0.95,
            **{m: [case[m]["lower"], case[m]["upper"]] for m in ("tango", "newcombe", "bonett_price")},
            "score_p": case["mcnemar"]["Pvalue"],
            "exact_p": case["mcnemar_exact"]["Pvalue"],
            "mid_p": case["mcnemar_midp"]["midP"],
        }
        for name, case in misc["paired_2x2"].items()
    ]
    rows += [
        {"name": case["src"], "table": case["table"], "conf_level": case["level"], "tango_published": case["tango"]}
        for case in published
    ]
    return rows


def paired_coverage(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return [
            {key: row[key] for key in ("scenario", "method")}
            | {key: float(row[key]) for key in ("pA", "pB", "rho", "coverage", "width")}
            | {"n": int(row["n"])}
            for row in csv.DictReader(file)
            if row["method"] in PAIRED_METHODS
            and row["scenario"] in PAIRED_SCENARIOS
            and float(row["rho"]) in {0.0, 0.5}
            and int(row["n"]) <= 100
        ]


def single_coverage(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return [
            {"n": int(row["n"]), "p": float(row["p"].removeprefix("p=")), "method": row["method"]}
            | {key: float(row[key]) for key in ("coverage", "width")}
            for row in csv.DictReader(file)
            if row["method"] in SINGLE_METHODS and row["p"].startswith("p=") and int(row["n"]) <= 300
        ]


def main() -> None:
    golden = Path(os.environ["EVALSTATS_SHARED"]) / "golden"
    misc = json.loads((golden / "r_misc.json").read_text())
    python = json.loads((golden / "py_golden.json").read_text())
    published = json.loads((golden / "paired_published_checks.json").read_text())
    tenacious = python["tenacious"]
    content = {
        "binomial": section("R 4.2.2 base, binom.test and qbeta; sets of Newcombe 1998", misc["binom"]),
        "paired_tables": section(
            "R package contingencytables (Fagerland, Lydersen & Laake 2017, chapter 8); published intervals as quoted in "
            "the tests of R package ratesci. Cells: both, only candidate, only baseline, neither",
            paired_tables(misc, published),
        ),
        "p_adjust": section(
            "R 4.2.2 p.adjust on the 25 p-values of Garcia-Arenzana et al. 2014 (as in McDonald's handbook)",
            misc["p_adjust"],
        ),
        "benjamini_hochberg_1995": section("Benjamini & Hochberg 1995, section 4.2; R p.adjust", misc["BH1995"]),
        "pass_k": section("own exact arithmetic; Chen et al. 2021 and Yao et al. 2024 formulae", python["pass_k"]),
        "power_mcnemar": section("own trinomial enumeration (scipy 1.17.1)", python["power_mcnemar"]),
        "tenacious": section(
            "ablations/held_out_traces.jsonl of github nebiyuephrata/SignalForge @7d1a806, computed with scipy 1.17.1 and "
            "R clubSandwich 0.5.8; clusters are [items, items gained by the candidate]",
            {
                "clusters": list(tenacious["clusters"].values()),
                "percentile_pp": tenacious["percentile_exact"],
                "cluster_percentile_pp": tenacious["cluster_bootstrap_exact_7dims"],
                "cr2_se": 0.21637,
                "cr2_df": 5.404,
                "design_effect": 7.87,
                "cr2_interval_pp": [-5.56, 103.2],
                "cr2_p": 0.0697,
                "cluster_sign_flip_p": tenacious["cluster_signflip_exact_p"],
            },
        ),
        "coverage_paired": section(
            "own trinomial enumeration with the exact bootstrap law; 95% intervals; pA is the baseline",
            paired_coverage(golden / "sim_paired_coverage.csv"),
        ),
        "coverage_single": section(
            "own binomial enumeration; 95% intervals", single_coverage(golden / "sim_single_coverage.csv")
        ),
    }
    (HERE / "stats.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
