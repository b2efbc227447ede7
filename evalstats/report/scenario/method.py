"""How the answer was reached: the method in words, its sources, and where it all came from."""

from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.scenarios.figures import base_name
from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.wording import method_items
from evalstats.analysis.scenarios.words import AVERAGE
from evalstats.report.callouts import notes_list, says_simulated
from evalstats.report.markup import bullets, code_block, linked, prose, sentence
from evalstats.report.provenance import traced_tables
from evalstats.report.scenario.page import ScenarioPage

_PACKAGES = ("polars", "numpy", "scipy", "formulaic", "matplotlib")

_MIXED = "Bates, Mächler, Bolker & Walker 2015, doi:10.18637/jss.v067.i01"
_CROSSED = "Baayen, Davidson & Bates 2008, doi:10.1016/j.jml.2007.12.005"
_MEANS = "Searle, Speed & Milliken 1980, doi:10.1080/00031305.1980.10483031"
_POPULATION = "Zeger, Liang & Albert 1988, doi:10.2307/2531734"
_CR2 = (
    "Bell & McCaffrey 2002, Survey Methodology 28:169",
    "Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004",
)
_BLUP = "Robinson 1991, doi:10.1214/ss/1177011926"
_BOUNDARY = "Self & Liang 1987, doi:10.1080/01621459.1987.10478472"
_THEORY = "Brennan 2001, Generalizability Theory, doi:10.1007/978-1-4757-3456-0"
_PENALTY = "Gelman, Jakulin, Pittau & Su 2008, doi:10.1214/08-AOAS191"
_HOLM = "Holm 1979, Scandinavian Journal of Statistics 6:65"
_HOCHBERG = "Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x"
_SELECTED = "Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907"
_RATIO = "Rao & Scott 1984, doi:10.1214/aos/1176346391"
_BOOTSTRAP = "Halekoh & Højsgaard 2014, doi:10.18637/jss.v059.i09"
_KENWARD = "Kenward & Roger 1997, doi:10.2307/2533558"
_SATTERTHWAITE = "Satterthwaite 1946, doi:10.2307/3002019"
_CROSSING = "Gail & Simon 1985, doi:10.2307/2530862"


def paragraph(page: ScenarioPage) -> str:
    """Return the method: what was fitted, item by item, then what the numbers of the page are."""
    found = page.model
    items = [prose(text) for text in method_items(found) if not text.startswith(("Runs: ", "evalstats "))]
    return f"{bullets(items)}\n\n" + "\n\n".join(prose(text) for text in method_words(found))


def method_words(found: ScenarioModel) -> list[str]:
    """Say what a score, a change and its interval are, as a paper could print it."""
    base = "the mean over its other scenarios" if found.reference == AVERAGE else base_name(found)
    what, level = found.contrast, f"{100 * found.conf_level:g}%"
    said: list[str] = []
    if found.family == "binomial" and found.log_likelihood is not None:
        said.append(
            "The model is linear in log-odds. A probability shown here is averaged over the population of items, not that of an "
            "item of average difficulty, which would be farther from one half."
        )
    if found.drops:
        said.append(
            f"A change is the score in a scenario minus {base}. Its {level} interval and p are adjusted for all changes of the "
            "table (Benjamini-Hochberg: of those shown, at most that rate is expected to be false; Holm's p is in the data). "
            f"Pooled changes are drawn towards those of the other {what}s. Where items are in several scenarios, the "
            "mean of the differences within items stands beside."
        )
    return said


def reference_list(page: ScenarioPage) -> str:
    """Return the works behind every method in the result."""
    return bullets([linked(text) for text in references(page.model)])


def references(found: ScenarioModel) -> list[str]:
    """List the works by author: those of the parts that the result has."""
    named = " ".join([found.method, found.covariance_method, *(test.method for test in found.tests)])
    works = {_MIXED, _CROSSED, _MEANS}
    works |= {work for text in texts_for(named) for work in text.sources}
    conditions = (
        (found.family == "binomial", (_POPULATION,)),
        ("CR2" in named, _CR2),
        ("Satterthwaite" in named, (_SATTERTHWAITE,)),
        ("Kenward" in named, (_KENWARD,)),
        ("bootstrap" in named.lower(), (_BOOTSTRAP,)),
        (any(row.p_adjusted is not None for row in found.drops), (_HOLM, _HOCHBERG, _SELECTED, _RATIO)),
        (any(row.pooled is not None for row in found.drops) or bool(found.effects), (_BLUP,)),
        (any(row.p_value is not None for row in found.variances), (_BOUNDARY,)),
        (found.reliability is not None and found.reliability.relative is not None, (_THEORY,)),
        (found.ranking is not None and bool(found.ranking.crossings), (_CROSSING,)),
        (bool(found.penalty), (_PENALTY,)),
    )
    for holds, sources in conditions:
        if holds:
            works |= set(sources)
    return sorted(works)


def notes(page: ScenarioPage) -> str:
    """Return what else is to be said of the data, and what runs say of themselves; many of them are folded away."""
    return notes_list([prose(sentence(note)) for note in page.model.notes if not says_simulated(note)])


def reproduce(page: ScenarioPage) -> str:
    """Return code that gives the same result; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)


def provenance(page: ScenarioPage) -> str:
    """Return the runs with their digests, versions, seed, engine and date; many runs are folded away."""
    found = page.model
    resamples = f" (for {found.n_resamples:,} resamples)" if found.n_resamples else ""
    return traced_tables(page, found, seed=f"{found.seed}{resamples}", packages=_PACKAGES)
