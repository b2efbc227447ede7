"""What the ratings hang on: the side, style, ties, both-bad votes and the schedule."""

from evalstats.analysis.arena import figures
from evalstats.analysis.arena.figures import MOST_ARROWS, shown_choice
from evalstats.analysis.arenas.wording_answer import choices_sentences
from evalstats.analysis.arenas.wording_choices import choice_lines, choices_table, covariate_lines, covariates_table
from evalstats.analysis.arenas.words import whole
from evalstats.report.arena.blocks import sentences, table_of
from evalstats.report.arena.page import ArenaPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import prose

# The side alone moves ratings by little, and the table above says by how much.
_STYLE = ("without covariates", "with style")


def other_choices(page: ArenaPage) -> str:
    """Return the same votes under other choices."""
    found = page.found
    if not found.converged:
        return ""
    table = choices_table(found)
    if table is None:
        if not whole(found):
            return prose(
                "Not looked at: the votes leave several parts, and other choices are fitted to one scale alone."
            )
        return prose("No other choice could be fitted to these votes.")
    lead = prose(" ".join(choices_sentences(found)))
    return f"{lead}\n\n{table_of(table, 'tbl-choices')}\n\n{sentences(choice_lines(found))}"


def style(page: ArenaPage) -> str:
    """Return what moves a vote beside the models, and an arrow for each model's rating with and without it."""
    found = page.found
    table = covariates_table(found)
    if not found.converged or table is None:
        if not whole(found):
            return prose(
                "Not estimated: the votes leave several parts, and side and style are estimated on one scale alone."
            )
        return prose("These votes say nothing of the side or of the style of the answers.")
    said = [table_of(table, "tbl-style"), sentences(covariate_lines(found))]
    choice = shown_choice(found)
    arrows = None if choice is None else figures.choice(found, choice.key)
    if choice is not None and arrows is not None and choice.key in _STYLE:
        caption = (
            f"{choice.title}: each arrow runs from a model's rating without it to that with it. Style goes with being preferred; "
            "whether users like it for itself, votes do not tell, so neither end is the true one."
        )
        known = sum(value is not None for value in choice.ratings)
        if known > MOST_ARROWS:
            caption += " Of many models those that move most are drawn."
        figure = figure_float(
            arrows,
            "fig-style",
            caption=prose(caption),
        )
        said.insert(1, figure)
    return "\n\n".join(part for part in said if part)
