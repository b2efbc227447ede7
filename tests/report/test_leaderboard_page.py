"""The leaderboard page: its answer, its parts on small boards, names as text, and the page rendered."""

import ast
import base64
import html
import io
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.analysis.leaderboard.leaderboard import leaderboard as leaderboard_of
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow
from evalstats.errors import InputError
from evalstats.plots.style import contrast
from evalstats.report import leaderboard_pairs as pairs
from evalstats.report.board import evidence, method, opening
from evalstats.report.board.page import LeaderboardPage, open_page
from evalstats.report.board.words import leaderboard_words
from evalstats.report.engine import find_page, loads
from evalstats.report.handover import read_data, write_tables
from evalstats.report.names import LONGEST
from evalstats.report.qmd import check_constructs, read_document
from evalstats.report.render import render_reports, report
from evalstats.report.rutbench import code_to_repeat
from evalstats.schema.data import EvalData
from tests.plots import boards
from tests.report.test_browser import COLOURS, STRUCTURE, browser  # noqa: F401 - a fixture

PARTS: tuple[Callable[[LeaderboardPage], str], ...] = (
    opening.title, opening.simulated, opening.departures, opening.verdict, opening.facts, opening.warnings,
    evidence.standings, pairs.baseline, pairs.pairs, pairs.compared,
    evidence.missing, evidence.luck, evidence.omnibus, evidence.dependence,
    method.paragraph, method.reference_list, method.notes, method.reproduce, method.provenance,
)  # fmt: skip


def opened(data: EvalData, folder: Path, **options: Any) -> LeaderboardPage:
    write_tables(data, folder)
    return open_page(store=str(folder), rendered="2025-11-21", engine="an engine", **options)


@pytest.fixture(scope="module", autouse=True)
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Figures for the PDF are written into the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        yield


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> LeaderboardPage:
    return opened(boards.plain_data(), tmp_path_factory.mktemp("plain") / "data")


@pytest.fixture(scope="module")
def against(tmp_path_factory: pytest.TempPathFactory) -> LeaderboardPage:
    return opened(boards.plain_data(), tmp_path_factory.mktemp("against") / "data", baseline="north")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> LeaderboardPage:
    return opened(boards.parts_data(), tmp_path_factory.mktemp("parts") / "data")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> LeaderboardPage:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    return opened(boards.hostile_data(), folder, baseline=boards.HOSTILE_MODELS[0])


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> LeaderboardPage:
    return opened(boards.grouped_data(), tmp_path_factory.mktemp("grouped") / "data")


def words(text: str) -> str:
    """What a reader reads of Markdown with HTML in it: no raw Typst, no escapes, one space between words."""
    text = re.sub(r"```+\{=typst\}.*?```+", " ", text, flags=re.DOTALL)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"<[^>]*>", " ", text))
    return re.sub(r"\s+", " ", html.unescape(text))


def certain(board: Leaderboard, name: str) -> Leaderboard:
    """Make one model the only one that may be the best."""
    rows = tuple(replace(row, may_be_best=row.name == name) for row in board.rows)
    return replace(board, rows=rows)


# --- the opening ---------------------------------------------------------------------------------------------------


def test_the_title_is_the_question(plain: LeaderboardPage) -> None:
    assert "Which model is best on bench" in words(opening.title(plain))
    assert "Leaderboard of 4 models on the same items" in words(opening.title(plain))
    other = replace(plain, board=replace(plain.board, contrast="prompt"))
    assert "Which prompt is best on bench" in words(opening.title(other))


def test_the_answer_is_the_set_of_those_that_may_be_the_best(plain: LeaderboardPage) -> None:
    text = words(opening.verdict(plain))
    assert "Best open" in text
    assert "2 of 4 models may be the best, the data do not tell which: north and east; higher taken as better." in text
    assert "2 of 4 ranks are certain; there are 3 tiers." in text
    assert opening.headline_number(plain.board) == ("2 of 4", "may be the best")


def test_one_best_is_called_so_and_its_least_lead_is_that_of_all_pairs(plain: LeaderboardPage) -> None:
    """The least of the lower ends of the pairs with all others, by intervals that hold together."""
    pairs_of_west = [pair for pair in plain.board.pairs if pair.second == "west"]
    least = min(pair.conf_low or 0 for pair in pairs_of_west)
    worst_is_best = certain(replace(plain.board, higher_is_better=False), "west")
    text = words(opening.verdict(replace(plain, board=worst_is_best)))
    assert "One best" in text
    assert "west is the best of 4" in text
    assert f"It is ahead of every other model by at least {100 * least:.1f} pp." in text
    assert opening.headline_number(worst_is_best) == ("1 of 4", "may be the best")


