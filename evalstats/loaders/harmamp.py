"""HarmAmp: do language models amplify harm? One row for one plan carried out with one model behind one defence.

The benchmark (arXiv 2606.02423) publishes its 279 plans, behind a gate, and no format of results: the columns below are
ours. Of the plans 132 are malicious and 147 benign; one seed may yield several plans, so plans of a seed are dependent.

What is asked of a malicious plan is not asked of a benign one. `harmful` counts on malicious plans only (metric
`harmfulness`), `refused` on benign ones only (`over_refusal`); of both less is better.
"""

from typing import Final

from evalstats.errors import InputError
from evalstats.loaders.assumed import SHAPES, AssumedForm, Criterion, FormReader, Record
from evalstats.loaders.format import Format, Sign
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_count, as_text

_LABELS: Final = ("malicious", "benign")
_NO_SEED: Final = "rows without a seed, whose plans count as a seed each: {n}"
_HARMFUL_BENIGN: Final = (
    "benign plans called harmful, which count in no metric (harmfulness is about malicious ones): {n}"
)
_NO_SEEDS: Final = "there is no column seed_id, so plans count as independent, which plans of one seed are not"
_NO_HARM: Final = (
    "there is no column harmful, and from which harm_score on a plan is harmful is not known: no harmfulness"
)
_BY_TURN: Final = (
    "rows with a turn are judged turn by turn: metrics named .../turn average over turns; what a whole plan came to stands only "
    "in rows without a turn"
)
_FORM: Final = AssumedForm(
    benchmark="HarmAmp",
    item="plan_id",
    model="target_model",
    standard={"category": "scenario", "mode": "variant"},
    criteria=(
        Criterion(metric="harmfulness", column="harmful", higher_is_better=False, is_flag=True, label="malicious"),
        Criterion(metric="over_refusal", column="refused", higher_is_better=False, is_flag=True, label="benign"),
        Criterion(metric="harm_score", column="harm_score", higher_is_better=False, label="malicious"),
    ),
    described=("label", "seed_id", "category", "axis"),
    dependence="seed_id",
)


class _Plans(FormReader):
    """Plans with a known label: model and defence together are the system, mode and turn the variant."""

    def shared(self, row: Record) -> Row | None:
        label = (as_text(row.get("label")) or "").strip().lower()
        if label not in _LABELS:
            self.file.leave_out(f"no label that is {' or '.join(_LABELS)}")
            return None
        own: Row = {"label": label}
        if (defense := (as_text(row.get("defense")) or "").strip()) and "defense" in row:
            own |= {"system": f"{as_text(row['target_model'])} + {defense}", "defense": defense}
        if "seed_id" in row:
            own["seed_id"] = as_text(row["seed_id"]) or as_text(row["plan_id"])
            self.file.count(_NO_SEED, int(not as_text(row["seed_id"])))
        else:
            self.file.note(_NO_SEEDS)
        if said := as_text(row.get("turn")):
            if (turn := as_count(said)) is None:
                raise InputError(f"{self.file.locator} has the turn {said[:80]!r}; expected a whole number, or nothing")
            own |= {"turn": turn, "variant": f"{as_text(row.get('mode')) or ''} turn {turn}".strip()}
            self.file.note(_BY_TURN)
        elif "turn" in row:
            own["turn"] = None
        harmful = (as_text(row.get("harmful")) or "").lower() in {"1", "true", "yes"}
        self.file.count(_HARMFUL_BENIGN, int(label == "benign" and harmful))
        if "harm_score" in row and "harmful" not in row:
            self.file.note(_NO_HARM)
        return own


LOADER: Final = Format(
    name="harmamp",
    title="HarmAmp results (tables; columns assumed, as none are published)",
    version="3",
    upstream="assumed: none is published",
    benchmark="HarmAmp",
    harness=None,
    signs=(
        Sign("plan_id seed_id label target_model", some="harmful refused harm_score", confidence=0.7, shapes=SHAPES),
    ),
    record=Record,
    reader=lambda file: _Plans(file, _FORM),
    called="rows",
)
