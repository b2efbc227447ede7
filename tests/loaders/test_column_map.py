"""A column map says the same whether it is written as options, as TOML or in Python, and refuses what it cannot mean."""

import re
from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.loaders.bound_columns import bind
from evalstats.loaders.column_map import MAPPABLE, ColumnMap, DeclaredMetric, Scale, column_named, scale_of
from evalstats.loaders.registry import read
from evalstats.schema.columns import column_names

TOML = """
dependence = ["passage"]
scale = "0..10"

[columns]
item = "question_id"
score = ["exact", "f1"]
difficulty = "level"

[values.score]
pass = 1
fail = 0
-1 = "unscored"

[values.status]
done = "scored"

[constants]
benchmark = "my-bench"
n_shots = 5
cot = true

[metrics.f1]
kind = "bounded"
low = 0
high = 100
higher_is_better = true
unit = "percent"
primary = true
"""


def test_options() -> None:
    map_ = ColumnMap.from_options(
        ["item=question_id", " score = acc ", "model=@gpt-4o", "scale=percent", "dependence=passage, doc", "domain=a=b"]
    )
    assert map_.columns == {"item": ("question_id",), "score": ("acc",), "domain": ("a=b",)}
    assert map_.constants == {"model": "gpt-4o"}
    assert map_.scale == Scale(low=0.0, high=100.0, unit="percent")
    assert map_.dependence == ("passage", "doc")


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(TOML)
    map_ = ColumnMap.from_toml(path)
    assert map_.columns == {"item": ("question_id",), "score": ("exact", "f1"), "difficulty": ("level",)}
    assert map_.values == {"score": {"pass": 1.0, "fail": 0.0, "-1": "unscored"}, "status": {"done": "scored"}}
    assert map_.constants == {"benchmark": "my-bench", "n_shots": "5", "cot": "true"}
    assert map_.scale == Scale(low=0.0, high=10.0)
    assert map_.dependence == ("passage",)
    assert map_.metrics == {
        "f1": DeclaredMetric(kind="bounded", low=0.0, high=100.0, higher_is_better=True, unit="percent", primary=True)
    }


def test_a_toml_file_among_the_options_and_options_that_win_over_it(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(TOML)
    map_ = ColumnMap.from_options([str(path), "score=acc", "benchmark=bench", "item=@@id", "scale=1..5"])
    assert map_.columns["score"] == ("acc",)
    assert map_.columns["item"] == ("@id",)
    assert map_.columns["benchmark"] == ("bench",)
    assert "benchmark" not in map_.constants
    assert map_.scale == Scale(low=1.0, high=5.0)
    assert map_.values["score"] == {"pass": 1.0, "fail": 0.0, "-1": "unscored"}


def test_a_constant_takes_the_place_of_a_column() -> None:
    map_ = ColumnMap.from_options(["model=system", "model=@m"])
    assert (dict(map_.columns), dict(map_.constants)) == ({}, {"model": "m"})


def test_the_map_is_kept_as_json_safe_values(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(TOML)
    config = ColumnMap.from_toml(path).as_config()
    assert config["columns"] == {"item": ["question_id"], "score": ["exact", "f1"], "difficulty": ["level"]}
    assert config["scale"] == {"low": 0.0, "high": 10.0}
    assert ColumnMap().as_config() == {}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("item", "'item' is not a map of a column; write standard=column"),
        ("=x", "is not a map of a column"),
        ("item=", "is not a map of a column"),
        ("modle=system", "'modle' is no standard column; did you mean 'model'?"),
        ("value_raw=x", "cannot be mapped"),
        ("score=@1", "score is the same on every row"),
        ("item=@1", "item is the same on every row"),
        ("score=#row", "score=#row has no meaning; write item=#row"),
        ("item=#order", "item=#order has no meaning; write trial=#order"),
        ("scale=high", "scale 'high' is not understood; write percent, proportion, LOW..HIGH"),
        ("none.toml", "none.toml: cannot be opened (No such file"),
    ],
)
def test_options_that_mean_nothing(option: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        ColumnMap.from_options([option])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[column]\nitem = 'x'", "'column' is not part of a column map; it may hold columns, constants"),
        ("[columns]\nitem = 3", "item must name a column, or several in a list; found 3"),
        ("[columns]\nitem = ['a', 'b']", "item is mapped to 2 columns; give one (only score may have several)"),
        ("[columns]\nscore = []", "score must name a column"),
        ("[columns]\nscale = 'percent'", "scale is not a column; in a TOML file it stands at the top"),
        (
            "[values.score]\npass = 'good'",
            "[values.score] pass must stand for a number, or be unscored or error; found 'good'",
        ),
        ("[values]\nscore = 3", "[values.score] must be a table"),
        ("[constants]\nmodel = ['a']", "constant model must be a text or a number; found ['a']"),
        ("[metrics.f1]\nkind = 'nice'", "[metrics.f1] kind = 'nice' is not understood"),
        ("[metrics.f1]\nlow = true", "[metrics.f1] low = True is not understood"),
        ("[metrics.f1]\nlow = 2\nhigh = 1", "low = 2 is not below high = 1"),
        ("dependence = 3", "dependence must name a column"),
        ("[columns\n", "is not TOML"),
        ("a = " + "[" * 5000, "is not TOML"),
        ("x = '" + "y" * (2 << 20) + "'", "is longer than 1 MiB"),
    ],
)
def test_toml_that_means_nothing_names_the_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"map\.toml: ") as caught:
        ColumnMap.from_toml(path)
    assert said in str(caught.value)