def test_no_lead_is_claimed_that_an_interval_does_not_show(plain: LeaderboardPage) -> None:
    assert "ahead" not in opening.certain_words(certain(plain.board, "north"))
    screened = certain(replace(plain.board, higher_is_better=False, adjust="bh"), "west")
    assert "ahead" not in opening.certain_words(screened)


def test_parts_have_no_best_of_all(parts: LeaderboardPage) -> None:
    text = words(opening.verdict(parts))
    assert "No rank over all" in text
    assert "fall into 3 parts" in text
    assert opening.headline_number(parts.board) == ("", "")
    assert 'class="es-number"' not in opening.verdict(parts)


def test_without_ranks_nothing_is_said_of_them(plain: LeaderboardPage) -> None:
    rows = tuple(replace(row, rank_low=None, rank_high=None, may_be_best=None) for row in plain.board.rows)
    bare = replace(plain, board=replace(plain.board, rows=rows, rank_reason="4 clusters: at least 6 are needed"))
    text = words(opening.verdict(bare))
    assert "No ranks" in text
    assert "4 clusters: at least 6 are needed;" in text
    assert "tier" not in text
    assert "Tiers" not in {label for label, _, _ in opening.key_facts(bare.board)}


def test_key_facts(plain: LeaderboardPage, against: LeaderboardPage, parts: LeaderboardPage) -> None:
    facts = {label: (value, note) for label, value, note in opening.key_facts(plain.board)}
    assert facts["Models"] == ("4", "all with a rank")
    assert facts["Items"] == ("220", "the same for all")
    assert facts["Clusters"] == ("none", "items taken as independent")
    assert facts["Metric"] == ("correct", "binary, higher is better")
    assert facts["Pairs"] == ("5 of 6", "separated (max-T step-down)")
    assert facts["Tiers"][0] == "3"
    other = {label: (value, note) for label, value, note in opening.key_facts(parts.board)}
    assert other["Models"] == ("6", "1 without a rank")
    assert other["Items"] == ("205", "0 to 100 shared by two")
    pair_fact = {label: (value, note) for label, value, note in opening.key_facts(against.board)}["Pairs"]
    assert pair_fact == ("2 of 3", "separated from the baseline (max-T step-down)")
    clustered = replace(plain.board, clusters=("topic",), n_clusters=22)
    assert ("Clusters", "22", "topic") in opening.key_facts(clustered)


def test_simulated_data_are_called_so_at_the_top(plain: LeaderboardPage) -> None:
    assert opening.simulated(plain) == ""
    noted = replace(plain, board=replace(plain.board, notes=(*plain.board.notes, "simulated: by a coin")))
    assert "These data are simulated" in opening.simulated(noted)
    assert "by a coin" in words(opening.simulated(noted))
    assert "by a coin" not in method.notes(noted)


def test_suspected_clusters_are_tried_and_their_ranks_stand_beside(grouped: LeaderboardPage) -> None:
    """The flagged factor is taken for clusters: what is left of the ranks is in the warning and in the table."""
    assert [name for name, _ in grouped.alternatives] == ["template"]
    other = grouped.alternatives[0][1]
    assert other.clusters == ("template",)
    text = words(opening.warnings(grouped))
    assert "For new levels of template, rather than new items of these: " in text
    assert opening.certain_words(other) in text
    table = evidence._models_table(grouped)
    assert table.columns[3:5] == ("Ranks", "Ranks by template")
    assert [row[4] for row in table.rows] == [other.row(row[0]).ranks for row in table.rows]
    assert [row.ranks for row in grouped.board.rows] != [row[4] for row in table.rows]


def test_no_warnings_no_callout(plain: LeaderboardPage) -> None:
    assert opening.warnings(replace(plain, board=replace(plain.board, warnings=()))) == ""


# --- the standings -------------------------------------------------------------------------------------------------


def test_every_model_is_in_figure_and_table_with_its_set(plain: LeaderboardPage) -> None:
    text = evidence.standings(plain)
    table = words(text[text.index("::: {#tbl-models}") :])
    for row in plain.board.rows:
        own = table.partition(f" {row.name} ")[2]
        assert re.match(rf"[\d.]+ \[[\d., ]+\] {row.ranks} {row.tier}", own.strip())
    assert "Bold: may be the best." in words(text)


