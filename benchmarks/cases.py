"""What is measured: one table of cases, each with its sizes, our call, and the other packages that answer the same question."""

from dataclasses import dataclass
from typing import Final

OURS: Final = "evalstats-toolkit"
SLOWER: Final = 1.5  # a ratio this many times smaller than the stored one is a regression
NAMESAKE: Final = "evalstats"  # another project with our name; it needs an environment of its own

# A function of `ours.py`, `peers.py` or `lme4.R`; or a command, whose first word is a program of the environment.
Run = str | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another package: how it is called, where it is installed, and the largest size that it is given."""

    package: str
    run: Run
    most: int
    environment: str = "science"
    rounds: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question of several sizes.

    Attributes
    ----------
    run, peers
        Our side, and the others.
    rounds
        What a call repeats inside itself: its cost is divided by that.
    problem
        The function of `problems.py` that makes the data.
    truth, miss
        The function of `truth.py` that tells how far an answer is from the exact one, and what that is measured in.
    quick
        The size and the packages that `make bench-check` measures again.
    """

    name: str
    title: str
    unit: str
    sizes: tuple[int, ...]
    problem: str
    run: Run
    peers: tuple[Peer, ...] = ()
    rounds: int = 1
    truth: str = ""
    miss: str = ""
    quick: tuple[int, tuple[str, ...]] | None = None


def _namesake(run: Run, most: int, note: str = "") -> Peer:
    return Peer(package=NAMESAKE, run=run, most=most, environment="namesake", note=note)


_PARSE: Final = """
import sys, msgspec, orjson
if sys.argv[1] == "msgspec":
    record = msgspec.defstruct("Record", [("doc_id", int), ("doc_hash", str), ("acc", float)])
    parse = msgspec.json.Decoder(record).decode
else:
    parse = orjson.loads
for line in open(sys.argv[2], "rb"): parse(line)
"""
_SAMPLES = "{folder}/samples_t_2026-02-03T04-05-06.789012.jsonl"

