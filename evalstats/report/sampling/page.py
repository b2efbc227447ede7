"""What the page of ways of sampling says, part by part."""

from dataclasses import dataclass
from datetime import date

from evalstats.datasets.arena_sampling import SamplingStudy, load_arena_sampling
from evalstats.document.blocks import Tone
from evalstats.document.numbers import plural
from evalstats.report.banner import verdict_banner
from evalstats.report.markup import bullets, callout, code_block, metadata, prose
from evalstats.report.opened import shown_day
from evalstats.report.provenance import provenance_float, rendering_rows
from evalstats.report.sampling import tables
from evalstats.report.sampling.answers import Answer, answers, claims
from evalstats.report.sampling.figures import difference_figure, order_figure
from evalstats.report.sampling.lessons import lessons
from evalstats.report.tables import table_float

_PAPER = "arXiv 2508.11452"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPage:
    """The stored simulation, its answers, and how the page was rendered."""

    study: SamplingStudy
    answers: tuple[Answer, ...]
    engine: str = ""
    rendered: date


def open_page(*, engine: str = "", rendered: str = "") -> SamplingPage:
    """Read the stored simulation; nothing is simulated.

    Parameters
    ----------
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.
    """
    study = load_arena_sampling()
    return SamplingPage(
        study=study,
        answers=tuple(answers(study)),
        engine=engine,
        rendered=shown_day(rendered),
    )


def title(page: SamplingPage) -> str:  # noqa: ARG001 - parts of a page are all called alike
    """Return the question as the document's title."""
    return metadata(
        title=prose("Which models should an arena let meet?"),
        subtitle="Ways of sampling against random pairs, by simulation",
    )


def verdict(page: SamplingPage) -> str:
    """Return the banner: how many of the paper's claims the simulated arenas bear out."""
    of = claims(page.answers)
    held, total = len(of["borne out"]), sum(map(len, of.values()))
    tone: Tone = "good" if held == total else "caution" if held or of["in part"] else "bad"
    told = [(words, of[key]) for key, words in (("in part", "In part"), ("not", "Not borne out")) if of[key]]
    return verdict_banner(
        label="All borne out" if held == total else "Partly borne out" if held or of["in part"] else "Not borne out",
        sign="✓" if held == total else "!",
        tone=tone,
        answer=f"Claimed of proximity sampling, and borne out here: {_listed(of['borne out']) or 'nothing'}.",
        why=" ".join(f"{words}: {_listed(listed)}." for words, listed in told),
        meaning="Proximity sampling lets only models of similar rating meet. Here it plays against random pairs in arenas "
        "whose truth is known; the arenas are invented, and the paper's own threshold and simulation could not be read.",
        amount=f"{held} of {total}",
        range_words="claims borne out",
    )


def found(page: SamplingPage) -> str:
    """Return every question with its answer."""
    tones: dict[str, Tone] = {answer.word: answer.tone for answer in page.answers}
    remark = (
        "A comparison is one measure in one world under one way of sampling. It counts as better or worse only where an "
        "interval that holds for all differences of the study at once leaves out 0. Yes: better in more than half and worse in "
        "none. In part: better in some, worse in none. Mixed: better in some, worse in others. No: worse in some, better in "
        "none. For intervals, worse means that they hold the truth less often than 95%."
    )
    return f"{table_float(tables.answer_table(list(page.answers)), 'tbl-answers', tones=tones)}\n\n{prose(remark)}"


def caution(page: SamplingPage) -> str:
    """Return what follows for whoever reads an arena's ratings, in the numbers of the simulation."""
    items = [f"**{prose(lead)}.** {prose(text)}" for lead, text in lessons(page.study)]
    return callout("warning", f"For whoever reads an arena's ratings: {plural(len(items), 'point')}", bullets(items))


def order(page: SamplingPage) -> list[str]:
    """Return the part on accuracy."""
    # References to floats are Markdown, so these words are not escaped; nothing in them came from a file.
    words = (
        "Accuracy is the share of all pairs of models that the ratings put in the true order, (1 + Kendall's tau)/2. @fig-order "
        "shows it while votes come in, @fig-last the difference at the end, @tbl-needed how many votes a target takes."
    )
    made = tables.needed_table(page.study)
    return [
        words,
        order_figure(page.study),
        difference_figure(page.study, "order", "fig-last", last=True),
        table_float(made, "tbl-needed"),
    ]


def steadiness(page: SamplingPage) -> list[str]:
    """Return the part on how far ranks move."""
    words = (
        "Places moved is the mean over models of how far the rank moves: from four fifths of the votes to all of them, and when "
        "raters are drawn again with replacement."
    )
    return _part(page, words, "growth", "resample")