def test_nobody_is_picked_where_all_may_be_the_best(plain: LeaderboardPage) -> None:
    rows = tuple(replace(row, may_be_best=True) for row in plain.board.rows)
    text = words(evidence.standings(replace(plain, board=replace(plain.board, rows=rows))))
    assert "Any of them may be the best." in text
    assert "Bold" not in text


def test_a_number_of_items_is_a_column_only_where_it_differs(plain: LeaderboardPage, parts: LeaderboardPage) -> None:
    assert "Items" not in evidence._models_table(plain).columns
    assert "Items" in evidence._models_table(parts).columns
    assert "Part" in evidence._models_table(parts).columns


def test_what_else_is_known_is_folded_away(plain: LeaderboardPage) -> None:
    text = evidence.standings(plain)
    fold = text[text.index("<details") :]
    assert "tbl-further" in fold
    assert all(name in words(fold) for name in ("To the best", "Alone", "Shrunken"))
    rows = tuple(
        LeaderboardRow(name=row.name, estimate=row.estimate, rank_low=row.rank_low, rank_high=row.rank_high)
        for row in plain.board.rows
    )
    bare = replace(plain, board=replace(plain.board, rows=rows))
    assert "<details" not in evidence.standings(bare)


def test_data_of_the_figure_are_a_csv_of_all_rows(plain: LeaderboardPage) -> None:
    decoded = base64.b64decode(re.findall(r"base64,([^\"]*)", evidence.standings(plain))[0])
    frame = pl.read_csv(io.BytesIO(decoded))
    assert frame["model"].to_list() == [row.name for row in plain.board.rows]
    assert frame["rank_low"].to_list() == [row.rank_low for row in plain.board.rows]
    assert frame["runs"].to_list() == [f"{row.name}-run" for row in plain.board.rows]


@pytest.mark.parametrize("name", ["plain", "parts", "hostile", "grouped"])
def test_not_separated_means_what_the_pairs_say(name: str, request: pytest.FixtureRequest) -> None:
    page: LeaderboardPage = request.getfixturevalue(name)
    folder = Path(request.getfixturevalue("tmp_path")) / "again"
    write_tables({"plain": boards.plain_data, "parts": boards.parts_data, "hostile": boards.hostile_data,
                  "grouped": boards.grouped_data}[name](), folder)  # fmt: skip
    every = leaderboard_of(read_data(folder))
    names = dict(page.full_names)
    of_pairs: dict[str, set[str]] = {row.name: set() for row in every.rows if row.tier}
    for pair in every.pairs:
        if pair.verdict == "not separated":
            of_pairs[pair.first].add(pair.second)
            of_pairs[pair.second].add(pair.first)
    for row in pairs.open_table(page.board).rows:
        full = names.get(row[0], row[0])
        told = {names.get(each, each) for each in row[3].split(", ")} - {"none"}
        assert told == of_pairs[full]
        assert int(row[2]) == len(of_pairs[full])


def test_few_pairs_are_shown_in_full_and_of_many_the_neighbours(plain: LeaderboardPage, parts: LeaderboardPage) -> None:
    text = pairs.pairs(plain)
    assert "5 of 6 pairs are separated: the chance of even one false separation is at most 5%." in words(text)
    assert "<details" not in text
    table = pairs.all_pairs_table(plain.board)
    assert [row[:2] for row in table.rows] == [(pair.first, pair.second) for pair in plain.board.pairs]
    assert {row[-1] for row in table.rows} == {"better", "not separated"}
    many = pairs.pairs(parts)
    assert "Each model against the next line" in many[many.index("<details") :]
    assert "11 pairs are not compared." in words(many)


def test_many_lines_are_folded_away(plain: LeaderboardPage) -> None:
    board = boards.many(12, plain.board)
    assert "Who is not separated from whom" in words(pairs._open(board))
    assert "<details" in pairs._open(board)
    assert "<details" not in pairs._open(plain.board)


def test_a_false_discovery_rate_promises_less(plain: LeaderboardPage) -> None:
    screened = replace(plain, board=replace(plain.board, adjust="bh"))
    assert "of those that are, at most 5% are expected to be false" in words(pairs.pairs(screened))


