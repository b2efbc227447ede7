"""PDFs as paper: how many pages, how full, tagged, with their fonts; tables that break well; letters that no font has."""

import ctypes
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import compare, datasets
from evalstats.document.model import SideBySide
from evalstats.errors import EvalStatsWarning
from evalstats.report.engine import find_page
from evalstats.report.examples import EXAMPLES, example
from evalstats.report.markup import side_by_side
from evalstats.report.render import STUDIES, render_results
from evalstats.report.typeset import BOX_FONT, BOXES, UNCLAIMED, add_wide_fonts, typeset
from tests.report import box_font

pypdfium2 = pytest.importorskip("pypdfium2")
raw = pypdfium2.raw

# So many pages at most; a page that needs more has grown too long, or breaks badly.
BUDGET = {
    "arena": 4, "audit": 2, "compare": 3, "contamination": 2, "frontier": 2, "judges": 2, "lab-live": 7,
    "leaderboard": 4, "power": 2, "scenarios": 5, "score": 1, "results": 5,
    "validation": 12, "arena-sampling": 9, "tenacious": 3, "published-claims": 3,
}  # fmt: skip
HEADINGS = (20, 15, 11.5)
FOOT = 20 / 25.4 * 72 - 2
HEAD = 21 / 25.4 * 72 - 2
EXTENSION = find_page("compare").extension
STRANGE = ("हिन्दी-मॉडल", "แบบจำลอง বাংলা தமிழ் שָׁלוֹם 𒀀通义")


def opened(path: Path) -> Iterator[Any]:
    document = pypdfium2.PdfDocument(path)
    yield from document
    document.close()


def body_rectangles(page: Any) -> list[tuple[float, float, float, float]]:
    """Every piece of text between running head and foot: left, bottom, right, top in points from the lower left corner."""
    text, top = page.get_textpage(), page.get_height() - HEAD
    found = [text.get_rect(n) for n in range(text.count_rects())]
    return [each for each in found if each[1] > FOOT and each[3] < top]


def filled(page: Any) -> float:
    """How far down text reaches, of what there is."""
    lowest = min(bottom for _, bottom, _, _ in body_rectangles(page))
    return (page.get_height() - HEAD - lowest) / (page.get_height() - HEAD - FOOT)


# Points. What stands beside the numbers of a grid of scenarios is a little smaller than 7.
LEAST = 6.7


def last_size(page: Any) -> float:
    """The size of type of the last line above the foot."""
    text = page.get_textpage()
    boxes = [(text.get_charbox(n)[1], n) for n in range(text.count_chars()) if text.get_text_range(n, 1).strip()]
    return float(raw.FPDFText_GetFontSize(text.raw, min(box for box in boxes if box[0] > FOOT)[1]))


def smallest(page: Any) -> float:
    """The size of the smallest letter as it is printed, in points: drawings are scaled."""
    text, sizes = page.get_textpage(), []
    for n in (place for place in range(text.count_chars()) if text.get_text_range(place, 1).strip()):
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(text.raw, n, matrix)
        sizes.append(raw.FPDFText_GetFontSize(text.raw, n) * max(abs(matrix.a), abs(matrix.b)))
    return min(size for size in sizes if size > 0)


def check_paper(path: Path, most: int) -> None:
    full = []
    for place, page in enumerate(opened(path), start=1):
        assert round(last_size(page), 1) not in HEADINGS, f"page {place} ends with a heading"
        full.append(filled(page))
        assert smallest(page) >= LEAST, f"page {place} has letters too small to read"
    assert len(full) <= most
    assert all(share >= 0.5 for share in full[:-1]), f"a page is left empty: {full}"
    assert full[-1] >= 0.05, "a line or two spill onto a page of their own"


def words(path: Path) -> list[str]:
    return [" ".join(page.get_textpage().get_text_range().split()) for page in opened(path)]


def elements(path: Path) -> list[tuple[str, str]]:
    """The tags of all pages in order, with their alternative text."""
    found: list[tuple[str, str]] = []

    def text_of(read: Any, element: Any) -> str:
        size = read(element, None, 0)
        buffer = ctypes.create_string_buffer(size)
        read(element, buffer, size)
        return buffer.raw[: max(size - 2, 0)].decode("utf-16-le")

    def walk(element: Any) -> None:
        found.append(
            (text_of(raw.FPDF_StructElement_GetType, element), text_of(raw.FPDF_StructElement_GetAltText, element))
        )
        for n in range(raw.FPDF_StructElement_CountChildren(element)):
            if child := raw.FPDF_StructElement_GetChildAtIndex(element, n):
                walk(child)

    for page in opened(path):
        tree = raw.FPDF_StructTree_GetForPage(page.raw)
        for n in range(raw.FPDF_StructTree_CountChildren(tree)):
            walk(raw.FPDF_StructTree_GetChildAtIndex(tree, n))
        raw.FPDF_StructTree_Close(tree)
    return found


