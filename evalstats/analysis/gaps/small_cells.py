"""Cells of few people are not shown: a number about three users may be a number about somebody one knows."""

from collections.abc import Sequence
from typing import Final

from evalstats.errors import InputError

# What statistical offices ask for most often; also the default of the option `min_cell`.
MIN_CELL: Final = 10


def too_small(n: int, least: int = MIN_CELL) -> bool:
    """Whether a cell rests on so few people that its numbers are not shown.

    A cell without anybody is empty and not small: there is nobody to protect, and that a scenario is missing must be said.

    Parameters
    ----------
    n
        People (users, raters) in the cell; sessions or rows where people are not known.
    least
        The smallest number that is shown; 1 shows everything.

    Raises
    ------
    InputError
        If `least` is not 1 or more.

    Examples
    --------
    >>> too_small(9), too_small(10), too_small(0), too_small(3, least=3)
    (True, False, False, False)
    """
    if least < 1:
        message = f"min_cell is {least}; it must be 1 (everything is shown) or more, such as {MIN_CELL}"
        raise InputError(message)
    return 0 < n < least


def suppressed(n: Sequence[int], least: int = MIN_CELL, *, with_total: bool = False) -> tuple[bool, ...]:
    """Say which cells of a table are not shown.

    Parameters
    ----------
    n
        People in each cell of one table, or of one column of it.
    least
        As in `too_small`.
    with_total
        Whether the total of these cells is shown too. One cell alone could then be had by subtraction, so that the
        smallest of the others is held back with it (complementary suppression: Hundepool et al. 2012, Statistical
        Disclosure Control, ch. 4). So is one more while those held back do not make `least` together.

    Examples
    --------
    >>> suppressed([40, 3, 25]), suppressed([40, 3, 25], with_total=True)
    ((False, True, False), (False, True, True))
    >>> suppressed([2, 3, 11, 40], with_total=True)
    (True, True, True, False)
    """
    hidden = [too_small(size, least) for size in n]
    if with_total and any(hidden):
        for place in sorted(range(len(n)), key=lambda place: (n[place], place)):
            held = [size for size, is_hidden in zip(n, hidden, strict=True) if is_hidden]
            if len(held) > 1 and sum(held) >= least:
                break
            if n[place]:
                hidden[place] = True
    return tuple(hidden)


def suppression_note(n_hidden: int, n_cells: int, least: int = MIN_CELL, *, people: str = "users") -> str | None:
    """Say in a sentence how many cells are held back, and why; None where none is.

    Examples
    --------
    >>> suppression_note(1, 8)
    '1 of 8 cells is not shown since it rests on fewer than 10 users, or would give away one that does; it is in all totals'
    >>> suppression_note(0, 8) is None
    True
    """
    if not n_hidden:
        return None
    is_, rests, gives, them = (
        ("is", "it rests", "give", "it is") if n_hidden == 1 else ("are", "they rest", "give", "they are")
    )
    return (
        f"{n_hidden} of {n_cells} cells {is_} not shown since {rests} on fewer than {least} {people}, "
        f"or would {gives} away one that does; {them} in all totals"
    )
