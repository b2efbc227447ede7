"""A mix of the live world is read from CSV and TOML, and a fault is named with its file and line."""

from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.loaders.declarations import read_live_mix


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table(tmp_path: Path) -> None:
    text = "# our app, May 2026\nlevel,share,n\nideal,75%,300\nhasty,25%,100\n"
    mix = read_live_mix(written(tmp_path, "mix.csv", text), factor="user_kind")
    assert (mix.factor, dict(mix.shares), mix.source) == (
        "user_kind", {"ideal": 0.75, "hasty": 0.25}, "our app, May 2026",
    )  # fmt: skip


def test_a_table_without_words_is_called_by_its_file(tmp_path: Path) -> None:
    assert read_live_mix(written(tmp_path, "mix.csv", "share,level\n0.5,a\n0.5,b\n")).source == "mix.csv"


def test_toml(tmp_path: Path) -> None:
    text = (
        'factor = "language"\nsource = "logs"\nlicence = "none"\nnote = "one month"\n[mix]\nen = 80\n"zh tw" = 24.0\n'
    )
    mix = read_live_mix(written(tmp_path, "mix.toml", text))
    assert (mix.factor, mix.source, mix.licence) == ("language", "logs", "none")
    assert mix.shares["zh tw"] == pytest.approx(24 / 104)
    assert mix.note.startswith("one month; the shares sum to 104%")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("mix.csv", "level,proportion\na,1\n", "has the columns level, proportion; a mix needs the columns level and share"),
        ("mix.csv", "", "has the columns none"),
        ("mix.csv", "# so\nlevel,share\na,1\nb,much\n", "line 4: the share of 'b' is 'much'"),
        ("mix.csv", "level,share\na,50\na,50\n", "line 3: names the level 'a' a second time"),
        ("mix.csv", "level,share\na,50\n", "sum to 50"),
        ("mix.csv", "level,share\na\n", "the share of 'a' is ''"),
        ("mix.toml", "a = [", "is no TOML"),
        ("mix.toml", "a = 1\n", "has the key 'a', which no mix has; there are mix, factor"),
        ("mix.toml", "factor = 'scenario'\n", "has no table"),
        ("mix.toml", "factor = 3\n[mix]\na = 1\n", "factor is 3; give it as text"),
        ("mix.toml", "[mix]\na = 'half'\n", "the share of 'a' is 'half'"),
        ("mix.toml", "[mix]\na = true\n", "the share of 'a' is True"),
    ],
)  # fmt: skip
def test_faults_name_the_file(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as fault:
        read_live_mix(path)
    assert str(fault.value).startswith(str(path))
    assert words in str(fault.value)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_live_mix(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_live_mix(tmp_path / "bytes.csv")
    (tmp_path / "large.csv").write_text("#" * (1 << 20 | 1), encoding="utf-8")
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_live_mix(tmp_path / "large.csv")
