"""Mixes of the live world that were published: what share of real conversations is of which kind."""

from functools import cache

from evalstats.datasets.figures import rows_of
from evalstats.schema.live_mix import LiveMix, live_mix_of

__all__ = ["LiveMix", "rutbench_live_mix"]


@cache
def rutbench_live_mix() -> LiveMix:
    """Return the shares of user behaviours that RUT-Bench's authors found in surveyed real dialogues.

    The levels are those of `scenario` in RUT-Bench results ("stable" is the ideal user).

    Returns
    -------
    LiveMix
        Seven levels. The printed percentages sum to 101.2, since a dialogue may have several labels; they are divided by
        that sum, and `note` says so. `raw` holds them as printed.

    Notes
    -----
    Source: RUT-Bench, arXiv 2606.03318, figure of the taxonomy; github.com/Miaow-Lab/RUT-Bench @ d41a3fc, licence MIT. How
    many dialogues were surveyed, and where, is not printed with the figure, so the shares come without an error.

    Examples
    --------
    >>> mix = rutbench_live_mix()
    >>> mix.raw["stable"], round(mix.shares["stable"], 4), round(sum(mix.raw.values()), 2)
    (77.4, 0.7647, 101.21)
    """
    rows = rows_of("evalstats.datasets", "rutbench_live_mix.csv")
    return live_mix_of(
        {row["level"]: float(row["printed_percent"]) for row in rows},
        factor="scenario",
        source="RUT-Bench, arXiv 2606.03318, figure of the taxonomy of user behaviour",
        licence="MIT",
        note="surveyed real dialogues, several labels each",
    )
