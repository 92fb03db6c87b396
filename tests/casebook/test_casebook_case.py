from __future__ import annotations

from pathlib import Path

import pytest

import casebook
from casebook.__main__ import BAD_USE, main, select
from casebook.case import CaseError, load_all, load_case
from casebook.gain_cache import scripts_hash

ROOT = Path(casebook.__file__).parent


def test_healthy_case_needs_no_cure(write_case):
    folder = write_case(expect='""')
    (folder / "fixed.py").unlink()
    assert load_case(folder).is_healthy


def test_fields_left_out_mean_no_restriction(make_case):
    case = make_case()
    assert (case.allow, case.forbid, case.forbid_text, case.launcher) == ((), (), (), ())
    assert case.env == {}


def test_all_fields_arrive(make_case):
    case = make_case(
        allow='["IN003"]',
        forbid='["IN001"]',
        forbid_text='["model(x)"]',
        env='{ TF_NUM_INTRAOP_THREADS = "32" }',
        launcher='["taskset", "-c", "0"]',
        note='"why"',
    )
    assert case.where.contains == ("read(batch)",)
    assert case.env == {"TF_NUM_INTRAOP_THREADS": "32"}
    assert case.launcher == ("taskset", "-c", "0")
    assert (case.allow, case.forbid, case.note) == (("IN003",), ("IN001",), "why")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"backend": None}, "missing backend"),
        ({"backend": '"theano"'}, "backend must be one of tensorflow, jax, torch"),
        ({"expect": '"slow loader"'}, "expect must hold rule codes like IN001"),
        ({"forbid": '"IN001"'}, "forbid must be a list of strings"),
        ({"forbid": '["in001"]'}, "forbid must hold rule codes"),
        ({"forbid": '["IN002"]'}, "IN002 is expected or allowed and forbidden"),
        ({"exactness": '"almost"'}, "exactness must be one of"),
        ({"where": '"slow.py"'}, "where must be"),
        ({"where": '{ file = "slow.py", contains = "gone" }'}, "'gone' is not in slow.py"),
        ({"where": '{ file = "data.py" }'}, "where.file 'data.py' is not beside slow.py"),
        ({"env": "{ THREADS = 32 }"}, "env must be a table of strings"),
        ({"id": '"C02"'}, "id is 'C02' but the folder is 'C01'"),
        ({"forbidden": "[]"}, "unknown field forbidden"),
        ({"joint": '"yes"'}, "joint must be true or false"),
        ({"script": '"../C02"'}, "script must be the id of another case"),
        ({"script": '".."'}, "script must be the id of another case"),
        ({"title": '"open'}, "not valid TOML"),
    ],
)
def test_error_names_the_field(write_case, fields, message):
    folder = write_case(**fields)
    with pytest.raises(CaseError) as caught:
        load_case(folder)
    assert message in str(caught.value)
    assert "case.toml" in str(caught.value)


@pytest.mark.parametrize("name", ["slow.py", "fixed.py", "case.toml"])
def test_missing_file_is_named(write_case, name):
    folder = write_case()
    (folder / name).unlink()
    with pytest.raises(CaseError, match=name):
        load_case(folder)


def test_scripts_of_another_case_are_used_as_they_are(borrow):
    case = load_case(borrow())
    assert case.slow == case.folder.parent / "C01" / "slow.py"
    assert case.fixed == case.folder.parent / "C01" / "fixed.py"


def test_scripts_of_an_unknown_case_are_missed(borrow):
    with pytest.raises(CaseError, match=r"C02/slow\.py: not found"):
        load_case(borrow(script="C02"))


def test_the_backend_is_set_for_scripts_that_leave_it_open(borrow):
    assert load_case(borrow(backend="torch")).environment == {"KERAS_BACKEND": "torch"}


def test_the_environment_of_a_case_comes_on_top(make_case):
    case = make_case(env='{ THREADS = "2" }')
    assert case.environment == {"KERAS_BACKEND": "tensorflow", "THREADS": "2"}


def test_modules_beside_the_scripts_belong_to_the_case(write_case):
    folder = write_case(where='{ file = "data.py", contains = "def load" }')
    (folder / "data.py").write_text("def load():\n    return []\n")
    case = load_case(folder)
    assert case.modules == (folder / "data.py",)
    before = scripts_hash(case)
    (folder / "data.py").write_text("def load():\n    return [1]\n")
    assert scripts_hash(case) != before


def test_unknown_id_lists_the_valid_ones(make_case):
    with pytest.raises(CaseError, match="unknown case S99; valid are C01"):
        select({"C01": make_case()}, ["S99"])


def test_unknown_id_is_bad_use(capsys):
    assert main(["S99"]) == BAD_USE
    assert "unknown case S99" in capsys.readouterr().err


# The cases themselves.


def test_every_case_loads():
    assert len(load_all(ROOT)) >= 37


@pytest.mark.parametrize("case", load_all(ROOT).values(), ids=lambda case: case.id)
def test_case_scripts_are_self_contained(case):
    scripts = [case.slow] if case.is_healthy else [case.slow, case.fixed]
    for script in scripts:
        source = script.read_text(encoding="utf-8")
        if "KERAS_BACKEND" in source:
            own = source.index(f'"KERAS_BACKEND"] = "{case.backend}"')
            assert own < source.index("import keras")
        assert '"CASEBOOK_SCALE"' in source
        assert "set_random_seed(" in source
        # A script that names the tool could be recognised instead of diagnosed.
        assert "fitdoctor" not in source
        compile(source, str(script), "exec")
