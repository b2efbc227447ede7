"""The key of pseudonyms: made once, read by its owner, never shown."""

import os
import stat
from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.store.key_file import is_open_to_others, key_from_text, new_key, read_or_make_key

KEY = bytes(range(32))


def test_a_key_is_made_once_and_read_again(tmp_path: Path) -> None:
    first, made = read_or_make_key(tmp_path / "key")
    again, made_again = read_or_make_key(tmp_path / "key")
    assert (made, made_again) == (True, False)
    assert first == again
    assert len(first) == 32


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        read_or_make_key(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert not is_open_to_others(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    assert is_open_to_others(tmp_path / "key")


def test_no_two_keys_are_the_same() -> None:
    assert len({new_key() for _ in range(100)}) == 100


def test_a_link_to_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot be read"):
        read_or_make_key(tmp_path / "key")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("text", ["", "hunter2", "00" * 31, "00" * 33, "zz" * 32, "00" * 600])
def test_what_is_no_key_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(InputError, match="is no key; 64 hexadecimal digits are expected") as caught:
        read_or_make_key(tmp_path / "key")
    assert not text or text not in str(caught.value)


def test_spaces_around_a_key_do_not_matter() -> None:
    assert key_from_text(f"  {KEY.hex().upper()}\r\n", "x") == KEY
