"""How a leaderboard was reached: the method in words, its sources, and where it all came from."""

from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.method_texts import texts_for
from evalstats.document.numbers import plural
from evalstats.report.board.page import LeaderboardPage
from evalstats.report.board.words import statement
from evalstats.report.callouts import notes_list, says_simulated
from evalstats.report.markup import bullets, code_block, linked, prose
from evalstats.report.provenance import run_rows, traced_tables

_PACKAGES = ("polars", "numpy", "scipy", "matplotlib")


def paragraph(page: LeaderboardPage) -> str:
    """Return the method in paragraphs that a paper could print."""
    return "\n\n".join(prose(text) for text in method_words(page.board))


def method_words(board: Leaderboard) -> list[str]:
    """Describe how pairs, ranks, scores and the top were reached, each method once."""
    said: set[str] = set()
    against = f"each against {board.baseline}" if board.baseline else "every two against each other"
    paragraphs = [
        (
            f"{plural(board.n_models, 'model')} were compared on {board.metric} of {board.benchmark}, {against}: {board.basis}. "
            f"The estimand is the {board.estimand}."
        ),
        _described(f"Pairs: {board.method}, because {board.method_reason}.", board.method, said),
    ]
    if any(row.rank_low for row in board.rows):
        paragraphs.append(_described(f"Ranks: {board.rank_method}.", board.rank_method, said))
    own = sorted({row.method for row in board.rows if row.method})
    if own:
        paragraphs.append(f"Each score has its own interval ({'; '.join(own)}).")
    winner = board.winner
    if winner is not None and winner.method:
        paragraphs.append(_described(f"The score at the top: {winner.method}.", winner.method, said))
    if board.dependence:
        paragraphs.append(
            "Factors that were not declared as clusters were tested for dependence by permutation, on "
            f"{board.dependence_of} (999 permutations, seed {board.seed}), with the smallest p over factors as the statistic."
        )
    return paragraphs


def _described(lead: str, method: str, said: set[str]) -> str:
    """Say how a method works behind its name; what was said already is not said again."""
    new = [text.how for text in texts_for(method) if text.how not in said]
    said.update(new)
    return " ".join([lead, *new])


def reference_list(page: LeaderboardPage) -> str:
    """Return the works behind every method in the result."""
    return bullets([linked(text) for text in references(page.board)])


def references(board: Leaderboard) -> list[str]:
    """List the works by author."""
    winner = board.winner.method if board.winner is not None else ""
    omnibus = board.omnibus.method if board.omnibus is not None else ""
    hsu = "multiple comparisons with the best" if any(row.best_low is not None for row in board.rows) else ""
    names = {board.method, board.rank_method, winner, omnibus, hsu, *(row.method for row in board.rows)}
    return sorted({work for name in names if name for text in texts_for(name) for work in text.sources})


def notes(page: LeaderboardPage) -> str:
    """Return what else is to be said of the data, and what runs say of themselves; many of them are folded away."""
    board = page.board
    return notes_list([prose(statement(note, board)) for note in board.notes if not says_simulated(note)])


def provenance(page: LeaderboardPage) -> str:
    """Return the runs with their digests, versions, seed, engine and date; many runs are folded away."""
    board = page.board
    drawn = "permutations" if board.exact else f"{board.n_resamples or 0:,} random draws for pairs, and permutations"
    seed = f"{board.seed} (for {drawn})"
    return traced_tables(page, board, runs=_run_rows(page), concern="leaderboard", seed=seed, packages=_PACKAGES)


def _run_rows(page: LeaderboardPage) -> list[tuple[str, str]]:
    sources = page.board.sources
    digests = {digest for _, digest in sources}
    if len(sources) > 1 and len(digests) == 1 and "" not in digests:
        return [("Runs", f"{len(sources):,}, all from one source, SHA-256 {digests.pop()}")]
    return run_rows(sources, dict(page.files))


def reproduce(page: LeaderboardPage) -> str:
    """Return code that gives the same leaderboard; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)
