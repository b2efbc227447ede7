"""The shipped figures as they stand in their files: CSV whose first lines, marked `#`, name source and licence."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_HERE = "evalstats.datasets"


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionCounts:
    """One judgment dimension of Tenacious-Bench's held-out split: how many pairs each of two critics got right."""

    dimension: str
    task_type: str
    source_mode: str
    both_right: int
    only_baseline: int
    only_trained: int
    neither: int

    def pairs(self) -> tuple[tuple[str, bool, bool], ...]:
        """Expand the counts to pairs: (made item id, baseline right, trained right).

        >>> counts = DimensionCounts(
        ...     dimension="d", task_type="t", source_mode="s", both_right=1, only_baseline=0, only_trained=1, neither=0
        ... )
        >>> counts.pairs()
        (('d-01', True, True), ('d-02', False, True))
        """
        cells = (
            (self.both_right, True, True),
            (self.only_baseline, True, False),
            (self.only_trained, False, True),
            (self.neither, False, False),
        )
        outcomes = [(baseline, trained) for count, baseline, trained in cells for _ in range(count)]
        return tuple((f"{self.dimension}-{place:02d}", *outcome) for place, outcome in enumerate(outcomes, start=1))


@cache
def tenacious_counts() -> tuple[DimensionCounts, ...]:
    """Return the counts of Tenacious-Bench's held-out split, one element a dimension."""
    return tuple(
        DimensionCounts(
            dimension=row["dimension"],
            task_type=row["task_type"],
            source_mode=row["source_mode"],
            both_right=int(row["both_right"]),
            only_baseline=int(row["only_baseline"]),
            only_trained=int(row["only_trained"]),
            neither=int(row["neither"]),
        )
        for row in rows_of(_HERE, "tenacious_held_out.csv")
    )


@cache
def tau_airline_rewards() -> tuple[tuple[int, ...], ...]:
    """Return tau-bench airline rewards of gpt-4o: 50 tasks in order of their id, 4 trials each, 1 or 0."""
    return tuple(tuple(int(digit) for digit in row["rewards"]) for row in rows_of(_HERE, "tau_airline.csv"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmRate:
    """How often one model behind one defence did harm on HarmAmp's malicious plans; `published` is in percent."""

    model: str
    defense: str
    published: float
    n_harmful: int
    n_malicious: int


@cache
def harmamp_known() -> tuple[HarmRate, ...]:
    """Return the two rates of HarmAmp that are known, from a secondary source, as counts of its malicious plans."""
    return tuple(
        HarmRate(
            model=row["model"],
            defense=row["defense"],
            published=float(row["harmfulness"]),
            n_harmful=int(row["n_harmful"]),
            n_malicious=int(row["n_malicious"]),
        )
        for row in rows_of(_HERE, "harmamp_known.csv")
    )


@cache
def device_repair_known() -> dict[str, tuple[str, ...]]:
    """Return what the abstract of the device-repair benchmark says: its size, domains, languages and criteria."""
    return {row["quantity"]: tuple(row["value"].split(";")) for row in rows_of(_HERE, "device_repair_known.csv")}


def rows_of(package: str, name: str) -> list[dict[str, str]]:
    """Read a CSV file that ships inside a package, passing over the lines that begin with `#`."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
