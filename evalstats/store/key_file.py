"""The secret key of pseudonyms: in a file of its own, which only its owner can read. It never goes into a store."""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from evalstats.errors import InputError
from evalstats.regular import open_regular
from evalstats.schema.pseudonyms import KEY_BYTES

_FORM: Final = f"{2 * KEY_BYTES} hexadecimal digits"
_MAX_BYTES: Final = 1 << 10


def new_key() -> bytes:
    """Return a key that nobody has had before."""
    return secrets.token_bytes(KEY_BYTES)


def key_from_text(text: str, where: str) -> bytes:
    r"""Read a key as it is written: 64 hexadecimal digits.

    A phrase is no key: it can be guessed, and with it every pseudonym tested.
    """
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(
            f"{where}: is no key; {_FORM} are expected. `evalstats ingest` makes one where the file is not there"
        )
    return key


def read_or_make_key(path: str | Path) -> tuple[bytes, bool]:
    """Return the key of a file, and whether it was made just now: then the file can be read by its owner alone."""
    path = Path(path)
    try:
        # O_EXCL follows no link, and of two processes lets one make the file.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path), False
    except OSError as error:
        raise InputError(f"{path}: the key's file cannot be made ({error.strerror or error})") from error
    key = new_key()
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(f"{key.hex()}\n")
        stream.flush()
        os.fsync(stream.fileno())
    return key, True


def is_open_to_others(path: str | Path) -> bool:
    """Whether others than the owner can read a key's file; False where the system has no such rights."""
    return os.name == "posix" and bool(stat.S_IMODE(Path(path).stat().st_mode) & 0o077)


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as stream:
            data = stream.read(_MAX_BYTES)
    except OSError as error:
        raise InputError(f"{path}: the key's file cannot be read ({error.strerror or error})") from error
    return key_from_text(data.decode("ascii", "replace"), str(path))
