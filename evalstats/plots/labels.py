"""Labels beside a figure that would cover each other: moved apart, as little as possible."""

from collections.abc import Sequence

from evalstats.document.escape import one_line


def spread(levels: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move levels apart until none is nearer than `gap` to the next, as little as possible, within `low` and `high`.

    The least sum of squared moves: blocks of neighbours that touch stand around their mean.

    Parameters
    ----------
    levels
        In ascending order.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], 1.0, 0.0, 10.0)
    [0.5, 1.5, 5.0]
    >>> spread([0.0, 0.1], 1.0, 0.0, 10.0)
    [0.0, 1.0]
    """
    # Without their share of the gaps, the levels need only ascend: isotonic regression by pooling neighbours.
    blocks: list[tuple[float, int]] = []
    for place, level in enumerate(levels):
        block = (level - place * gap, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, n = blocks.pop()
            block = ((mean * n + block[0] * block[1]) / (n + block[1]), n + block[1])
        blocks.append(block)
    flat = [mean for mean, n in blocks for _ in range(n)]
    room = high - gap * (len(levels) - 1)
    return [min(max(level, low), max(room, low)) + place * gap for place, level in enumerate(flat)]


EM = 0.56  # width of a letter, as a share of the text size, that few lines of text exceed


def shortened(text: str, most: int) -> str:
    """Return at most `most` letters of one line of text."""
    line = one_line(text).strip()
    return line if len(line) <= most else line[: max(most - 1, 1)].rstrip() + "…"
