"""The code at the end of a page: run as it is printed, on the files as they are read, it gives the page's numbers."""

import json
from pathlib import Path

import polars as pl
import pytest

import evalstats as es
from evalstats.cli.load import sides
from evalstats.report.again import READ_FILES
from evalstats.report.comparison import ComparisonPage, open_page
from evalstats.report.handover import write_tables


def page_of(files: tuple[Path, Path], folder: Path, **options: object) -> ComparisonPage:
    """Open a page on two files as the command line does, which tells two files of one model apart by their names."""
    found = sides(
        files, baseline=None, candidate=None, store=None, where=None, columns=None, input_format=None, quiet=True
    )
    write_tables(found.data, folder)
    return open_page(store=str(folder), baseline=found.baseline, candidate=found.candidate, **options)


def run(page: ComparisonPage, *files: Path) -> es.Comparison:
    """Run the printed lines with the names of the files in the place of the dots."""
    assert READ_FILES in page.reproduce
    names = ", ".join(repr(str(path)) for path in files)
    code = page.reproduce.replace("es.read(...)", f"es.read({names})").replace(
        "\nes.compare(", "\nresult = es.compare("
    )
    scope: dict[str, object] = {}
    exec(code, scope)  # noqa: S102 - the printed code is what is tested
    result = scope["result"]
    assert isinstance(result, es.Comparison)
    return result


def same_numbers(first: es.Comparison, second: es.Comparison) -> bool:
    return all(
        getattr(first, name) == getattr(second, name)
        for name in ("estimate", "conf_low", "conf_high", "p_value", "n_items", "groups", "clusters", "verdict", "seed")
    )


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """The same model twice, 24 items each, in two files; the second is right more often."""
    paths = (tmp_path / "monday.csv", tmp_path / "tuesday.csv")
    for side, path in enumerate(paths):
        rows = [
            {"model": "m", "benchmark": "b", "item": f"i{n}", "score": float((n * 7 + side) % (3 + 2 * side) > 0)}
            for n in range(24)
        ]
        pl.DataFrame(rows).write_csv(path)
    return paths


def test_two_files_of_one_model_are_named_by_their_runs(tables: tuple[Path, Path], tmp_path: Path) -> None:
    page = page_of(tables, tmp_path / "t", conf_level=0.9, seed=3)
    assert page.comparison.estimate != 0
    assert {side.name for side in (page.comparison.baseline, page.comparison.candidate)} == {
        "monday.csv",
        "tuesday.csv",
    }
    assert "monday.csv'" not in page.reproduce
    assert page.comparison.baseline.runs[0] in page.reproduce
    assert same_numbers(run(page, *tables), page.comparison)


def test_real_logs_of_one_model(shared: Path, tmp_path: Path) -> None:
    files = sorted((shared / "data" / "inspect_logs" / "generated_mockllm_0.3.285").iterdir())
    assert len(files) == 2
    page = page_of((files[0], files[1]), tmp_path / "t")
    assert page.comparison.by == "category"
    assert same_numbers(run(page, *files), page.comparison)


def test_a_side_of_several_runs_is_put_together_again(tmp_path: Path) -> None:
    """Two folders of the same model; in each, two files hold different items of one benchmark."""
    folders = (tmp_path / "before", tmp_path / "after")
    for side, folder in enumerate(folders):
        folder.mkdir()
        for part in range(2):
            rows = [
                {"model": "m", "benchmark": "b", "item": f"{part}-{n}", "score": float((n + part) % (3 + 2 * side) > 0)}
                for n in range(12)
            ]
            (folder / f"part{part}{side}.json").write_text(json.dumps(rows))
    page = page_of((folders[0], folders[1]), tmp_path / "t")
    assert len(page.comparison.baseline.runs) == 2
    assert page.comparison.baseline.name == "before"
    assert same_numbers(run(page, *folders), page.comparison)


def test_names_that_are_in_the_files_are_kept(tmp_path: Path) -> None:
    paths = (tmp_path / "a.csv", tmp_path / "b.csv")
    for side, path in enumerate(paths):
        rows = [
            {"model": f"model {side}", "benchmark": "b", "item": f"i{n}", "score": float(n % (3 + side) > 0)}
            for n in range(20)
        ]
        pl.DataFrame(rows).write_csv(path)
    page = page_of(paths, tmp_path / "t")
    assert page.reproduce.endswith("es.compare(data, 'model 0', 'model 1')")
    assert same_numbers(run(page, *paths), page.comparison)


def test_the_shipped_data_are_named() -> None:
    page = open_page()
    assert page.reproduce.splitlines() == [
        "import evalstats as es",
        "",
        "data = es.datasets.tenacious_held_out()",
        "es.compare(data, 'baseline', 'trained', by='dimension')",
    ]
    again = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained", by="dimension")
    assert same_numbers(again, page.comparison)


def test_a_caller_may_say_how_the_data_are_read() -> None:
    page = open_page(reading="es.read('a.json').where(task='x')")
    assert "data = es.read('a.json').where(task='x')\n" in page.reproduce
