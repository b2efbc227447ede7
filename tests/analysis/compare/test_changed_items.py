"""The items on which two systems differ: which, in what order, where losses concentrate, and how they are shown."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.evidence import ChangedItems, changed_items, slice_words
from evalstats.analysis.compare.flips import ItemTexts
from evalstats.analysis.compare.result import Comparison
from evalstats.document import terminal
from evalstats.document.model import Document, Table


def compared(rows: list[dict[str, Any]], **options: Any) -> Comparison:
    data = es.from_frame(pl.DataFrame(rows), item="item", score="correct", model="model")
    found = es.compare(data, "old", "new", **options)
    assert isinstance(found, Comparison)
    return found


def rows_of(lost: dict[str, int], gained: dict[str, int], n_each: int = 30, **more: Any) -> list[dict[str, Any]]:
    """Items of categories, of which so many are lost and gained; the others are right on both sides."""
    rows: list[dict[str, Any]] = []
    for category, n_lost in lost.items():
        for k in range(n_each):
            old, new = int(not k < gained[category]), int(not gained[category] <= k < gained[category] + n_lost)
            shared = {"item": f"{category}-{k}", "category": category, **more}
            rows += [{**shared, "model": "old", "correct": old}, {**shared, "model": "new", "correct": new}]
    return rows


IN_MATHS = rows_of({"maths": 14, "law": 1, "code": 2}, {"maths": 0, "law": 2, "code": 1})


def table_of(document: Document) -> Table:
    return document.tables["flips"]


def test_losses_stand_first_and_the_label_counts_both() -> None:
    result = compared(IN_MATHS)
    document = changed_items(result)
    assert document.label == "17 lost, 3 gained"
    assert document.tone == "bad"
    assert document.headline == "new changed 20 items of 90 against old"
    rows = table_of(document).rows
    assert [row[2:4] for row in rows] == [("100%", "0%")] * 17 + [("0%", "100%")] * 3
    assert [row[0] for row in rows[:2]] == ["code-1", "code-2"]
    assert ChangedItems(result).to_frame().height == 20


def test_a_slice_where_losses_concentrate_is_named_with_its_numbers() -> None:
    result = compared(IN_MATHS)
    (row,) = result.loss_slices
    assert (row.factor, row.level, row.n_items, row.lost, row.gained) == ("category", "maths", 30, 14, 0)
    assert row.p_adjusted < 0.01
    assert row.n_slices == 3
    assert slice_words(result) == ["Losses concentrate in category=maths: 14 of 17, on 30 of 90 items (p < 0.001)."]


@pytest.mark.parametrize(
    ("lost", "gained"),
    [
        ({"maths": 6, "law": 6, "code": 6}, {"maths": 0, "law": 0, "code": 0}),  # worse everywhere alike
        ({"maths": 3, "law": 0, "code": 0}, {"maths": 3, "law": 0, "code": 0}),  # noise of hard items
        ({"maths": 0, "law": 0, "code": 0}, {"maths": 12, "law": 0, "code": 0}),  # gains concentrate
    ],
)
def test_nothing_is_said_where_nothing_stands_out(lost: dict[str, int], gained: dict[str, int]) -> None:
    result = compared(rows_of(lost, gained))
    assert result.loss_slices == ()
    assert slice_words(result) == []


def test_tags_are_slices_and_may_overlap() -> None:
    rows = [
        {
            "item": f"q{k}",
            "model": model,
            "tags": ["long", "all"] if k < 20 else ["all"],
            "correct": int(k >= 12 or model == "old"),
        }
        for k in range(80)
        for model in ("old", "new")
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", score="correct", model="model")
    found = es.compare(data, "old", "new")
    assert isinstance(found, Comparison)
    assert [(row.name, row.lost, row.n_items) for row in found.loss_slices] == [("tags=long", 12, 20)]


def test_with_clusters_the_cluster_is_the_unit() -> None:
    """Twelve lost items that are one passage are one loss, and no pattern."""
    rows = [
        {"item": f"q{k}", "model": model, "passage": f"p{k // 12}", "category": "maths" if k < 72 else "law",
         "correct": int(k >= 12 or model == "old")}
        for k in range(144)
        for model in ("old", "new")
    ]  # fmt: skip
    assert [row.name for row in compared(rows, cluster="none").loss_slices] == ["passage=p0", "category=maths"]
    assert compared(rows, cluster="passage").loss_slices == ()


def test_a_metric_for_which_less_is_better_turns_losses_round() -> None:
    rows = [{**row, "refused": row["correct"]} for row in IN_MATHS]
    data = es.from_frame(pl.DataFrame(rows).drop("correct"), item="item", score="refused", model="model")
    found = es.compare(data, "old", "new", higher_is_better=False)
    assert isinstance(found, Comparison)
    assert changed_items(found).label == "3 lost, 17 gained"
    assert found.loss_slices == ()


def test_graded_scores_and_no_change_are_said_in_words() -> None:
    rng = np.random.default_rng(1)
    graded = [
        {"item": f"q{k}", "model": model, "correct": round(float(rng.uniform(0, 9)), 1)}
        for k in range(30)
        for model in ("old", "new")
    ]
    assert changed_items(compared(graded)).headline.startswith("By correct items have no outcome that could change")
    same = rows_of({"maths": 0}, {"maths": 0})
    document = changed_items(compared(same))
    assert (document.label, document.headline) == ("no change", "new and old have the same outcome on all 30 items")


def test_trials_say_which_changes_are_more_than_noise() -> None:
    """Three items fall from 8 of 8 trials to none, three from 5 of 8 to 3, and the others stay."""
    right = {"old": (8, 5, 8), "new": (0, 3, 8)}
    rows = [
        {"item": f"q{k}", "model": model, "trial": trial, "correct": int(trial < right[model][min(k // 3, 2)])}
        for k in range(20)
        for trial in range(8)
        for model in ("old", "new")
    ]
    text = terminal.to_text(changed_items(compared(rows)))
    assert "p of its trials" in text
    assert "3 of the 6 have trials that differ by more than chance" in text
    assert "With one trial a side" not in text
    assert "With one trial a side" in terminal.to_text(changed_items(compared(IN_MATHS)))


HOSTILE = "<script>alert(1)</script>\n  \x1b[31mred\u202e\n::error::x ##[group] =cmd() | **b** {{< x >}}"


def with_texts(result: Comparison) -> Comparison:
    from dataclasses import replace

    flip = result.flipped.worst_first(higher_is_better=True)[0]
    texts = ItemTexts(
        task=flip.task,
        item=flip.item,
        variant=flip.variant,
        question=HOSTILE,
        expected="4",
        baseline="4",
        candidate=HOSTILE,
    )
    return replace(result, texts=(texts,))


def test_texts_stand_side_by_side_and_are_harmless_in_every_form() -> None:
    view = ChangedItems(with_texts(compared(IN_MATHS)))
    text = terminal.to_text(view.document())
    assert "Question: <script>alert(1)</script>" in text
    assert "old: 100%                                new: 0%" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    assert "\\x1b[31mred\\u202e" in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    html, markdown = view.to_html(), view.to_markdown()
    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html
    assert "white-space:pre-wrap" in html
    assert "\x1b" not in html + markdown
    assert "<script>" not in markdown
    frame = view.to_frame()
    assert frame["candidate_answer"].drop_nulls().to_list() == [HOSTILE]


def test_an_item_without_texts_says_so() -> None:
    from dataclasses import replace

    result = compared(IN_MATHS)
    texts = ItemTexts(task="", item="maths-0", variant="")
    assert "(no text found)" in terminal.to_text(changed_items(replace(result, texts=(texts,))))


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://viewer.example/r?a=1&b=2", True),
        ("http://127.0.0.1:7575/#/logs/x.eval/samples/sample/1/1/", True),
        ("javascript:alert(1)", False),
        ("data:text/html,<script>", False),
        ('https://x.example/" onmouseover="alert(1)', False),
        ("https://x.example/<b>", False),
        ("HTTPS://x.example", False),
        ("//x.example/a", False),
    ],
)
def test_only_addresses_of_the_web_are_linked(link: str, shown: bool) -> None:
    result = compared([{**row, "link": link} for row in IN_MATHS])
    view = ChangedItems(result)
    html, text, markdown = view.to_html(), terminal.to_text(view.document()), view.to_markdown()
    assert ("<a href=" in html) is shown
    assert ("transcript of new: " in text.lower()) is shown
    assert (f"](<{link}>)" in markdown) is shown
    assert "onmouseover=" not in html
    if shown:
        assert link.replace("&", "&amp;") in html
        assert any(line.endswith(link) for line in text.splitlines())  # whole, to be copied


def test_the_first_screen_is_short_and_full_has_all() -> None:
    for rows in (IN_MATHS, [{**row, "link": "https://viewer.example/r"} for row in IN_MATHS]):
        document = changed_items(compared(rows))
        short, full = (terminal.to_text(document, full=full) for full in (False, True))
        assert len(short.splitlines()) <= 18
        assert sum(line.startswith(("maths-", "law-", "code-")) and "100" in line for line in full.splitlines()) == 20


def test_a_comparison_tells_how_to_see_them_and_a_saved_one_holds_them(tmp_path: Any) -> None:
    result = compared(rows_of({"maths": 3}, {"maths": 20}))
    assert any(text.endswith("(evalstats flips).") for text in result.document().actions)
    result.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == result
