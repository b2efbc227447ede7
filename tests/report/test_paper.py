"""The PDF of a report with long names and many scenarios: nothing is cut, nothing overprints, no page is left empty."""

from typing import Any

import pytest

from evalstats import compare
from evalstats.report.render import render_results
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows

NAMES = (
    "2026-11-21T20-47-08-00-00_demo_3Y3vCGWR9ByZMKwScuEudt_with_a_name_that_never_ends.eval",
    "2026-11-21T20-47-09-00-00_demo_U5eSAr7uygaYXbf63esKAH_with_a_name_that_never_ends_.json",
)
MARGIN = 20 / 25.4 * 72


def long_data() -> EvalData:
    """Two systems, 20 scenarios with 8 items each, no name with a space in it."""
    rows: list[dict[str, object]] = [
        {
            "run": f"run-{side}-{'0123456789abcdef' * 6}",
            "model": "m",
            "system": name,
            "benchmark": "benchmark_" * 9,
            "item": f"{number:03d}{'x' * 90}",
            "trial": 0,
            "metric": "correct",
            "score": float((number * 7 + number // 8 + side) % (3 + side) > 0),
            "status": "scored",
            "scenario": f"behaviour_{number % 20:02d}_of_the_simulated_user_in_all_its_length",
        }
        for side, name in enumerate(NAMES)
        for number in range(160)
    ]
    return EvalData(outcomes=frame_from_rows(rows, "outcomes"))


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pypdfium2 = pytest.importorskip("pypdfium2")
    result = compare(long_data(), *NAMES, by="scenario")
    folder = tmp_path_factory.mktemp("long")
    path = render_results([result], [folder / "long.pdf"], engine="embedded")[0].path
    document = pypdfium2.PdfDocument(path)
    yield document
    document.close()


def letters(page: Any) -> list[tuple[str, float, float, float, float]]:
    """Every letter with its left, bottom, right and top, in points from the lower left corner."""
    text = page.get_textpage()
    found = [(text.get_text_range(n, 1), *text.get_charbox(n)) for n in range(text.count_chars())]
    return [each for each in found if each[0].strip() and each[3] > each[1]]


def test_no_letter_leaves_the_text_block(paper: Any) -> None:
    for page in paper:
        width = page.get_width()
        outside = [each for each in letters(page) if each[1] < MARGIN - 1 or each[3] > width - MARGIN + 1]
        assert outside == []


def test_the_number_and_the_answer_share_no_place(paper: Any) -> None:
    """The box holds the sentence on the left and the number on the right: no letter of one lies on one of the other."""
    page = paper[0]
    found = letters(page)
    text = "".join(each[0] for each in found)
    start, stop = text.index("+12.5pp95%CI"), text.index("p=0.017") + len("p=0.017")
    box = found[:stop]
    for each in box[start:]:
        for other in box[:start]:
            apart = each[1] >= other[3] or other[1] >= each[3] or each[2] >= other[4] or other[2] >= each[4]
            assert apart, (each, other)


def test_the_first_page_is_not_left_empty(paper: Any) -> None:
    page = paper[0]
    lowest = min(bottom for _, _, bottom, _, _ in letters(page) if bottom > MARGIN + 10)
    # A tall figure that stands where it is referred to may begin the next page.
    assert lowest < page.get_height() * 0.6


def test_long_names_stand_apart(paper: Any) -> None:
    whole = "".join(page.get_textpage().get_text_range() for page in paper)
    text = "".join(letter for letter in whole if not letter.isspace() and letter not in "\x02\ufffe")
    for name in NAMES:
        assert name.replace("-", "") in text.replace("-", "")
    assert len(paper) <= 8


def test_figures_keep_their_captions(paper: Any) -> None:
    texts = [" ".join(page.get_textpage().get_text_range().split()) for page in paper]
    drawn = [page for page in texts if " minus " in page and "in correct (percentage points)" in page]
    assert drawn
    for page in drawn:
        assert "Figure" in page
