"""Trials of samples that come in any order: numbered, and those told apart that stand there twice.

A sample is remembered by two hashes of 64 bits, some 140 bytes of memory (240 where epochs are given), whatever its id and
text. Two of a million samples share one with probability 3e-8.
"""

from typing import Final

_BITS: Final = 64
_MASK: Final = (1 << _BITS) - 1


class Trials:
    """Numbers the trials of what has the same key and the same content.

    >>> trials = Trials()
    >>> [
    ...     trials.next(("q1",), "a"),
    ...     trials.next(("q1",), "a"),
    ...     trials.next(("q1",), "b"),
    ...     trials.next(("q1",), "a", epoch=0),
    ... ]
    [0, 1, 'other', 'twice']
    """

    def __init__(self) -> None:
        # by the hash of a key: how often it was met, above the hash of what was asked first (0 where nothing tells)
        self._met: dict[int, int] = {}
        # hashes of key and trial, kept from the first epoch on: before, the trials are those counted
        self._taken: set[int] | None = None

    def __len__(self) -> int:
        return len(self._met)

    def next(self, key: tuple[object, ...], content: str | None, epoch: int | None = None) -> int | str:
        """Return the trial of a sample: `epoch` (from 0) where it is given, else how many came before.

        "other" says that the key was met with another content, "twice" that this trial is there already; neither is counted.
        """
        place = hash(key)
        told = 0 if content is None else (hash(content) & _MASK) or 1
        before = self._met.get(place)
        if before is None:
            n, first = 0, told
        else:
            n, first = before >> _BITS, before & _MASK
            if first != told and first and told:
                return "other"
        if epoch is not None and self._taken is None:
            self._taken = {hash((met, k)) for met, value in self._met.items() for k in range(value >> _BITS)}
        trial = n if epoch is None else epoch
        if self._taken is not None:
            size = len(self._taken)
            self._taken.add(hash((place, trial)))
            if len(self._taken) == size:
                return "twice"
        self._met[place] = ((n + 1) << _BITS) | first
        return trial