def test_toml_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_bytes("[columns]\nitem = 'ü'".encode("latin-1"))
    with pytest.raises(InputError, match=r"map\.toml: line 2 is not UTF-8 text"):
        ColumnMap.from_toml(path)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("percent", Scale(low=0, high=100, unit="percent")),
        ("proportion", Scale(low=0, high=1, unit="proportion")),
        ("-1..1", Scale(low=-1, high=1)),
        ("0.5..10", Scale(low=0.5, high=10)),
        ("0..", Scale(low=0, high=None)),
        ("..0", Scale(low=None, high=0)),
    ],
)
def test_scales(text: str, scale: Scale) -> None:
    assert scale_of(text) == scale


@pytest.mark.parametrize("text", ["5..1", "1..1", "1-5", "..", "1...5"])
def test_scales_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="is not understood"):
        scale_of(text)


def test_a_sign_written_twice_stands_for_itself() -> None:
    assert [column_named(source) for source in ("#row", "#order", "##row", "#other", "x")] == [
        None,
        None,
        "#row",
        "#other",
        "x",
    ]


def test_every_column_but_the_two_that_are_made_can_be_mapped() -> None:
    assert set(column_names("outcomes")) - set(MAPPABLE) == {"value_raw", "locator"}


# What a map means for the columns that a table really has.


def test_columns_with_standard_names_need_no_map() -> None:
    binding = bind(ColumnMap(), ["item", "model", "score", "scenario", "level"])
    assert binding.columns == {"item": "item", "model": "model", "scenario": "scenario"}
    assert binding.scores == {"score": "score"}
    assert binding.factors == {"level": "level"}
    assert binding.own_names == ()


def test_a_mapped_column_is_not_also_taken_for_what_it_is_called() -> None:
    binding = bind(ColumnMap.from_options(["model=system", "score=acc"]), ["item", "system", "acc"])
    assert binding.columns == {"item": "item", "model": "system"}
    assert binding.own_names == ()


def test_a_column_that_lost_its_name_to_another_is_kept_under_a_new_one() -> None:
    binding = bind(ColumnMap.from_options(["score=acc", "status=@scored"]), ["item", "model", "score", "acc", "status"])
    assert binding.factors == {"source_score": "score", "source_status": "status"}


def test_the_source_s_own_names_are_remembered() -> None:
    map_ = ColumnMap.from_options(["scenario=dimension", "item=question_id", "error=crash"])
    binding = bind(map_, ["question_id", "dimension", "model", "score", "crash"])
    assert set(binding.own_names) == {"dimension=scenario", "question_id=item"}


def test_factors_can_be_renamed() -> None:
    binding = bind(ColumnMap.from_options(["level=difficulty"]), ["item", "model", "score", "difficulty"])
    assert binding.factors == {"level": "difficulty"}


@pytest.mark.parametrize(
    ("source", "columns", "scores"),
    [
        ("acc,none", ["acc,none"], {"acc,none": "acc,none"}),
        ("acc,f1", ["acc", "f1"], {"acc": "acc", "f1": "f1"}),
        ("acc, f1", ["acc", "f1"], {"acc": "acc", "f1": "f1"}),
    ],
)
def test_a_comma_in_a_score_s_source(source: str, columns: list[str], scores: dict[str, str]) -> None:
    binding = bind(ColumnMap.from_options([f"score={source}"]), ["item", "model", *columns])
    assert binding.scores == scores


def test_a_metric_column_names_the_scores() -> None:
    assert bind(ColumnMap(), ["item", "model", "score", "metric"]).scores == {None: "score"}
    map_ = ColumnMap.from_options(["metric=@accuracy", "score=c"])
    assert bind(map_, ["item", "model", "c"]).scores == {None: "c"}


