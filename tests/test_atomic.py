"""Files are written whole or not at all, and never through a link that lies in wait."""

import os
from pathlib import Path

import pytest

from evalstats.atomic import copy_whole, whole_file, write_whole
from evalstats.report.examples import example


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")

    def write_half() -> None:
        with whole_file(path) as stream:
            stream.write(b"half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_written_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    told: list[Path] = []
    with whole_file(path, on_part=told.append) as stream:
        stream.write(b"all")
        assert not path.exists()
        assert list(tmp_path.iterdir()) == told
    assert path.read_bytes() == b"all"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_have_parts_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with whole_file(path) as first, whole_file(path) as second:
        first.write(b"first")
        second.write(b"second, longer")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_in_wait_under_the_old_name_is_not_followed(tmp_path: Path) -> None:
    """Whoever shares the folder could once lay `.NAME.part` as a link to a file of ours."""
    victim, path = tmp_path / "victim", tmp_path / "shared" / "r.json"
    path.parent.mkdir()
    victim.write_text("precious")
    path.with_name(".r.json.part").symlink_to(victim)
    example("score").save(path)
    write_whole(path.with_name("b"), "text")
    copy_whole(path, path.with_name("c"))
    assert victim.read_text() == "precious"
    assert path.with_name("c").read_bytes() == path.read_bytes()


def test_a_part_that_is_there_is_no_place_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / f".a.{bytes(8).hex()}.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "a", "text")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a").exists()


def test_rights_stay_and_links_of_ones_own_are_followed(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("before")
    path.chmod(0o600)
    link.symlink_to(path)
    write_whole(link, "after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o600
    new = tmp_path / "new"
    write_whole(new, "x")
    mask = os.umask(0)
    os.umask(mask)
    assert new.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
