"""Cures that the source cannot take, made in the calls of the running script."""

from __future__ import annotations

from pathlib import Path

import pytest
from cured import finding

from fitdoctor.contract.codec import encode
from fitdoctor.cures.draft import DeclinedEdit
from fitdoctor.cures.patch import plan
from fitdoctor.cures.without_source import changed_call
from fitdoctor.findings.edits import (
    AppendCall,
    DatasetOption,
    Decorate,
    DropKeyword,
    Edit,
    RenameCall,
    SetKeyword,
    SkipBatches,
    SwapCalls,
)
from fitdoctor.findings.place import ANYWHERE, Where

AT = Where("/user/train.py", 7)


@pytest.mark.parametrize(
    "edit",
    [
        Decorate(AT, "step", "tf.function"),
        SwapCalls(AT, "map", "batch"),
        SkipBatches(AT, 50),
        # What `fit` returns may be used, and train_on_batch returns something else.
        RenameCall(AT, "fit", "train_on_batch", takes=("x", "y"), same_result=False),
        SetKeyword(AT, "Dense", "units", "4"),
        SetKeyword(AT, "compile", "optimizer", "keras.optimizers.SGD(0.1)"),
        SetKeyword(Where(AT.file, ANYWHERE), "compile", "jit_compile", "False"),
        AppendCall(AT, "map", ".apply(mine)"),
        AppendCall(AT, "TFRecordDataset", ".cache()"),
    ],
)
def test_declines_what_is_not_one_call(edit: Edit) -> None:
    with pytest.raises(DeclinedEdit):
        changed_call(edit)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            SetKeyword(AT, "compile", "steps_per_execution", "10", 6),
            {"seam": "model", "call": "compile", "set": {"steps_per_execution": 10}},
        ),
        (
            SetKeyword(AT, "map", "num_parallel_calls", "tf.data.AUTOTUNE", 1),
            {"seam": "dataset", "call": "map", "set": {"num_parallel_calls": -1}},
        ),
        (SetKeyword(AT, "Rows", "workers", "4"), {"seam": "py_dataset", "call": "PyDataset"}),
        (SetKeyword(AT, "DataLoader", "num_workers", "4"), {"seam": "loader"}),
        (
            SetKeyword(AT, "ModelCheckpoint", "save_freq", '"epoch"'),
            {"set": {"save_freq": "epoch"}},
        ),
        (DropKeyword(AT, "compile", "run_eagerly"), {"drop": ["run_eagerly"]}),
        (AppendCall(AT, "map", ".cache()"), {"cache": True, "seam": "dataset"}),
        (DatasetOption(AT, "map", "threading.x", "16"), {"options": {"threading.x": 16}}),
        (
            RenameCall(AT, "predict", "predict_on_batch", ("verbose",), ("x",)),
            {"instead": "predict_on_batch", "takes": ["x"], "ignores": ["verbose"]},
        ),
    ],
)
def test_one_call_is_changed_on_its_way(edit: Edit, expected: dict[str, object]) -> None:
    found = encode(changed_call(edit))
    assert (found["file"], found["line"]) == (AT.file, AT.line)
    assert {name: found[name] for name in expected} == expected


SCRIPT = """import keras
model = keras.Sequential()
model.compile(**settings)
model.fit(x)
"""


def written(folder: Path) -> str:
    path = folder / "train.py"
    path.write_text(SCRIPT)
    return str(path)


def test_the_source_comes_first(tmp_path: Path) -> None:
    edit = SetKeyword(Where(written(tmp_path), 4), "fit", "verbose", "2")
    patch = plan([finding(edit)], roots=[tmp_path], in_process=True)
    assert patch.files
    assert patch.calls == ()
    assert patch.applied[0].not_in_source is None


def test_only_where_it_is_asked_for(tmp_path: Path) -> None:
    edit = SetKeyword(Where(written(tmp_path), 3), "compile", "steps_per_execution", "10")
    patch = plan([finding(edit)], roots=[tmp_path])
    assert not patch
    assert [one.kind for one in patch.declined] == ["declined"]


def test_what_the_source_cannot_take_is_done_in_the_process(tmp_path: Path) -> None:
    where = Where(written(tmp_path), 3)
    edit = SetKeyword(where, "compile", "steps_per_execution", "10")
    # An import that another cure adds moves the line.
    above = DatasetOption(Where(where.file, 4), "fit", "a.b", "1")
    patch = plan([finding(above), finding(edit)], roots=[tmp_path], in_process=True)
    assert patch
    (change,) = patch.calls
    text = patch.files[Path(where.file).resolve()].new_text.splitlines()
    assert text[change.line - 1] == "model.compile(**settings)"
    assert change.line > 3
    assert "**settings may already carry" in str(patch.applied[1].not_in_source)


def test_what_another_cure_stands_against_is_not_done_behind_its_back(tmp_path: Path) -> None:
    where = Where(written(tmp_path), 3)
    ten, fifty = (
        finding(SetKeyword(where, "compile", "steps_per_execution", value))
        for value in ("10", "50")
    )
    patch = plan([ten, fifty], roots=[tmp_path], in_process=True)
    assert [change.set for change in patch.calls] == [{"steps_per_execution": 10}]
    assert [one.finding for one in patch.declined] == [fifty]
