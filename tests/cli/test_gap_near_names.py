"""Names that look alike become a file of aliases that somebody has to check."""

from pathlib import Path

from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.loaders.declarations import read_aliases


def table(path: Path, names: list[str], column: str) -> Path:
    rows = [f'"{name}",{10 + j},1' for j, name in enumerate(names)]
    path.write_text("\n".join([f"model,{column},std_error", *rows]) + "\n", encoding="utf-8")
    return path


def test_spelling_is_joined_and_more_is_left_to_the_reader(tmp_path: Path) -> None:
    shared = [f"model {letter}" for letter in "abcdefgh"]
    lab = table(tmp_path / "bench.csv", [*shared, "Claude-2.1", "gpt-4-0314"], "score")
    live = table(tmp_path / "arena.csv", [*shared, "claude-2.1", "gpt-4-0613"], "rating")
    near = tmp_path / "near.toml"
    sides = ["--lab", str(lab), "--live", str(live)]
    done = CliRunner().invoke(app, ["gap", *sides, "--near-names", str(near), "--resamples", "100"])
    assert done.exit_code == 0, done.output
    assert read_aliases(near) == {"Claude-2.1": "claude-2.1"}
    assert '# "gpt-4-0314" = "gpt-4-0613"' in near.read_text(encoding="utf-8")
    again = CliRunner().invoke(app, ["gap", *sides, "--aliases", str(near), "--resamples", "100", "--format", "json"])
    assert again.exit_code == 0, again.output
    assert '"n_models": 9' in again.output
    table_name = CliRunner().invoke(app, ["gap", *sides, "--near-names", str(tmp_path / "near.csv")])
    assert table_name.exit_code  # --aliases reads such a file as two columns
    assert "end its name in .toml" in str(table_name.exception)