def test_separated_though_the_interval_includes_zero_is_said(plain: LeaderboardPage) -> None:
    first = next(pair for pair in plain.board.pairs if pair.separated)
    wide = tuple(replace(pair, conf_low=-0.01) if pair is first else pair for pair in plain.board.pairs)
    assert "Of these 1 is separated by the step-down p" in words(
        pairs.pairs(replace(plain, board=replace(plain.board, pairs=wide)))
    )


def test_against_the_baseline(plain: LeaderboardPage, against: LeaderboardPage) -> None:
    assert pairs.baseline(plain) == ""
    text = pairs.baseline(against)
    assert text.startswith("### Against north")
    assert "fig-baseline" in text
    table = text[text.index("tbl-baseline") :]
    assert re.findall(r'es-pill es-(\w+)">(\w+)<', table) == [("bad", "worse"), ("bad", "worse")]
    assert "2 of 3 pairs with north are separated" in words(pairs.pairs(against))


def test_who_can_be_compared_is_said_where_not_all_saw_the_same(plain: LeaderboardPage, parts: LeaderboardPage) -> None:
    assert pairs.compared(plain) == ""
    text = pairs.compared(parts)
    assert "fig-comparability" in text
    assert "Part 3: lone" in words(text)


def test_nearly_the_same_items_need_no_drawing(hostile: LeaderboardPage) -> None:
    text = pairs.compared(hostile)
    assert "113 are common to all" in words(text)
    assert "fig-comparability" not in text


def test_missing_scores_are_counted_and_bounded(plain: LeaderboardPage, hostile: LeaderboardPage) -> None:
    assert "No score is missing" in words(evidence.missing(plain))
    text = words(evidence.missing(hostile))
    assert "2 of 7 models lack items, up to 120 each; 127 rows failed in the harness." in text
    assert "how far they could move a score" in text


def test_the_top_score_is_corrected_or_the_page_says_why_not(plain: LeaderboardPage, parts: LeaderboardPage) -> None:
    winner = plain.board.winner
    assert winner is not None
    assert winner.corrected is not None
    text = words(evidence.luck(plain))
    assert f"{winner.name} shows {100 * winner.estimate:.1f}%" in text
    assert f"it is {100 * winner.corrected:.1f}%, 95% interval" in text
    uncorrected = replace(plain.board, winner=replace(winner, corrected=None, reason="two share it"))
    assert "not corrected for that: two share it." in words(evidence.luck(replace(plain, board=uncorrected)))
    assert "parts that have no common mean" in words(evidence.luck(parts))


def test_the_omnibus_test_decides_nothing(plain: LeaderboardPage, parts: LeaderboardPage) -> None:
    assert "Cochran's Q over all models, on the 220 items that all of them have: p <1e-12." in words(
        evidence.omnibus(plain)
    )
    assert words(evidence.omnibus(parts)).startswith("Not tested: ")


def test_hidden_groups(plain: LeaderboardPage, grouped: LeaderboardPage) -> None:
    assert "Nothing could be checked" in evidence.dependence(plain)
    assert "template" in evidence.dependence(grouped)


def test_published_numbers_make_a_page(tmp_path: Path) -> None:
    rows = [
        {"model": f"m{place}", "benchmark": "b", "metric": "accuracy", "estimate": 0.9 - place / 10, "std_error": 0.02}
        for place in range(3)
    ]
    from evalstats.schema.tables import frame_from_rows

    page = opened(EvalData(aggregates=frame_from_rows(rows, "aggregates")), tmp_path / "data")
    text = words("\n".join(part(page) for part in PARTS))
    assert "m0 is the best of 3" in text
    assert text.count("There are published numbers alone") == 2


# --- the method ----------------------------------------------------------------------------------------------------


def test_each_method_is_described_once_with_its_sources(plain: LeaderboardPage) -> None:
    text = words(method.paragraph(plain))
    assert "4 models were compared on correct of bench, every two against each other" in text
    assert text.count("Whoever is on top") == 1
    works = words(method.reference_list(plain))
    for work in ("Mogstad, Romano, Shaikh & Wilhelm 2024", "Westfall & Young 1993", "Andrews, Kitagawa", "Tango 1998"):
        assert work in works


def test_many_notes_are_folded_away(plain: LeaderboardPage) -> None:
    noted = replace(plain, board=replace(plain.board, notes=tuple(f"note {place}" for place in range(30))))
    assert "<summary>30 notes</summary>" in method.notes(noted)


