"""What evalstats exported and somebody damaged or forged: refused or left out in words, without a crash or a wrong number."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evalstats as es
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows

FIXED = {"run": "r", "model": "org/m", "system": "org/m", "benchmark": "b", "metric": "acc", "status": "scored"}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 1 << 70), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


def data() -> EvalData:
    rows = [{**FIXED, "item": str(k), "score": k / 10, "tags": ["a"], "level": k} for k in range(10)]
    runs = frame_from_rows([{"run": "r", "model": "org/m", "system": "org/m", "benchmark": "b"}], "runs")
    return EvalData(outcomes=frame_from_rows(rows, "outcomes"), runs=runs)


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    found: dict[str, dict[str, bytes]] = {}
    for to in ("parquet", "csv", "json", "eee"):
        where = tmp_path_factory.mktemp(to) / "out"
        es.export(data(), where, to=to)
        found[to] = {
            str(path.relative_to(where)): path.read_bytes() for path in sorted(where.rglob("*")) if path.is_file()
        }
    return found


def read_back(files: dict[str, bytes]) -> EvalData | None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            return es.read(folder)
        except InputError:
            return None


@pytest.mark.parametrize("to", ["parquet", "csv", "json", "eee"])
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(damage=st.tuples(st.integers(0, 5), st.floats(0, 1), st.binary(max_size=6), st.booleans()))
def test_damaged_bytes_are_refused_or_read(
    exports: dict[str, dict[str, bytes]], to: str, damage: tuple[int, float, bytes, bool]
) -> None:
    which, place, junk, cut = damage
    files = dict(exports[to])
    name = sorted(files)[which % len(files)]
    at = int(place * len(files[name]))
    files[name] = files[name][:at] + junk + (b"" if cut else files[name][at + len(junk) :])
    found = read_back(files)
    if found is not None and found.outcomes.height:
        assert set(found.outcomes["status"].unique().to_list()) <= {"scored", "error", "unscored"}
        assert found.outcomes.height <= 10


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(forged=JSON, key=st.sampled_from(["version", "shared", "run", "factors", "metrics", None]))
def test_a_forged_annex_is_refused_or_left_aside(
    exports: dict[str, dict[str, bytes]], forged: object, key: str | None
) -> None:
    files = dict(exports["eee"])
    (name,) = [name for name in files if name.endswith(".json")]
    log = json.loads(files[name])
    annex = json.loads(log["source_metadata"]["additional_details"]["evalstats"])
    annex = forged if key is None else {**annex, key: forged}
    log["source_metadata"]["additional_details"]["evalstats"] = json.dumps(annex)
    found = read_back({**files, name: json.dumps(log).encode()})
    if found is not None:
        assert found.outcomes["score"].drop_nulls().is_in([k / 10 for k in range(10)]).all()


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    forged=JSON, key=st.sampled_from(["format", "version", "tables", "problems", "columns", "file", "rows", "table"])
)
def test_a_forged_description_is_refused_or_left_aside(
    exports: dict[str, dict[str, bytes]], forged: object, key: str
) -> None:
    files = dict(exports["csv"])
    said = json.loads(files["evalstats-tables.json"])
    inner = said["tables"][0] if key in {"columns", "file", "rows", "table"} else said
    inner[key] = forged
    found = read_back({**files, "evalstats-tables.json": json.dumps(said).encode()})
    if found is not None and found.outcomes.height:
        assert found.outcomes["item"].null_count() == 0