def test_a_comparison_is_three_pages_well_filled(pages: Any) -> None:
    check_paper(pages.pdf_path, BUDGET["compare"])


def test_hostile_names_leave_no_page_empty(hostile_pages: Any) -> None:
    check_paper(hostile_pages.pdf_path, 6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({*BUDGET, *EXAMPLES, *STUDIES}))
def test_every_page_keeps_to_its_budget(kind: str, tmp_path: Path) -> None:
    kinds = ["arena", "audit"] if kind == "results" else [kind]
    asked: Any = kind if kind in STUDIES else [example(each) for each in kinds]
    render_results(asked, [tmp_path / "page.pdf"], engine="embedded")
    check_paper(tmp_path / "page.pdf", BUDGET[kind])


def test_pages_are_numbered_and_headed(pages: Any) -> None:
    first, *rest = words(pages.pdf_path)
    assert "evalstats, 21 November 2025" in first
    for place, text in enumerate(rest, start=2):
        assert f"{place} of {len(rest) + 1}" in text
        assert text.startswith("Is trained better than baseline on Tenacious-Bench? 21 November 2025")


def test_figures_and_tables_are_named_in_the_text(pages: Any) -> None:
    text = " ".join(words(pages.pdf_path)).replace("\xa0", " ")
    assert "suggest (Table 2)." in text
    html = pages.html_path.read_text(encoding="utf-8")
    assert "suggest." in html


def test_the_pdf_says_what_it_is_and_brings_its_fonts(pages: Any) -> None:
    document = pypdfium2.PdfDocument(pages.pdf_path)
    about = document.get_metadata_dict()
    assert about["Title"] == "Is trained better than baseline on Tenacious-Bench?"
    assert about["Author"] == "evalstats"
    assert about["Keywords"] == "LLM evaluation, statistics, compare"
    assert raw.FPDFCatalog_IsTagged(document.raw)
    lines = [each for page in document for each in page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT])]
    assert len(lines) > 100
    assert all(raw.FPDFFont_GetIsEmbedded(raw.FPDFTextObj_GetFont(each.raw)) == 1 for each in lines)
    document.close()


def test_headings_tables_and_figures_are_tagged(pages: Any) -> None:
    found = elements(pages.pdf_path)
    kinds = {kind for kind, _ in found}
    assert {"H1", "H2", "Table", "TH", "TD", "L", "Caption"} <= kinds
    alternatives = [text for kind, text in found if kind == "Figure"]
    assert alternatives
    assert any(text.startswith("The same difference by 7 methods") for text in alternatives)


def typeset_text(text: str, folder: Path, **fonts: Any) -> Path:
    """Compile Typst that uses the template."""
    shutil.copy(EXTENSION / "typst-template.typ", folder)
    start = '#import "typst-template.typ": *\n#show: evalstats-report.with(title: [A title], day: [today])\n'
    (folder / "text.typ").write_text(start + text, encoding="utf-8")
    boxes = fonts.get("boxes", EXTENSION / "fonts")
    typeset(folder / "text.typ", folder / "text.pdf", boxes=boxes, day=date(2025, 11, 21), time_limit=60)
    return folder / "text.pdf"


def test_a_long_table_repeats_its_header_and_cuts_no_row(tmp_path: Path) -> None:
    filler = [" ".join(["and more words that take some lines of the table"] * (2 * (n % 7) + 1)) for n in range(60)]
    rows = "".join(f'("name{n}", "start{n} {filler[n]} end{n}", "{n}"), ' for n in range(60))
    body = f'#figure(es-table(("Item", "Said", "Number"), ({rows}), align: "llr"), caption: [All.], '
    found = words(typeset_text(body + 'kind: "quarto-float-tbl", supplement: "Table")', tmp_path))
    assert len(found) > 2
    for text in found:
        assert "Item Said Number" in text
    for n in range(60):
        (where,) = [place for place, text in enumerate(found) if f"start{n} " in text]
        assert f" end{n} " in f"{found[where]} "


def test_numbers_of_a_narrow_table_stand_beside_their_names(tmp_path: Path) -> None:
    body = '#figure(es-table(("Model", "Score"), (("alpha", "85.0"), ("beta", "80.5")), align: "lr"), caption: [All.], '
    for page in opened(typeset_text(body + 'kind: "quarto-float-tbl", supplement: "Table")', tmp_path)):
        lefts = [left for left, _, _, _ in body_rectangles(page)]
        assert len(lefts) > 6
        assert max(lefts) - min(lefts) < 100


def test_no_page_ends_within_the_texts_of_an_item(tmp_path: Path) -> None:
    rows = "\n".join(f"line {k}" for k in range(10))
    blocks = [
        SideBySide(
            title=f"item{k}", above=(("Question", f"q{k}"),), left=("old", rows), right=("new", f"{rows}\nend{k}")
        )
        for k in range(12)
    ]
    typst = "".join(re.findall(r"```\{=typst\}\n(.*?)\n```", "".join(map(side_by_side, blocks)), re.DOTALL))
    found = words(typeset_text(typst, tmp_path))
    assert len(found) > 2
    assert all(any(f"item{k} " in text and f"end{k} " in f"{text} " for text in found) for k in range(12))


