"""`evalstats store DIR check` and `repair`, as a user meets them."""

from pathlib import Path

import pytest

from evalstats import regular
from evalstats.cli.main import main


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["evalstats", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), " ".join(capsys.readouterr().err.split())


def test_what_is_damaged_is_named_set_aside_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for model in "ab":
        Path(f"{model} 1.csv").write_text("item,model,score\n" + "".join(f"q{k},{model},{k % 2}\n" for k in range(9)))
    assert run(monkeypatch, capsys, "ingest", "a 1.csv", "b 1.csv", "--store", "st", "-q")[0] == 0
    assert run(monkeypatch, capsys, "store", "st", "check") == (0, "sound: 2 sources")
    part = next(path for path in Path("st").rglob("outcomes-0000.parquet"))
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    status, told = run(monkeypatch, capsys, "store", "st", "check")
    assert status == 2
    assert told.endswith("evalstats store st repair repairs what it can, and says what to ingest again")
    status, told = run(monkeypatch, capsys, "store", "st", "repair")
    assert status == 0
    assert "outcomes-0000.parquet is damaged" in told
    assert told.endswith(" 1.csv' --store st sound: 1 source")
    again = told.partition("To have it back: evalstats ")[2].partition(" sound:")[0].replace("'", "")
    model = again.split()[1]
    assert run(monkeypatch, capsys, "ingest", f"{model} 1.csv", "--store", "st", "-q")[0] == 0
    assert run(monkeypatch, capsys, "store", "st", "check") == (0, "sound: 2 sources")


def test_what_only_the_user_can_mend_is_said_and_is_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("item,model,score\nq1,a,1\n")
    assert run(monkeypatch, capsys, "ingest", "a.csv", "--store", "st", "-q")[0] == 0

    def closed(path: Path) -> None:
        if path.name == "manifest.json":
            raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(regular, "check_regular", closed)
    status, told = run(monkeypatch, capsys, "store", "st", "repair")
    assert status == 2
    assert told.startswith("not mended: st/sources/")
    assert told.endswith("cannot be read (Permission denied); see to its rights, nothing is known to be damaged")
    assert not (tmp_path / "st" / "set-aside").exists()