def test_provenance_names_runs_seed_engine_and_date(plain: LeaderboardPage) -> None:
    text = words(method.provenance(plain))
    for phrase in ("north-run, no digest", "an engine", "21 November 2025", "polars "):
        assert phrase in text
    assert re.search(r"Seed 0 \(for (permutations|[\d,]+ random draws for pairs, and permutations)\)", text)


def test_many_runs_are_folded_away_and_one_source_is_said_once(plain: LeaderboardPage) -> None:
    sources = tuple((f"run-{place:03d}", f"{place:064d}") for place in range(250))
    text = method.provenance(replace(plain, board=replace(plain.board, sources=sources)))
    assert "tbl-runs" in text[text.index("<details") :]
    assert "and 50 more" in words(text)
    one = tuple((run, "a" * 64) for run, _ in sources)
    told = method.provenance(replace(plain, board=replace(plain.board, sources=one)))
    assert f"250, all from one source, SHA-256 {'a' * 64}" in words(told)
    assert "<details" not in told


def test_the_code_repeats_the_leaderboard(hostile: LeaderboardPage) -> None:
    """The printed code, with the data in the place of the files, gives the same ranks."""
    code = hostile.reproduce
    assert "es.read(...)" in code
    call = ast.parse(code).body[-1]
    assert isinstance(call, ast.Expr)

    class Stub:
        leaderboard = staticmethod(leaderboard_of)

    found = eval(  # noqa: S307 - the page's own code
        compile(ast.Expression(call.value), "page", "eval"), {"es": Stub, "data": boards.hostile_data()}
    )
    assert [row.ranks for row in found.rows] == [row.ranks for row in hostile.board.rows]
    assert found.baseline == boards.HOSTILE_MODELS[0]


def test_the_code_of_the_page_as_it_stands_simulates_its_data() -> None:
    code = code_to_repeat("leaderboard", (("seed", 3, 0),), "")
    ast.parse(code)
    assert 'write_rutbench("rutbench-simulated", published_models()[::2])' in code
    assert code.endswith("es.leaderboard(data, seed=3)")


# --- names ---------------------------------------------------------------------------------------------------------


def test_long_names_are_short_everywhere_different_and_in_full_once(hostile: LeaderboardPage) -> None:
    names = [row.name for row in hostile.board.rows]
    assert len(set(names)) == 7
    assert max(map(len, names)) <= LONGEST
    full = dict(hostile.full_names)
    assert sorted(full.values()) == sorted(boards.HOSTILE_MODELS[-2:])
    text = "\n".join(part(hostile) for part in PARTS)
    for name in full.values():
        assert name in words(method.provenance(hostile))
        rest = words(text.replace(method.provenance(hostile), ""))
        assert name not in rest.replace(f"{name}-run", "")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.__module__.rpartition('.')[2]}.{part.__name__}")
def test_no_name_is_markup(part: Callable[[LeaderboardPage], str], hostile: LeaderboardPage) -> None:
    """Outside raw blocks every mark is escaped; inside them names are HTML text or Typst strings."""
    text = part(hostile)
    outside = re.sub(r"(?ms)^(`{3,})\{=(html|typst)\}\n.*?\n\1$", "", text)
    assert not re.search(r"(?<!\\)\$|(?<![\\(])<|(?<!\\)\{\{|(?<!\\)`", outside)
    for block in re.findall(r"(?ms)^`{3,}\{=html\}\n(.*?)\n`{3,}$", text):
        assert "<script" not in block
        assert "<b>" not in block
        assert "<i>" not in block
    for block in re.findall(r"(?ms)^`{3,}\{=typst\}\n(.*?)\n`{3,}$", text):
        assert "{{" not in block
        strings = re.sub(r'"(?:\\.|[^"\\])*"', "", block)
        assert "$" not in strings
        assert "script" not in strings


def test_words_of_the_command_keep_their_places(parts: LeaderboardPage, hostile: LeaderboardPage) -> None:
    """If the command's blocks change their order, the page must not lose what they say."""
    found = leaderboard_words(parts.board)
    assert found.banner.label == "no rank over all"
    assert found.missing is not None
    assert len(found.compared) >= 3
    assert any("No rank for lone" in text for text in found.beside)
    assert any("no scored row" in text for text in leaderboard_words(hostile.board).beside)


def test_the_page_uses_only_what_both_engines_know() -> None:
    check_constructs(read_document(find_page("leaderboard").source))


