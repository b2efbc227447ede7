"""Hand-made agreement of lab and live scores for `example_gap`: coefficients are computed, intervals are about right."""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np

from evalstats.analysis.gap.result import (
    Agreement,
    CoefficientRow,
    Contradiction,
    GapRow,
    PairOrder,
    PartRow,
    SliceRow,
    SourceInterval,
)
from evalstats.analysis.result import Estimate

_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.975)


def agreement(rows: Sequence[GapRow], *, top: Sequence[int]) -> Agreement:
    lab, live = np.array([row.lab for row in rows]), np.array([row.live for row in rows])
    known, n = rows[0].lab_std_error is not None, len(rows)
    parts = [_part("all", "all", rows, known=known)]
    parts.extend(_part("top", f"live top {k}", rows[:k], known=known, over=(k, rows)) for k in top if 2 < k < n)
    if n > 20:
        for name, low, high in (("upper", 0, n // 3), ("middle", n // 3, 2 * n // 3), ("lower", 2 * n // 3, n)):
            parts.append(_part("tier", f"{name} third", rows[low:high], known=known))
    return Agreement(
        n_models=n,
        coefficients=tuple(_coefficient(name, lab, live, known) for name in ("pearson", "spearman", "kendall")),
        parts=tuple(parts),
        pairs=_pairs(rows, known),
        slices=tuple(
            SliceRow(
                factor="scenario",
                level=level,
                cut="lab",
                n_models=n,
                spearman=value,
                conf_low=value - 0.2,
                conf_high=min(0.99, value + 0.1),
                ceiling=0.95,
            )
            for level, value in (("", 0.80), ("ideal", 0.55), ("goal switching", 0.83))
        )
        if known and n == 12
        else (),
    )


def _rank_correlation(lab: np.ndarray, live: np.ndarray) -> float:
    return float(np.corrcoef(lab.argsort().argsort(), live.argsort().argsort())[0, 1])


def _kendall(lab: np.ndarray, live: np.ndarray) -> float:
    signs = [math.copysign(1.0, (lab[i] - lab[j]) * (live[i] - live[j])) for i, j in combinations(range(lab.size), 2)]
    return float(np.mean(signs))


def _coefficient(name: str, lab: np.ndarray, live: np.ndarray, known: bool) -> CoefficientRow:
    value = {
        "pearson": float(np.corrcoef(lab, live)[0, 1]),
        "spearman": _rank_correlation(lab, live),
        "kendall": _kendall(lab, live),
    }[name]
    n = lab.size

    def around(half: float) -> dict[str, float]:
        z = math.atanh(min(value, 0.995))
        return {"conf_low": math.tanh(z - half), "conf_high": math.tanh(z + half)}

    reason = "there are no standard errors"
    few = f"{n} models are too few to stand for others like them" if n < 10 else None
    wide = _Z / math.sqrt(max(1, n - 3))
    own = [
        SourceInterval(source=source, method="parametric draws", **around(half))
        if known
        else SourceInterval(source=source, reason=reason)
        for source, half in (("items", 0.10), ("votes", 0.12), ("items and votes", 0.16))
    ]
    others = [
        SourceInterval(source=source, reason=few)
        if few
        else SourceInterval(source=source, method="bootstrap", **around(half))
        for source, half in (("models", wide), ("all", math.hypot(wide, 0.16)))
    ]
    if not known:
        others[1] = SourceInterval(source="all", reason=few or reason)
    ceiling = {"pearson": 0.97, "spearman": 0.95, "kendall": 0.84}[name]
    return CoefficientRow(
        name=name,
        estimate=value,
        intervals=(*own, *others),
        p_value=max(2e-4, 2 * _NORMAL.cdf(-math.atanh(min(0.999, abs(value))) * math.sqrt(n - 3 or 1))),
        p_method="exact permutations" if n < 10 else "10,000 random permutations",
        **({"ceiling": ceiling, "ceiling_low": ceiling - 0.05, "ceiling_high": ceiling + 0.02} if known else {}),
        **(
            {
                "disattenuated": value / ceiling,
                "disattenuated_low": value / ceiling - 0.12,
                "disattenuated_high": value / ceiling + 0.08,
            }
            if known and name == "pearson"
            else {}
        ),
    )


def _part(
    kind: str, label: str, rows: Sequence[GapRow], *, known: bool, over: tuple[int, Sequence[GapRow]] | None = None
) -> PartRow:
    lab, live = np.array([row.lab for row in rows]), np.array([row.live for row in rows])
    value = _rank_correlation(lab, live)
    z = math.atanh(max(-0.99, min(0.99, value)))
    shared = None
    if over:
        k, every = over
        best = {row.name for row in sorted(every, key=lambda row: -row.lab)[:k]}
        shared = sum(row.name in best for row in rows)
    return PartRow(
        kind=kind,
        label=label,
        n_models=len(rows),
        pearson=float(np.corrcoef(lab, live)[0, 1]),
        spearman=value,  # pyright: ignore[reportArgumentType]
        kendall=_kendall(lab, live),
        conf_low=math.tanh(z - 0.3) if known else None,
        conf_high=math.tanh(z + 0.3) if known else None,
        n_shared=shared,
        n_shared_by_chance=over[0] ** 2 / len(over[1]) if over else None,
        models=tuple(row.name for row in rows),
    )


def _pairs(rows: Sequence[GapRow], known: bool) -> PairOrder:
    """All pairs, separated where the difference is beyond a Bonferroni bound."""
    pairs = list(combinations(range(len(rows)), 2))
    same = [(rows[i].lab - rows[j].lab) * (rows[i].live - rows[j].live) > 0 for i, j in pairs]
    agreement = float(np.mean(same))
    if not known:
        return PairOrder(
            n_pairs=len(pairs),
            agreement=agreement,
            agreement_low=agreement - 0.08,
            agreement_high=agreement + 0.06,
            reason="without standard errors no pair can be separated",
        )
    ps = [
        [min(1.0, len(pairs) * 2 * _NORMAL.cdf(-abs(a - b) / (error * math.sqrt(2)))) for a, b in both]
        for both, error in (
            ([(rows[i].lab, rows[j].lab) for i, j in pairs], rows[0].lab_std_error or 1.0),
            ([(rows[i].live, rows[j].live) for i, j in pairs], rows[0].live_std_error or 1.0),
        )
    ]
    lab_apart, live_apart = ([p <= 0.05 for p in side] for side in ps)
    found = [
        Contradiction(
            better_live=rows[i].name,
            better_lab=rows[j].name,
            lab_difference=rows[i].lab - rows[j].lab,
            lab_p_adjusted=ps[0][k],
            live_difference=rows[i].live - rows[j].live,
            live_p_adjusted=ps[1][k],
        )
        for k, (i, j) in enumerate(pairs)
        if lab_apart[k] and live_apart[k] and not same[k]
    ]
    both = sum(a and b for a, b in zip(lab_apart, live_apart, strict=True))
    confident = (both - 2 * len(found)) / len(pairs)
    return PairOrder(
        n_pairs=len(pairs),
        agreement=agreement,
        agreement_low=agreement - 0.06,
        agreement_high=min(1.0, agreement + 0.05),
        n_separated_lab=sum(lab_apart),
        n_separated_live=sum(live_apart),
        n_separated_both=both,
        n_same=both - len(found),
        n_contradicted=len(found),
        separability_lab=sum(lab_apart) / len(pairs),
        separability_live=sum(live_apart) / len(pairs),
        confidence_agreement=confident,
        confidence_low=confident - 0.08,
        confidence_high=confident + 0.07,
        contradictions=tuple(found),
        brier=Estimate(estimate=0.11, conf_low=0.06, conf_high=0.17),
    )
