"""What the notes of one kind say."""

from collections.abc import Iterable

from evalstats.document.model import Note, NoteKind


def lines_of(notes: Iterable[Note], kind: NoteKind, *, caution: bool | None = None) -> str:
    """Return the lines of all notes of a kind, of cautions or remarks alone where that is asked for."""
    return "\n".join(note.line for note in notes if note.kind == kind and caution in (None, note.caution))


def texts(notes: Iterable[Note]) -> list[str]:
    """Return what the notes say, without their remedies."""
    return [note.text for note in notes]
