"""Which key `evalstats ingest --anonymize` uses, and what the user must know of it. The key itself is never shown."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evalstats.document.width import wrapped
from evalstats.errors import InputError
from evalstats.store.key_file import is_open_to_others, key_from_text, new_key, read_or_make_key

ENVIRONMENT: Final = "EVALSTATS_ANONYMIZE_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenKey:
    """A key (None: nothing is anonymised) and notes on it."""

    key: bytes | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def lines(self, width: int = 80) -> list[str]:
        """Return the notes for a terminal."""
        return [line for note in self.notes for line in wrapped(f"note: {note}", width)]


def chosen_key(*, anonymize: bool, key_file: Path | None, keep: Sequence[str], store: Path) -> ChosenKey:
    """Choose the key: of a file, else of the environment, else one for this ingest alone.

    Raises
    ------
    InputError
        If options are given that need --anonymize, or the key cannot be used.
    """
    if not anonymize:
        given = "--key-file" if key_file is not None else "--keep" if keep else ""
        if given:
            message = f"{given} goes with --anonymize; give both or neither"
            raise InputError(message)
        return ChosenKey()
    if key_file is not None:
        return _of_file(key_file, store)
    text = os.environ.get(ENVIRONMENT)
    if text:
        return ChosenKey(key=key_from_text(text, ENVIRONMENT))
    note = (
        "the pseudonyms were made with a key for this ingest alone, which is gone now: the same user of another ingest "
        f"cannot be linked to them; --key-file FILE or {ENVIRONMENT} keeps a key"
    )
    return ChosenKey(key=new_key(), notes=(note,))


def _of_file(path: Path, store: Path) -> ChosenKey:
    if path.resolve().is_relative_to(store.resolve()):
        message = f"{path}: the key must not lie in the store, which it would open; choose a place outside of {store}"
        raise InputError(message)
    key, made = read_or_make_key(path)
    notes: list[str] = []
    if made:
        notes.append(
            f"a new key was written to {path}; keep it secret and safe: without it later files cannot be linked, and with it "
            "pseudonyms can be tested"
        )
    elif is_open_to_others(path):
        notes.append(f"the key in {path} can be read by others on this machine; chmod 600 {path}")
    return ChosenKey(key=key, notes=tuple(notes))
