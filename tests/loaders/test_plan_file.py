"""`evalstats.toml` as people write it, right and wrong."""

import re
from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.declarations import column_map_of, find_plan, plan_from_tables, read_plan
from evalstats.schema.plan import ADJUSTMENTS, FAIL_ON, SETTINGS, Margin, Plan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan.md"


def write(folder: Path, text: str) -> Path:
    path = folder / "evalstats.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_plan(write(folder, text))
    message = str(caught.value)
    assert message.startswith(f"{folder / 'evalstats.toml'}: ")
    return message


@pytest.fixture(scope="module")
def example() -> str:
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found
    return found[1]


def test_the_example_of_the_page_says_what_it_says(tmp_path: Path, example: str) -> None:
    plan = read_plan(write(tmp_path, example))
    assert plan == Plan(
        source="evalstats.toml",
        baseline="assistant-v1",
        conf_level=0.95,
        adjust="max-t",
        clusters=("passage",),
        families=("scenario",),
        accept=("temperature",),
        fail_on=("worse", "not-noninferior"),
        primary={"support-bench": "resolved", "tool-bench": "success"},
        margins=(
            Margin(
                value="2pp",
                reason="below two points the support team saw no change in reopened tickets (January pilot)",
                benchmark="support-bench",
                metric="resolved",
            ),
            Margin(value=0.5, reason="users do not notice half a second in a chat", metric="latency_s"),
        ),
        aliases={"assistant-2026-02-01": "assistant-v1", "gpt-4.1-2025-04-14": "gpt-4.1"},
        metrics={"jailbroken": {"higher_is_better": False}, "helpfulness": {"low": 1.0, "high": 5.0}},
        column_map={
            "dependence": ["passage"],
            "columns": {"item": "question_id", "score": "correct"},
            "constants": {"benchmark": "support-bench"},
        },
    )
    map_ = column_map_of(plan)
    assert map_ == ColumnMap(
        columns={"item": ("question_id",), "score": ("correct",)},
        constants={"benchmark": "support-bench"},
        dependence=("passage",),
    )