# --- rendered ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The hostile board as HTML and as PDF, by the embedded engine."""
    folder, data = tmp_path_factory.mktemp("rendered"), boards.hostile_data()
    page, paper = render_reports(
        kind="leaderboard",
        data=data,
        outputs={"html": folder, "pdf": folder},
        engine="embedded",
        baseline=boards.HOSTILE_MODELS[0],
    )
    return page.path, paper.path


@pytest.fixture(scope="module")
def rendered(files: tuple[Path, Path]) -> tuple[str, Path]:
    return files[0].read_text(encoding="utf-8"), files[1]


def test_the_rendered_page_answers_first(rendered: tuple[str, Path]) -> None:
    text = words(rendered[0])
    order = [
        "Which model is best on b $y$ <b>?", "Best open", "2 of 6 models may be the best", "may be the best",
        "Before you rely on this", "Scores and ranks", "Against <script>|$x$", "Who can be told apart?", "Missing data",
        "The score at the top", "Hidden groups", "Method", "References", "Where this report comes from",
    ]  # fmt: skip
    start = text.index("Skip to the report")
    for phrase in order:
        start = text.index(phrase, start) + 1


def test_the_rendered_page_runs_and_loads_nothing(rendered: tuple[str, Path]) -> None:
    page = rendered[0]
    assert loads(page) == []
    tags = set(re.findall(r"<([a-z]+)[\s>]", page))
    assert not tags & {"script", "b", "i", "iframe", "link", "img"}
    assert not re.search(r"callout-note", page.partition("</style>")[2].replace("::: {.callout-note}", ""))


def test_rendered_drawings_have_their_words(rendered: tuple[str, Path]) -> None:
    drawings = re.findall(r'<svg role="img" aria-label="([^"]*)"', rendered[0])
    assert len(drawings) == 4  # the leaderboard and the baseline, each wide and narrow
    assert all("the ranks left open" in html.unescape(text) for text in drawings[:2])


def test_rendered_headings_and_ids_are_in_order(rendered: tuple[str, Path]) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[\s>]", rendered[0])]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = re.findall(r'\sid="([^"]*)"', rendered[0])
    assert len(ids) == len(set(ids))


def test_rendered_cells_are_no_formulas(rendered: tuple[str, Path]) -> None:
    for data in re.findall(r"base64,([A-Za-z0-9+/=]*)", rendered[0]):
        assert not re.search(r"(?:^|,)\"?[=@+](?!\d)", base64.b64decode(data).decode(), re.MULTILINE)


def test_the_pdf_says_the_same(rendered: tuple[str, Path], pdf_text: Callable[[Path], str]) -> None:
    text = re.sub(r"\s+", "", pdf_text(rendered[1]))
    for phrase in ("Which model is best on b $y$ <b>?", "2 of 6", "{{< env HOME >}}", "Figure 2", "References"):
        assert phrase.replace(" ", "") in text


def test_options_that_the_page_has_not_are_refused() -> None:
    with pytest.raises(InputError, match="no option 'candidate'"):
        report("leaderboard", boards.plain_data(), candidate="east")
    with pytest.raises(InputError, match="no option 'margin'"):
        report("leaderboard", boards.plain_data(), margin="2pp")


@pytest.fixture
def seen(request: pytest.FixtureRequest, files: tuple[Path, Path]) -> Iterator[Any]:
    started = request.getfixturevalue("browser")
    contexts: list[Any] = []

    def opened_at(width: int, scheme: str = "light") -> Any:
        context = started.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.goto(files[0].as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        return page

    yield opened_at
    for context in contexts:
        context.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_overflows_sideways(seen: Any, width: int) -> None:
    page = seen(width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(STRUCTURE) == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(seen: Any, scheme: str) -> None:
    page = seen(1280, scheme)
    for selector in ("#fig-ranks svg text", "#fig-baseline svg text", "td", "th", ".es-facts small", ".es-answer p"):
        found = page.evaluate(COLOURS, selector)
        assert found, f"nothing matches {selector}"
        for text, ink, ground in found:
            assert contrast(ink, ground) >= 4.5, (selector, text, ink, ground)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_words_of_the_drawing_are_not_cut(seen: Any, width: int) -> None:
    outside = seen(width).evaluate(
        """() => [...document.querySelectorAll('#fig-ranks svg text, #fig-baseline svg text')].filter(t => {
            const box = t.getBoundingClientRect(), drawing = t.ownerSVGElement.getBoundingClientRect();
            return box.width && (box.left < drawing.left - 1 || box.right > drawing.right + 1);
        }).map(t => t.textContent)"""
    )
    assert outside == []
