"""Choosing an engine, and the Quarto engine against a program that stands in for Quarto."""

import json
import stat
import sys
import warnings
from base64 import b64encode
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalstats.errors import EvalStatsWarning, InputError, RenderError
from evalstats.report import engine as embedded
from evalstats.report import render
from evalstats.report.engine import Job, PageFile, QuartoEngine, find_page, find_quarto, render_command
from evalstats.report.render import choose_engine
from evalstats.report.typeset import STANDARD

STAND_IN = """#!{python}
import json, os, pathlib, sys
if sys.argv[1:] == ["--version"]:
    print("1.7.99")
    sys.exit()
behaviour = pathlib.Path(__file__).with_suffix(".behaviour").read_text()
seen = dict(argv=sys.argv[1:], cwd=os.getcwd(), files=sorted(str(p) for p in pathlib.Path().rglob("*") if p.is_file()),
            parameters=json.loads(pathlib.Path("parameters.json").read_text()),
            environment={{name: os.environ.get(name) for name in ("QUARTO_PYTHON", "SOURCE_DATE_EPOCH")}})
pathlib.Path(__file__).with_suffix(".seen").write_text(json.dumps(seen))
if behaviour == "fail":
    print("\\n".join(f"line {{n}}" for n in range(100)))
    sys.exit(3)
if behaviour == "cell":
    sys.stderr.write(pathlib.Path(__file__).with_suffix(".failure").read_text())
    sys.exit(1)
if behaviour == "silent":
    sys.exit(0)
if behaviour == "slow":
    import time
    time.sleep(60)
output = sys.argv[sys.argv.index("--output") + 1]
if behaviour == "boxes":
    pathlib.Path(output).write_bytes(b"%PDF pdfuaid /FontName /XYZABC+EvalstatsBoxes")
    sys.exit(0)
body = '<script src="https://example.org/x.js"></script>' if behaviour == "loads" else "<p>page</p>"
pathlib.Path(output).write_text(body + "pdfuaid" * output.endswith(".pdf"))
"""

# What Quarto 1.10 prints of a cell that fails.
FAILURE = """
  Cell 1/5: ''...Done
  Cell 2/5: ''...Done
  Cell 3/5: ''...

An error occurred while executing the following cell:
------------------
page.show(1 / 0)
------------------

\x1b[31m---------------------------------------------------------------------------\x1b[39m
\x1b[31mNoSuchColumn\x1b[39m                       Traceback (most recent call last)
\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[3]\x1b[39m\x1b[32m, line 1\x1b[39m
\x1b[31mNoSuchColumn\x1b[39m: no such column: "weather"
there is "a"

WARN: Error encountered when rendering files
"""