def test_boxes_are_taken_last(tmp_path: Path) -> None:
    """Where any other font has the letter that one is taken, in text, in bold text and in code."""
    import typst

    add_wide_fonts(tmp_path)
    assert (tmp_path / "DejaVuSans.ttf").is_file()

    def compiled(text: str) -> bytes:
        (tmp_path / "x.typ").write_text(f'#set document(title: "x")\n{text} *{text}* `{text}`', encoding="utf-8")
        paths = [tmp_path, EXTENSION / "fonts"]
        made = typst.compile(tmp_path / "x.typ", font_paths=paths, ignore_system_fonts=True, pdf_standards=["ua-1"])
        assert isinstance(made, bytes)
        return made

    known = compiled("שלום მოდელი مرحبا n̤̄")
    assert BOX_FONT not in known
    assert b"DejaVuSans" in known
    assert BOX_FONT in compiled("हिन्दी")


def test_the_font_of_boxes_is_what_its_script_makes() -> None:
    from fontTools.ttLib import TTFont

    font: Any = TTFont(EXTENSION / "fonts" / "boxes.ttf")
    (letters,) = [table.cmap for table in font["cmap"].tables]
    assert len({letters[ord(letter)] for letter in "हব漢😀\U0010fffd"}) == 1
    assert letters[ord("a")] != letters[ord("b")] != letters[ord("ह")]
    assert font["hmtx"][letters[ord("ह")]][0] == box_font.ADVANCE
    assert font["head"].unitsPerEm == box_font.UNITS
    assert font["name"].getDebugName(6) == "EvalstatsBoxes"
    assert "Bitstream" in font["name"].getDebugName(13)
    assert "(1264 / 2048)" in (EXTENSION / "typst-template.typ").read_text(encoding="utf-8")


def test_a_note_says_that_there_are_boxes(tmp_path: Path) -> None:
    with pytest.warns(EvalStatsWarning, match="shows boxes"):
        boxed = typeset_text("Names 𒀀 and 𒁀.", tmp_path)
    assert "Boxes stand for letters" in words(boxed)[0]
    plain = typeset_text("Names, − × ≤ ✓ Ελληνικά кириллица.", tmp_path)
    assert "Boxes stand for letters" not in words(plain)[0]


def test_names_in_any_script_give_a_pdf(tmp_path: Path) -> None:
    """In text and in drawings; the standard for accessible PDFs is kept, and letters can be copied."""
    data = datasets.tenacious_held_out()
    outcomes = data.outcomes.with_columns(
        pl.col("model", "system").replace({"trained": STRANGE[0], "baseline": STRANGE[1]})
    )
    result = compare(replace(data, outcomes=outcomes), STRANGE[1], STRANGE[0])
    import warnings

    with warnings.catch_warnings():
        # Whether there are boxes hangs on the fonts of the machine.
        warnings.simplefilter("ignore", EvalStatsWarning)
        path = render_results([result], [tmp_path / "x.pdf"], engine="embedded")[0].path
    assert b"pdfuaid" in path.read_bytes()
    text = " ".join(words(path))
    assert "हिन्दी" in text
    assert "in correct" in text
    check_paper(path, 4)


# Vowel points, and accents that no single letter has: in a drawing Typst writes them as glyphs without a letter.
POINTED = ("\u05e9\u05c1\u05dc\u05d5\u05dd \u05e8\u05b4", "a\u0323\u0301b x\u0331")


def test_accents_in_drawings_cost_the_mark_and_not_the_pdf(tmp_path: Path) -> None:
    data = datasets.tenacious_held_out()
    outcomes = data.outcomes.with_columns(
        pl.col("model", "system").replace({"trained": POINTED[0], "baseline": POINTED[1]})
    )
    result = compare(replace(data, outcomes=outcomes), POINTED[1], POINTED[0], cluster="none")
    with pytest.warns(EvalStatsWarning, match="not marked as accessible"):
        path = render_results([result], [tmp_path / "x.pdf"], engine="embedded")[0].path
    assert b"pdfuaid" not in path.read_bytes()
    texts = [alt for tag, alt in elements(path) if tag == "Figure"]
    assert any(f"only {POINTED[0]}" in alt for alt in texts), texts


def test_letters_that_no_font_has_are_boxes_without_the_mark_too(tmp_path: Path) -> None:
    (tmp_path / "x.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20"><text x="5" y="15">x\u0331</text></svg>',
        encoding="utf-8",
    )
    with pytest.warns(EvalStatsWarning) as told:
        path = typeset_text('A name, \U00012000. #image("x.svg", alt: "x")', tmp_path)
    assert BOX_FONT in path.read_bytes()
    assert [str(each.message)[:30] for each in told] == [BOXES[:30], UNCLAIMED[:30]]