CASES: Final = (
    Case(
        name="bootstrap",
        title="Bootstrap interval of a mean difference",
        unit="items",
        sizes=(100, 1000, 10_000, 1_000_000),
        problem="pairs",
        run="bootstrap",
        peers=(
            Peer(package="scipy", run="scipy_bootstrap", most=10_000, note="9,999 resamples"),
            Peer(package="arch", run="arch_bootstrap", most=10_000, note="9,999 resamples"),
            _namesake("namesake_bootstrap", 10_000, "9,999 resamples"),
        ),
        truth="bootstrap",
        miss="standard errors",
        quick=(1000, ("scipy", "arch")),
    ),
    Case(
        name="tango",
        title="Tango interval of a difference of proportions",
        unit="items",
        sizes=(100, 10_000, 1_000_000),
        problem="pairs",
        run="tango_interval",
        peers=(_namesake("namesake_tango", 1_000_000),),
        truth="tango",
        miss="of the limit",
        quick=(10_000, (NAMESAKE,)),
    ),
    Case(
        name="clusters",
        title="Standard error of a mean of items in clusters",
        unit="items",
        sizes=(200, 10_000, 1_000_000),
        problem="clustered",
        run="cluster_interval",
        peers=(
            Peer(package="errorbars", run="errorbars_clusters", most=1_000_000, note="CR1, no degrees of freedom"),
            Peer(package="statsmodels", run="statsmodels_clusters", most=1_000_000, note="OLS, CR1"),
        ),
        quick=(10_000, ("errorbars", "statsmodels")),
    ),
    Case(
        name="signed-rank",
        title="Signed rank test, with the Hodges-Lehmann interval",
        unit="items",
        sizes=(100, 1000, 10_000),
        problem="graded",
        run="signed_rank_interval",
        peers=(
            Peer(package="scipy", run="scipy_signed_rank", most=10_000, note="no interval"),
            Peer(package="pingouin", run="pingouin_signed_rank", most=10_000, note="no interval"),
        ),
        quick=(1000, ("scipy", "pingouin")),
    ),
    Case(
        name="users",
        title="Difference of the means of different users",
        unit="users",
        sizes=(1000, 100_000, 1_000_000),
        problem="users",
        run="two_samples",
        peers=(
            Peer(package="tea-tasting", run="tea_tasting_means", most=1_000_000),
            Peer(package="pingouin", run="pingouin_means", most=1_000_000),
        ),
        quick=(100_000, ("tea-tasting", "pingouin")),
    ),
    Case(
        name="tau",
        title="Kendall's tau-b",
        unit="pairs of scores",
        sizes=(100, 5000, 20_000),
        problem="graded",
        run="tau",
        peers=(
            Peer(package="scipy", run="scipy_tau", most=20_000),
            Peer(package="pingouin", run="pingouin_tau", most=20_000),
        ),
        truth="tau",
        miss="of tau",
        quick=(5000, ("scipy", "pingouin")),
    ),
    Case(
        name="alpha",
        title="Krippendorff's alpha of five raters, ordinal, with its interval",
        unit="units",
        sizes=(100, 1000, 10_000),
        problem="ratings_of_five",
        run="alpha",
        peers=(Peer(package="krippendorff", run="krippendorff_alpha", most=10_000, note="no interval"),),
        truth="alpha",
        miss="of alpha",
        quick=(1000, ("krippendorff",)),
    ),
    Case(
        name="correction",
        title="Mean of a judge's verdicts, corrected by people's labels",
        unit="items",
        sizes=(1000, 100_000, 1_000_000),
        problem="judged",
        run="corrected_mean",
        peers=(Peer(package="ppi-python", run="ppi_mean", most=1_000_000, note="the interval alone"),),
        quick=(100_000, ("ppi-python",)),
    ),
    Case(
        name="comparison",
        title="Everything a comparison reports",
        unit="items",
        sizes=(100, 1000, 10_000),
        problem="pairs",
        run="comparison",
        peers=(_namesake("namesake_comparison", 10_000, "its own choice of methods"),),
        quick=(1000, (NAMESAKE,)),
    ),
    Case(
        name="all-pairs",
        title="All pairs of models, adjusted for their family",
        unit="models x 2,000 items",
        sizes=(5, 10, 20, 40),
        problem="board",
        run="all_pairs",
        peers=(
            Peer(package="statsmodels", run="statsmodels_pairs", most=40, note="McNemar and Holm, no intervals"),
            _namesake("namesake_pairs", 10, "its own choice of methods"),
        ),
        quick=(10, ("statsmodels",)),
    ),
    Case(
        name="linear",
        title="Linear mixed model, three crossed factors",
        unit="rows",
        sizes=(1000, 15_000, 31_122, 1_000_000),
        problem="linear",
        run="linear",
        peers=(
            Peer(package="glmm", run="glmm_linear", most=31_122),
            Peer(package="mixedlm", run="mixedlm_linear", most=31_122),
            Peer(package="statsmodels", run="statsmodels_linear", most=1000),
            Peer(package="lme4", run="linear", most=31_122, environment="R"),
        ),
        truth="likelihood",
        miss="of log-likelihood",
        quick=(1000, ("glmm", "mixedlm")),
    ),
    Case(
        name="binomial",
        title="Logistic mixed model, Laplace",
        unit="rows",
        sizes=(1000, 5000, 31_122),
        problem="binomial",
        run="binomial",
        peers=(
            Peer(package="glmm", run="glmm_binomial", most=5000),
            Peer(package="mixedlm", run="mixedlm_binomial", most=5000),
            Peer(package="lme4", run="binomial", most=5000, environment="R"),
        ),
        truth="likelihood",
        miss="of log-likelihood",
        quick=(1000, ("glmm", "mixedlm")),
    ),
    Case(
        name="components",
        title="Variance components, three crossed facets, a fifth missing",
        unit="rows",
        sizes=(1000, 5000, 15_000),
        problem="facets",
        run="components",
        peers=(Peer(package="statsmodels", run="statsmodels_components", most=1000),),
    ),
    Case(
        name="item-response",
        title="Two-parameter item response model",
        unit="answers",
        sizes=(10_000, 100_000, 1_000_000),
        problem="answers",
        run="item_response",
        peers=(Peer(package="girth", run="girth_curves", most=10_000, note="no standard errors, no abilities"),),
        quick=(10_000, ("girth",)),
    ),
    Case(
        name="beyond-trials",
        title="pass^8 of 4 trials, beta-binomial, with its interval",
        unit="items",
        sizes=(100, 10_000, 1_000_000),
        problem="trials",
        run="beyond_trials",
        peers=(Peer(package="scipy", run="scipy_betabinom", most=10_000, note="the fit alone, Nelder-Mead"),),
        quick=(100, ("scipy",)),
    ),
    Case(
        name="posterior",
        title="Posterior of a difference of clustered items, four priors",
        unit="items",
        sizes=(200, 10_000, 1_000_000),
        problem="clustered",
        run="posterior",
    ),
    Case(
        name="new-task",
        title="Ranks of 40 models on a new task, each task left out once",
        unit="tasks",
        sizes=(20, 100, 1000),
        problem="tasks",
        run="new_task",
    ),
    Case(
        name="ratings",
        title="Ratings of 100 models with standard errors",
        unit="votes",
        sizes=(10_000, 100_000, 1_000_000),
        problem="votes",
        run="ratings",
        peers=(
            Peer(package="evalica", run="evalica_ratings", most=1_000_000, note="no standard errors"),
            Peer(package="arena-rank", run="arena_rank_ratings", most=1_000_000),
            Peer(package="choix", run="choix_ratings", most=1_000_000, note="no standard errors"),
        ),
        truth="ratings",
        miss="of a log-strength",
        quick=(100_000, ("evalica", "choix")),
    ),
    Case(
        name="rounds",
        title="A bootstrap round of the ratings",
        unit="votes",
        sizes=(10_000, 100_000),
        problem="votes",
        run="rounds",
        rounds=1000,
        peers=(
            Peer(package="evalica", run="evalica_rounds", most=100_000, rounds=3),
            Peer(package="arena-rank", run="arena_rank_rounds", most=100_000, rounds=3),
            Peer(package="choix", run="choix_rounds", most=100_000, rounds=3),
        ),
        quick=(10_000, ("evalica", "choix")),
    ),
    Case(
        name="start",
        title="evalstats --help",
        unit="",
        sizes=(1,),
        problem="nothing",
        run=("evalstats", "--help"),
        peers=(
            _namesake(("evalstats", "--help"), 1),
            Peer(package="evalica", run=("evalica", "--help"), most=1),
        ),
        quick=(1, (NAMESAKE, "evalica")),
    ),
    Case(
        name="compare-command",
        title="evalstats compare scores.csv",
        unit="items",
        sizes=(1000, 10_000),
        problem="two_runs",
        run=("evalstats", "compare", "{folder}/scores.csv", "--baseline", "a", "--candidate", "b"),
        peers=(
            _namesake(("evalstats", "analyze", "{folder}/scores.csv", "--factor", "model"), 10_000),
            Peer(
                package="scipy",
                run=("python", "{here}/by_hand.py", "{folder}/scores.csv"),
                most=10_000,
                note="a script: pandas, McNemar, bootstrap",
            ),
        ),
        quick=(1000, (NAMESAKE, "scipy")),
    ),
    Case(
        name="leaderboard-command",
        title="evalstats leaderboard scores.csv",
        unit="models x 2,000 items",
        sizes=(5, 20),
        problem="many_runs",
        run=("evalstats", "leaderboard", "{folder}/scores.csv"),
        peers=(_namesake(("evalstats", "analyze", "{folder}/scores.csv", "--factor", "model"), 5),),
    ),
    Case(
        name="arena-command",
        title="evalstats arena votes.csv",
        unit="votes",
        sizes=(10_000, 100_000),
        problem="vote_table",
        run=("evalstats", "arena", "{folder}/votes.csv"),
        peers=(
            Peer(
                package="evalica",
                run=("evalica", "-i", "{folder}/evalica.csv", "pairwise", "bradley-terry"),
                most=100_000,
                note="scores alone",
            ),
        ),
        quick=(10_000, ("evalica",)),
    ),
    Case(
        name="arena-parquet",
        title="evalstats arena votes.parquet",
        unit="votes",
        sizes=(1_000_000, 10_000_000),
        problem="vote_parquet",
        run=("evalstats", "arena", "{folder}/votes.parquet"),
    ),
    Case(
        name="ingest-command",
        title="evalstats ingest samples.jsonl",
        unit="MB",
        sizes=(1, 10),
        problem="samples",
        run=("evalstats", "ingest", _SAMPLES, "--store", "{fresh}"),
        peers=tuple(
            Peer(package=name, run=("python", "-c", _PARSE, name, _SAMPLES), most=10, note=note)
            for name, note in (("msgspec", "three typed members of every line"), ("orjson", "every line"))
        ),
        quick=(10, ("msgspec", "orjson")),
    ),
)