@pytest.fixture
def quarto(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "quarto"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    program.with_suffix(".behaviour").write_text("good")
    program.with_suffix(".failure").write_text(FAILURE)
    return program


@pytest.fixture
def job(tmp_path: Path) -> Job:
    folder = tmp_path / "render"
    folder.mkdir()
    return Job(
        page=find_page("compare"),
        parameters={"baseline": "a: 'b'\n\"c\"", "margin": 0.02, "by": None},
        to="html",
        folder=folder,
        day=date(2025, 11, 21),
        time_limit=60,
    )


@pytest.fixture
def no_quarto(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("QUARTO_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_auto_without_quarto_is_embedded(no_quarto: None) -> None:
    assert choose_engine("auto").name == "embedded"
    with pytest.raises(RenderError, match="not on this machine"):
        choose_engine("quarto")


def test_auto_takes_quarto_where_the_embedded_engine_lacks_a_part(
    quarto: Path, no_quarto: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(quarto.parent))
    assert find_quarto(required=True) == quarto
    for named in (quarto, quarto.parent):
        monkeypatch.setenv("QUARTO_PATH", str(named))
        assert find_quarto(required=True) == quarto
    assert choose_engine("auto").name == "embedded", "it is the faster one, and renders alike"
    monkeypatch.setattr(render, "embedded_parts", lambda: False)
    assert choose_engine("auto").name == "quarto"
    assert choose_engine("embedded").name == "embedded"


def test_a_wrong_path_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTO_PATH", "/nowhere/quarto")
    with pytest.raises(RenderError, match="QUARTO_PATH is /nowhere/quarto"):
        choose_engine("quarto")


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="choose auto, quarto or embedded"):
        choose_engine("latex")


@pytest.mark.parametrize(("to", "format_name"), [("html", "evalstats-html"), ("pdf", "evalstats-typst")])
def test_command(job: Job, to: str, format_name: str) -> None:
    from dataclasses import replace

    command = render_command(Path("quarto"), replace(job, to=to))
    assert command[:3] == ["quarto", "render", "compare.qmd"]
    assert command[command.index("--to") + 1] == format_name
    assert command[command.index("--output") + 1] == f"compare.{to}"
    assert command[command.index("--execute-params") + 1] == "parameters.json"
    assert "--execute-params" not in render_command(Path("quarto"), replace(job, parameters={}))


def test_quarto_renders_a_copy_in_a_folder_of_its_own(quarto: Path, job: Job) -> None:
    target = QuartoEngine(quarto).render(job)
    assert target.read_text() == "<p>page</p>"
    seen = json.loads(quarto.with_suffix(".seen").read_text())
    assert Path(seen["cwd"]).resolve() == job.folder.resolve()
    assert seen["parameters"] == dict(job.parameters)
    assert seen["environment"] == {"QUARTO_PYTHON": sys.executable, "SOURCE_DATE_EPOCH": "1763683200"}
    for name in (
        "_extension.yml",
        "evalstats.css",
        "page.css",
        "template.html",
        "typst-template.typ",
        "typst-show.typ",
    ):
        assert f"_extensions/evalstats/{name}" in seen["files"]


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        # The second of five stands behind the cell that holds the parameters, and is Quarto's.
        ("cell", r'compare\.qmd: the cell at line 20 failed: NoSuchColumn: no such column: "weather" there is "a"$'),
        ("fail", r"status 3:\nline 75"),
        ("silent", "status 0"),
        ("loads", "load or run something"),
    ],
)
def test_failures_of_quarto_are_render_errors(quarto: Path, job: Job, behaviour: str, message: str) -> None:
    quarto.with_suffix(".behaviour").write_text(behaviour)
    with pytest.raises(RenderError, match=message):
        QuartoEngine(quarto).render(job)


