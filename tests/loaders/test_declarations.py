"""Files in which a user declares aliases of models, or the mix of the live world."""

import gzip
from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.loaders.declarations import read_aliases, read_live_mix

EXPECTED = {"openai/gpt-x": "gpt-x", "Model, B": "b"}


def write(folder: Path, text: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", '[aliases]\n"openai/gpt-x" = "gpt-x"\n"Model, B" = "b"\n'),
        ("a.toml", '"openai/gpt-x" = "gpt-x"\n"Model, B" = "b"\n'),
        ("evalstats.toml", '[plan]\nconf_level = 0.9\n[aliases]\n"openai/gpt-x" = "gpt-x"\n"Model, B" = "b"\n'),
        ("a.csv", 'model,alias\nopenai/gpt-x,gpt-x\n"Model, B",b\n'),
        ("a.csv", 'Lab,Live\nopenai/gpt-x, gpt-x\n\n"Model, B",b\n'),
        ("a.csv", 'openai/gpt-x,gpt-x\n"Model, B",b\n'),
        ("a.csv", "\ufefffrom;to\nopenai/gpt-x;gpt-x\nModel, B;b\nModel, B;b\n"),
        ("a.tsv", "openai/gpt-x\tgpt-x\nModel, B\tb\n"),
        ("names", "openai/gpt-x\tgpt-x\nModel, B\tb\n"),
        ("a.json", '{"openai/gpt-x": "gpt-x", "Model, B": "b"}'),
        ("a.json", '{"aliases": {"openai/gpt-x": "gpt-x", "Model, B": "b"}}'),
    ],
)
def test_every_form_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert read_aliases(write(tmp_path, text, name)) == EXPECTED


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    assert read_aliases(write(tmp_path, gzip.compress(b"a,b\n"), "a.csv.gz")) == {"a": "b"}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.toml", '[aliases]\na = "b"\na = "c"\n', "is not TOML"),
        ("a.toml", "[aliases]\na = 1\n", "a must be the name that the model shall have, in quotes; found the number 1"),
        ("a.toml", 'a.b = "c"\n', 'a name with a dot in it is written in quotes, "a.b"'),
        ("a.toml", 'a = "b"\n[aliases]\nc = "d"\n', "'a' is outside [aliases]"),
        ("a.toml", "[aliases]\n", "holds no aliases"),
        ("a.toml", b"a = '\xff'\n", "is not UTF-8 text"),
        ("a.csv", "a,b\na,c\n", "'a' has two aliases, 'b' and 'c'"),
        ("a.csv", "a,b\nb,c\n", "which has an alias itself ('c'); name the last one"),
        ("a.csv", "a,b,c\n", "has 3 columns; two were expected"),
        ("a.csv", "model,alias\na,b,c\n", "line 2 has 3 cells"),
        ("a.csv", "model,alias\n,b\n", "a line has no name in its first column"),
        ("a.csv", "a,\n", "a is empty"),
        ("a.csv", "model,alias\n", "holds no aliases"),
        ("a.csv", b"a,\xff\n", "is not UTF-8 text"),
        ("a.csv", "just a word\n", "is no file of aliases"),
        ("a.csv", "", "is empty"),
        ("a.json", '{"a": "b", "a": "c"}', "'a' has two aliases"),
        ("a.json", '{"a": {"b": "c"}}', "found a table"),
        ("a.json", '{"a": null}', "'a' has null for its alias"),
        ("a.json", '{"a": "b"', "is not one JSON object"),
        ("a.json", '{"a": "b"}\n{"c": "d"}', "is not one JSON object"),
        ("a.json", '{"a":' * 180_000, "is nested too deeply"),
        ("a.json", '[["a", "b"]]', "is no file of aliases"),
        ("a.json", b'{"a": "\xff"}', "is not UTF-8 text"),
        ("a.csv", b"PK\x03\x04rest", "is no file of aliases"),
        ("a.csv", "a,b\n" * 300_000, "is longer than 1 MiB"),
        ("a.csv", gzip.compress(b"a,b\n" * 300_000), "is longer than 1 MiB"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str | bytes, told: str) -> None:
    path = write(tmp_path, text, name)
    with pytest.raises(InputError) as caught:
        read_aliases(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError, match="cannot be opened"):
            read_aliases(path)


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
        ("mix.toml", "a = [", "is not TOML"),
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
    with pytest.raises(InputError, match="cannot be opened"):
        read_live_mix(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xfa\xfe")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_live_mix(tmp_path / "bytes.csv")
    (tmp_path / "large.csv").write_text("#" * (1 << 20 | 1), encoding="utf-8")
    with pytest.raises(InputError, match="longer than 1 MiB"):
        read_live_mix(tmp_path / "large.csv")
