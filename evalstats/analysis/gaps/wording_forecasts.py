"""Forecasts from the lab alone: what live users are expected to say of models that they have not met."""

from collections.abc import Sequence

from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.gap.result import Forecast, LabLiveGap
from evalstats.analysis.gaps.wording_models import units_of
from evalstats.analysis.gaps.words import ends, gap_ends, gap_text, grouped, level, ranks, score_text, share, some
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import number, plural

LINES = 20
_NAMED = 6


def forecast_blocks(found: LabLiveGap) -> list[Block]:
    """Say what live users are expected to say of models that only the lab has, and how far such forecasts held."""
    fitted = found.hierarchy
    if fitted is None:
        return []
    blocks: list[Block] = [Heading(text="Forecasts from the lab alone", level=2), Paragraph(text=_how_well(found))]
    if fitted.forecasts:
        blocks.append(forecast_table(found, fitted.forecasts))
        blocks.append(Bullets(items=tuple(_beside_forecasts(fitted.forecasts))))
    return [block for block in blocks if not isinstance(block, Bullets) or block.items]


def _how_well(found: LabLiveGap) -> str:
    fitted = found.hierarchy
    if fitted is None:
        return ""
    said: list[str] = []
    if fitted.coverage is not None:
        low, high = fitted.coverage_low, fitted.coverage_high
        held = "" if low is None or high is None else f", from {share(low)} to {share(high)}"
        missed = [each.name for each in fitted.left_out if not each.inside]
        names = f" Outside: {some(missed, _NAMED)}." if missed else ""
        said.append(
            f"Each model predicted by the others alone: {share(fitted.coverage)} fall inside a {level(found)} prediction "
            f"interval ({plural(len(fitted.left_out), 'model')}{held}).{names}"
        )
    said.append(
        f"By this model and its prior, true gaps spread by {gap_text(fitted.tau, found).lstrip('+')} "
        f"{gap_ends(fitted.tau_low, fitted.tau_high, found).replace('+', '')}; no number of lab items makes them smaller."
    )
    if fitted.sensitivity:
        told = "; ".join(f"{name} {number(ratio)} times as wide" for name, ratio in fitted.sensitivity)
        said.append(f"Prediction intervals under other priors: {told}.")
    return " ".join(said)


def forecast_table(found: LabLiveGap, forecasts: Sequence[Forecast]) -> Table:
    """One line for each model that only the lab has."""
    sign = -1.0 if found.live.higher_is_better else 1.0
    order = sorted(forecasts, key=lambda each: (each.expected is None, sign * (each.expected or 0.0)))
    shown = order[:LINES]
    more = f"; the {len(shown)} of {len(forecasts)} with the best to expect" if len(shown) < len(forecasts) else ""
    live = found.live
    columns = {
        "Model": [each.name for each in shown],
        "Lab": [score_text(each.lab, found, found.lab, unit=False) for each in shown],
        "Expected live": [score_text(each.expected, found, live, unit=False) for each in shown],
        f"{level(found)} prediction": [_prediction(each, found) for each in shown],
        "Rank": [ranks(each.rank_low, each.rank_high) for each in shown],
        "Extrapolated": ["yes" if each.extrapolated else "" for each in shown],
    }
    if not any(columns["Extrapolated"]):
        del columns["Extrapolated"]
    return table_of(
        columns,
        caption=(
            f"Models with a lab score and no live one{units_of(found)}. The prediction interval holds a new model's live score, "
            "its own gap with "
            f"it{more}"
        ),
        left=("Model", "Extrapolated"),
        wide=("Rank",),
    )


def _prediction(each: Forecast, found: LabLiveGap) -> str:
    if each.pred_low is None or each.pred_high is None:
        return "–"
    return ends(each.pred_low, each.pred_high, found, found.live)


def _beside_forecasts(forecasts: Sequence[Forecast]) -> list[str]:
    without = [(each.reason, each.name) for each in forecasts if each.reason]
    return [
        f"{'Each of ' if len(names) > 1 else ''}{some(names, _NAMED)}: {reason}."
        for reason, names in grouped((str(reason), name) for reason, name in without)
    ]