def test_letters_that_no_font_has_become_boxes_and_are_told(quarto: Path, job: Job) -> None:
    quarto.with_suffix(".behaviour").write_text("boxes")
    with pytest.warns(EvalStatsWarning, match="shows boxes"):
        assert QuartoEngine(quarto).render(replace(job, to="pdf")).is_file()
    quarto.with_suffix(".behaviour").write_text("good")
    again = replace(job, to="pdf", folder=_empty(job.folder.with_name("again")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        QuartoEngine(quarto).render(again)
    fonts = {path.name for path in (again.folder / "_extensions" / "evalstats" / "fonts").iterdir()}
    assert fonts >= {"boxes.ttf", "DejaVuSans.ttf"}


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_quarto_that_takes_too_long_is_stopped(quarto: Path, job: Job) -> None:
    from dataclasses import replace

    quarto.with_suffix(".behaviour").write_text("slow")
    with pytest.raises(RenderError, match="did not finish"):
        QuartoEngine(quarto).render(replace(job, time_limit=1))


def test_a_page_outside_the_allowed_constructs_is_refused_by_both(quarto: Path, job: Job, tmp_path: Path) -> None:
    from dataclasses import replace

    source = tmp_path / "bad.qmd"
    source.write_text("{{< include x >}}\n")
    bad = replace(job, page=PageFile(source=source, extension=job.page.extension), parameters={})
    for engine in (QuartoEngine(quarto), choose_engine("embedded")):
        with pytest.raises(RenderError, match="shortcodes"):
            engine.render(bad)


def test_the_extension_names_files_that_are_there() -> None:
    import yaml

    folder = find_page("compare").extension
    formats = yaml.safe_load((folder / "_extension.yml").read_text())["contributes"]["formats"]
    named = [formats["html"]["template"], *formats["html"]["css"], *formats["typst"]["template-partials"]]
    assert all((folder / name).is_file() for name in named)
    assert formats["html"]["html-math-method"] == "mathml"
    assert formats["html"]["embed-resources"] is True
    assert formats["typst"]["pdf-standard"] == STANDARD
    assert all((folder / name / "boxes.ttf").is_file() for name in formats["typst"]["font-paths"])
    assert "filters" not in formats["html"]  # Quarto brings its own; ours would undo them


def test_the_template_has_the_mark_that_quarto_looks_for() -> None:
    template = find_page("compare").extension / "template.html"
    assert "<!-- htmldependencies:E3FAD763 -->" in template.read_text()


def test_cells_run_once_for_all_forms_and_again_for_other_data(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they leave in their folder goes along: figures of the PDF are files there."""
    asked: list[object] = []

    def run_cells(document: Any, parameters: Any, folder: Path, **_: object) -> list[list[dict[str, Any]]]:
        asked.append(parameters)
        (folder / "figure.svg").write_text(str(parameters), encoding="utf-8")
        return [[] for _ in document.cells]

    def converted(source: Path, target: Path, *_: object, **__: object) -> None:
        target.write_text((source.parent / "figure.svg").read_text(encoding="utf-8"), encoding="utf-8")

    monkeypatch.setattr(embedded, "run_cells", run_cells)
    monkeypatch.setattr(embedded, "run_pandoc", converted)
    monkeypatch.setattr(embedded, "typeset", converted)
    engine = embedded.EmbeddedEngine()
    own = tmp_path / "page.qmd"  # a page of ours runs in this process
    own.write_bytes(job.page.source.read_bytes())
    for number, more in enumerate(({"to": "html"}, {"to": "pdf"}, {"to": "pdf", "parameters": {"baseline": "other"}})):
        folder = tmp_path / f"form-{number}"
        folder.mkdir()
        mine = replace(job, folder=folder, page=replace(job.page, source=own), **more)
        assert engine.render(mine).read_text(encoding="utf-8") == str(mine.parameters)
    assert asked == [job.parameters, {"baseline": "other"}]


def test_a_page_holds_what_cells_left_beside_it_and_nothing_else(tmp_path: Path) -> None:
    """Pandoc opens no file that a page names; what stands in raw HTML stays as it is."""
    (tmp_path / "secret.png").write_bytes(b"secret")
    folder = tmp_path / "job"
    (folder / "more").mkdir(parents=True)
    for name in ("a.png", "more/b c.svg"):
        (folder / name).write_bytes(b"drawn")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    drawn = '<svg role="img" aria-label="a &lt; b"><g id="k"><path d="M0 1" /></g><use xlink:href="#k" /></svg>'
    source, target = folder / "page.md", folder / "page.html"
    source.write_text(f"![A](a.png)\n\n![B](<more/b c.svg>)\n\n```{{=html}}\n{drawn}\n```\n", encoding="utf-8")
    extension = find_page("compare").extension
    embedded.run_pandoc(source, target, embedded.html_arguments(extension), extension=extension, time_limit=60)
    html = embedded.whole_page(target.read_text(encoding="utf-8"), folder, extension)
    assert embedded.loads(html, script=embedded.page_script(extension)) == []
    assert html.count(f"base64,{b64encode(b'drawn').decode()}") == 2
    assert drawn in html
    outside = '<img src="../secret.png"><img src="link.png"><img src="/etc/passwd">'
    html = embedded.whole_page(html.replace("</main>", f"{outside}</main>"), folder, extension)
    assert len(embedded.loads(html, script=embedded.page_script(extension))) == 3