def distances(page: SamplingPage) -> list[str]:
    """Return the part on distances between models."""
    words = (
        "Errors are absolute, of the rating difference between models that are neighbours in truth, and between the first and "
        "the last. The bias keeps its sign."
    )
    return _part(page, words, "near", "far", "far_bias")


def coverage(page: SamplingPage) -> list[str]:
    """Return the part on intervals."""
    words = (
        "How often evalstats' 95% intervals of rating differences hold the truth. They take the schedule as given; under a "
        "schedule that depends on earlier votes they need not hold, and here it is seen how far."
    )
    return _part(page, words, "covered_near", "covered_far")


def transitivity(page: SamplingPage) -> list[str]:
    """Return the part on majorities."""
    words = (
        "Of all triples i over j over k by majority of the direct votes, the share in which k is over i. True strengths are "
        "transitive in every arena, so all of it is chance, and which pairs meet decides how much."
    )
    return _part(page, words, "violations")


def manipulation(page: SamplingPage) -> list[str]:
    """Return the part on a ring."""
    words = (
        "Ten raters push the model in the middle: they choose it wherever it is shown. A ring that waits asks again until it "
        "is shown, so that all its votes count; one that takes what it is shown votes honestly elsewhere. Places won are against "
        "the same arena without a ring."
    )
    return _part(page, words, "ring")


def newcomers(page: SamplingPage) -> list[str]:
    """Return the part on placement matches."""
    words = (
        "One model of each arena loses its votes and comes in anew, among 23 models that are rated already. Errors of its rank "
        "and rating after 50, 100 and 200 votes: placed by series against the middle of what is left and then by proximity, or "
        "against opponents drawn at random."
    )
    made = table_float(tables.newcomer_table(page.study), "tbl-new")
    return [*_part(page, words, "new_rank", "new_rating"), made]


def _part(page: SamplingPage, words: str, *keys: str) -> list[str]:
    """Return words and the figure of each measure."""
    return [prose(words), *(difference_figure(page.study, key, f"fig-{key.replace('_', '-')}") for key in keys)]


def numbers(page: SamplingPage) -> list[str]:
    """Return all measures in tables, one for each world."""
    worlds = page.study.worlds
    return [table_float(tables.world_numbers(page.study, world), f"tbl-{world.replace(' ', '-')}") for world in worlds]


def assumed(page: SamplingPage) -> list[str]:
    """Return what the arenas are made of, and what is not in them."""
    words = (
        "A vote follows Davidson's model of ties. Strengths are drawn anew for every arena; the same arenas, raters and tastes "
        "serve every way of sampling, so differences are paired. Ratings are Bradley-Terry fits with ties as half a win, "
        "refitted between batches with half a vote won and lost by every model added. Truth is the fit to the shares that "
        "endless raters and prompts would give, all pairs alike. Intervals are evalstats' own: clustered by rater, without the "
        "added votes."
    )
    gaps = [
        "No arena's real votes, threshold, placement series or schedule: none is published. Other numbers give other answers.",
        "Votes follow one strength a model. Real votes may not, and then the pairs that meet decide what a rating means.",
        "Every rater is asked about any pair. In real applications who votes may depend on the models shown.",
        f"The ring votes for the model in the middle. The paper ({_PAPER}) may mean other attacks.",
        "Placement is tried with one new model among rated ones; all its raters are honest and alike in activity.",
    ]
    return [
        prose(words),
        table_float(tables.world_table(page.study), "tbl-worlds"),
        table_float(tables.sampling_table(page.study), "tbl-samplings"),
        table_float(tables.settings_table(page.study), "tbl-settings"),
        callout("note", "What is not in it", bullets([prose(gap) for gap in gaps])),
    ]


def rerun(page: SamplingPage) -> str:  # noqa: ARG001 - parts of a page are all called alike
    """Return how the simulation is run again."""
    code = (
        "python -m validation.arena_sampling          # all, some five minutes of processor\n"
        "python -m validation.arena_sampling 0.05     # a twentieth of the arenas\n"
        "evalstats simulate arena -o votes/ --sampling proximity   # votes to try an analysis on\n"
    )
    return code_block(code)


def provenance(page: SamplingPage) -> str:
    """Return where numbers and page come from."""
    rows = (
        ("Stored results", "arena_sampling.json"),
        ("Simulated with", f"evalstats {page.study.version}"),
        ("Root of all seeds", str(page.study.seed)),
        ("Chance", "95% intervals of paired differences, for all differences at once (Bonferroni, t law)"),
        ("Claims", f"Inclusion Arena, {_PAPER}, from its abstract and summaries"),
        *rendering_rows(page),
    )
    return provenance_float(rows)


def _listed(words: list[str]) -> str:
    """Join words: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