def test_dependence_under_the_names_of_the_outcomes() -> None:
    map_ = ColumnMap.from_options(["passage=doc", "user=uid", "dependence=batch,dimension", "scenario=dimension"])
    binding = bind(map_, ["item", "model", "score", "doc", "uid", "batch", "dimension"])
    assert binding.dependence == ("passage", "user", "batch", "scenario")


def test_a_user_column_that_is_only_there_is_no_declared_dependence() -> None:
    assert bind(ColumnMap(), ["item", "model", "score", "user"]).dependence == ()


def test_the_file_s_name_stands_in_for_the_model() -> None:
    assert bind(ColumnMap(), ["item", "score"], model="gpt").constants == {"model": "gpt"}
    assert bind(ColumnMap(), ["item", "score", "model"], model="gpt").constants == {}


@pytest.mark.parametrize(
    ("options", "columns", "said"),
    [
        (["item=q"], ["item", "score"], "there is no column 'q' for item; the table has item, score"),
        (["model=gpt"], ["item", "score"], "for one value on every row write --map model=@gpt"),
        (["score=a,b"], ["item", "a"], "there is no column 'b' for score"),
        (
            [],
            ["score", "model"],
            "no column is called item; name it: --map item=COLUMN (the table has score",
        ),
        ([], ["score", "model"], "was given the same items in the same order, --map 'item=#row'"),
        ([], ["item", "model"], "no column is called score; name it: --map score=COLUMN"),
        ([], ["item", "score"], "no column is called model; name it: --map model=COLUMN"),
        (["score=a,b", "model=@m"], ["item", "a", "b", "metric"], "metric is given, and score has several columns"),
        (["item=#row", "trial=#order", "model=@m"], ["score"], "item=#row and trial=#order cannot go together"),
        (["dependence=doc", "model=@m"], ["item", "score"], "there is no column 'doc' for dependence"),
    ],
)
def test_what_a_table_cannot_give(options: list[str], columns: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        bind(ColumnMap.from_options(options), columns)
    assert said in str(caught.value)


def test_a_long_list_of_columns_is_cut() -> None:
    with pytest.raises(InputError, match="c11 and 88 more"):
        bind(ColumnMap.from_options(["item=q"]), [f"c{number}" for number in range(100)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns = 'x'", "[columns] must be a table"),
        ("constants = 1", "[constants] must be a table"),
        ("values = [1]", "[values] must be a table"),
        ("[values]\nscore = 'x'", "[values.score] must be a table"),
        ("metrics = ['a']", "[metrics] must be a table"),
        ("[metrics]\na = 'b'", "[metrics.a] must be a table"),
        ("[metrics.a]\nlow = nan", "low = nan is not understood"),
        ("[metrics.a]\nhigh = inf", "high = inf is not understood"),
    ],
)
def test_a_part_of_another_type_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        ColumnMap.from_toml(tmp_path / "map.toml")


def test_a_pattern_is_no_factor_name() -> None:
    with pytest.raises(InputError, match="takes it for a pattern"):
        ColumnMap.from_options(["^a$=level"])


# A star stands for the model in the names of columns


def test_columns_named_by_model_and_metric_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("q,old_f1,new_f1,old_em,new_em,old_answer,level\n1,.5,.75,0,1,x,a\n2,.25,,1,1,y,b\n")
    data = read(path, column_map=ColumnMap.from_options(["item=q", "models=*_f1,*_em"]), strict=True)
    assert sorted(data.outcomes.select("item", "model", "metric", "score").rows(), key=str) == [
        ("1", "new", "em", 1.0), ("1", "new", "f1", 0.75), ("1", "old", "em", 0.0), ("1", "old", "f1", 0.5),
        ("2", "new", "em", 1.0), ("2", "new", "f1", None), ("2", "old", "em", 1.0), ("2", "old", "f1", 0.25),
    ]  # fmt: skip
    # What bears a side's name is of its answers, and no factor of the items.
    assert "level" in data.outcomes.columns
    assert "old_answer" not in data.outcomes.columns
    assert data.metrics.select("metric", "kind").sort("metric").rows() == [("em", "binary"), ("f1", "bounded")]
    with pytest.raises(InputError, match=r"there is no column '\*_acc' for score"):
        read(path, column_map=ColumnMap.from_options(["item=q", "models=*_acc"]), strict=True)


def test_a_column_whose_name_holds_a_star_is_itself(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("q,pi*,pi0\n1,.5,.75\n2,.25,1\n")
    data = read(path, column_map=ColumnMap.from_options(["item=q", "models=pi*,pi0"]), strict=True)
    assert data.models() == ("pi*", "pi0")
