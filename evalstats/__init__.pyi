# The whole public interface, and where each name is imported from when it is first used.

from evalstats import datasets as datasets
from evalstats import plots as plots
from evalstats import simulate as simulate
from evalstats import testing as testing
from evalstats.analysis.arena.arena import arena as arena
from evalstats.analysis.arena.result import ArenaRanking as ArenaRanking
from evalstats.analysis.audit.audit import audit as audit
from evalstats.analysis.audit.result import Audit as Audit
from evalstats.analysis.compare.compare import compare as compare
from evalstats.analysis.compare.result import Comparison as Comparison
from evalstats.analysis.compare.result import Comparisons as Comparisons
from evalstats.analysis.contamination.contamination import contamination as contamination
from evalstats.analysis.contamination.result import ContaminationCheck as ContaminationCheck
from evalstats.analysis.frontier.frontier import frontier as frontier
from evalstats.analysis.frontier.result import Frontier as Frontier
from evalstats.analysis.gap.gap import gap as gap
from evalstats.analysis.gap.result import LabLiveGap as LabLiveGap
from evalstats.analysis.items.items import items as items
from evalstats.analysis.items.result import ItemReport as ItemReport
from evalstats.analysis.judges.judges import judges as judges
from evalstats.analysis.judges.result import JudgeReport as JudgeReport
from evalstats.analysis.leaderboard.leaderboard import leaderboard as leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard as Leaderboard
from evalstats.analysis.leaderboard.result import Leaderboards as Leaderboards
from evalstats.analysis.mixed.means import Means as Means
from evalstats.analysis.mixed.mixed import mixed as mixed
from evalstats.analysis.mixed.result import MixedModel as MixedModel
from evalstats.analysis.overview.changes_result import Changes as Changes
from evalstats.analysis.overview.overview import overview as overview
from evalstats.analysis.overview.result import Overview as Overview
from evalstats.analysis.posterior.result import Posterior as Posterior
from evalstats.analysis.posterior.result import RankPosterior as RankPosterior
from evalstats.analysis.power.power import power as power
from evalstats.analysis.power.result import PowerPlan as PowerPlan
from evalstats.analysis.reliability.reliability import reliability as reliability
from evalstats.analysis.reliability.result import ReliabilityReport as ReliabilityReport
from evalstats.analysis.result import show as show
from evalstats.analysis.saved import load_result as load_result
from evalstats.analysis.scenarios.result import ScenarioModel as ScenarioModel
from evalstats.analysis.scenarios.scenarios import scenarios as scenarios
from evalstats.analysis.score.result import Score as Score
from evalstats.analysis.score.result import Scores as Scores
from evalstats.analysis.score.score import score as score
from evalstats.errors import (
    CannotAnswerError as CannotAnswerError,
)
from evalstats.errors import (
    EvalStatsError as EvalStatsError,
)
from evalstats.errors import (
    EvalStatsWarning as EvalStatsWarning,
)
from evalstats.errors import (
    InputError as InputError,
)
from evalstats.errors import (
    RenderError as RenderError,
)
from evalstats.errors import (
    StoreError as StoreError,
)
from evalstats.errors import (
    UnreadableFileError as UnreadableFileError,
)
from evalstats.exporters.export import export as export
from evalstats.exporters.label_sheet import LabelSheet as LabelSheet
from evalstats.exporters.label_sheet import draw_labels as draw_labels
from evalstats.exporters.label_sheet import open_labels as open_labels
from evalstats.loaders.column_map import ColumnMap as ColumnMap
from evalstats.loaders.declarations import read_plan as read_plan
from evalstats.loaders.frames import from_frame as from_frame
from evalstats.loaders.frames import from_votes as from_votes
from evalstats.loaders.mlflow_runs import from_mlflow as from_mlflow
from evalstats.loaders.ratings import from_ratings as from_ratings
from evalstats.loaders.registry import read as read
from evalstats.loaders.scan import scan as scan
from evalstats.report.render import report as report
from evalstats.schema.columns import glossary as glossary
from evalstats.schema.data import EvalData as EvalData
from evalstats.schema.plan import Plan as Plan
from evalstats.simulate.arena import simulate_arena as simulate_arena
from evalstats.simulate.rutbench import simulate_rutbench as simulate_rutbench
from evalstats.store.read import open_store as open_store

__version__: str