def test_the_page_names_every_level(example: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in (*ADJUSTMENTS, *FAIL_ON):
        assert name in page
    listed = re.search(r"Settings for `accept`: (.*?)\.\n", page, flags=re.DOTALL)
    assert listed
    assert tuple(re.findall(r"`(\w+)`", listed[1])) == SETTINGS


def test_comments_spacing_and_order_do_not_change_the_digest(tmp_path: Path, example: str) -> None:
    first = read_plan(write(tmp_path, example)).digest
    bare = re.sub(r"\s*#.*", "", example)
    tables = re.split(r"\n(?=\[(?!map\.))", bare.strip())
    turned = "\n\n\n".join(reversed(tables)).replace(" = ", "=")
    assert read_plan(write(tmp_path, turned)).digest == first
    windows = "\ufeff" + example.replace("\n", "\r\n")
    (tmp_path / "evalstats.toml").write_bytes(windows.encode())
    assert read_plan(tmp_path / "evalstats.toml").digest == first
    assert read_plan(write(tmp_path, example.replace("0.95", "0.9"))).digest != first


def test_an_empty_file_is_an_empty_plan(tmp_path: Path) -> None:
    assert read_plan(write(tmp_path, "")) == Plan(source="evalstats.toml")


def test_one_name_may_stand_without_a_list(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, '[plan]\nclusters = "passage"\n[gate]\nfail_on = "worse"'))
    assert (plan.clusters, plan.fail_on) == (("passage",), ("worse",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # keys
        ("[plan]\nconf_levle = 0.9", "'conf_levle' is no key of [plan]; did you mean 'conf_level'?"),
        ("[plan]\ncluster = 'x'", "'cluster' is no key of [plan]; did you mean 'clusters'?"),
        ("[plan]\nzzz = 1", "there are baseline, conf_level, adjust"),
        ("[plan]\nfail_on = 'worse'", "'fail_on' is no key of [plan]; 'fail_on' belongs in [gate]"),
        ("[plan]\nmargin = '2pp'", "'margins' is a table of its own: [margins]"),
        ("conf_level = 0.9", "neither a table nor a key of a plan; 'conf_level' belongs in [plan]"),
        ("[plans]\n", "did you mean 'plan'?"),
        ("[gate]\nfailon = 'worse'", "'failon' is no key of [gate]; did you mean 'fail_on'?"),
        ("[map]\ncolumn = 1", "'column' is no key of [map]; did you mean 'columns'?"),
        ("[map.columns]\niterm = 'q'", "did you mean 'item'?"),
        # types
        ("[plan]\nconf_level = '0.9'", "conf_level must be a number, written without quotes; found the text '0.9'"),
        ("[plan]\nconf_level = true", "conf_level must be a number; found the truth value true"),
        ("[plan]\nbaseline = 3", "baseline must be text in quotes; found the number 3"),
        ("[plan]\nbaseline = ''", "baseline is empty"),
        ("[plan]\nclusters = 3", 'clusters must be a list of names, as in clusters = ["one", "two"]; found the number 3'),
        ("[plan]\nclusters = ['a', 2]", "every name in clusters must be text in quotes; found the number 2"),
        ("[plan]\nclusters = ['a', 'a']", "clusters names 'a' twice"),
        ("plan = 3", "plan must be a table, that is [plan] with its keys below; found the number 3"),
        ("[primary]\nbench = 2026-01-01", "the metric that decides the benchmark, in quotes; found the date"),
        ("[aliases]\ngpt-4.1 = 'x'", 'a name with a dot in it is written in quotes, "gpt-4.1"'),
        ("[margins]\nvalue = '2pp'", "write [[margins]] with two brackets"),
        ("margins = 2", "margins is a list of tables, each begun by [[margins]]; found the number 2"),
        ("margins = [2]", "[[margins]] number 1 must be a table with value and reason; found the number 2"),
        # values
        ("[plan]\nconf_level = 95", "conf_level is 95.0; it must lie above 0.5 and below 1"),
        ("[plan]\nconf_level = nan", "conf_level is nan"),
        ("[plan]\nadjust = 'tukey'", "adjust is 'tukey'; it must be one of max-t"),
        ("[plan]\naccept = ['promt']", "did you mean 'prompt'?"),
        ("[gate]\nfail_on = ['bad']", "fail_on is 'bad'; it must be one of worse"),
        ("[[margins]]\nvalue = '2pp'", "[[margins]] number 1 has no reason"),
        ("[[margins]]\nreason = 'x'", "[[margins]] number 1 has no value"),
        ("[[margins]]\nvalue = '2pp'\nreason = ' '", "[[margins]] number 1: reason is empty"),
        ("[[margins]]\nvalue = -1\nreason = 'x'", "[[margins]] number 1: margin is -1"),
        ("[[margins]]\nvalue = [1]\nreason = 'x'", "found a list"),
        ("[[margins]]\nvalue = 1\nreason = 'x'\nmetrics = 'm'", "no key of [[margins]] number 1; did you mean 'metric'"),
        ("[aliases]\na = 'b'\nb = 'c'", "has an alias itself"),
        # TOML itself
        ("[plan]\nbaseline = \n", "is not TOML: Invalid value (at line 2"),
        ("[plan]\n[plan]\n", "is not TOML: Cannot declare ('plan',) twice (at line 2"),
    ],
)  # fmt: skip
def test_what_no_plan_has_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    assert words in refused(tmp_path, text)


def test_files_that_are_no_text_or_too_long_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "evalstats.toml"
    path.write_bytes(b"[plan]\n\nbaseline = '\xff'\n")
    with pytest.raises(InputError, match="line 3 is not UTF-8"):
        read_plan(path)
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="longer than 1 MiB"):
        read_plan(path)
    with pytest.raises(InputError, match="cannot be opened"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be opened"):
        read_plan(tmp_path)
    assert "is not TOML" in refused(tmp_path, "a = " + "[" * 5000)


def test_the_source_has_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "somewhere private"
    folder.mkdir()
    assert read_plan(write(folder, "")).source == "evalstats.toml"


def test_a_plan_is_found_in_its_folder_and_not_above(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    path = write(tmp_path, "")
    assert find_plan(tmp_path) == path
    assert find_plan(below) is None
    (below / "evalstats.toml").mkdir()
    assert find_plan(below) is None


def test_a_plan_without_a_map_has_none() -> None:
    assert column_map_of(plan_from_tables({})) is None


def test_a_metric_is_declared_by_its_scale_as_well() -> None:
    assert plan_from_tables({"metrics": {"x": {"scale": "0.."}}}).metrics == {"x": {"low": 0.0}}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"better": "lower"}, "better = 'lower' is not understood; it may hold"),
        ({"primary": True}, "primary belongs in [primary]"),
        ({"low": 2, "high": 1}, "low = 2 is not below high = 1"),
    ],
)
def test_what_no_metric_has_is_refused(facts: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        plan_from_tables({"metrics": {"x": facts}})
    assert said in str(caught.value)
