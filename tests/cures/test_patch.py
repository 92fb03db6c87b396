from __future__ import annotations

import codecs
import subprocess
from pathlib import Path

import pytest
from cured import MS, diagnosis, finding

from fitdoctor.cures.choice import choose, predicted
from fitdoctor.cures.patch import plan
from fitdoctor.findings.edits import (
    AppendCall,
    DatasetOption,
    DropKeyword,
    SetKeyword,
    SwapCalls,
)
from fitdoctor.findings.place import Where


def spe(path: Path | str, line: int = 1, value: str = "10") -> SetKeyword:
    return SetKeyword(Where(str(path), line), "compile", "steps_per_execution", value, 6)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("model.compile('sgd', run_eagerly=True)\nmodel.fit(x)\n")
    return path


def test_no_findings_no_patch(tmp_path: Path) -> None:
    patch = plan([], roots=[tmp_path])
    assert not patch
    assert (patch.files, patch.applied, patch.declined, patch.diff()) == ({}, (), (), "")


def test_nothing_outside_the_project_is_changed(script: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    patch = plan([finding(spe(script))], roots=[tmp_path / "project"])
    assert not patch
    assert patch.declined[0].reason == f"{script} is outside the project"


def test_a_library_inside_the_project_is_not_changed(tmp_path: Path) -> None:
    folder = tmp_path / ".venv" / "lib" / "site-packages" / "helper"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("model.compile()\n")
    patch = plan([finding(spe(folder / "train.py"))], roots=[tmp_path])
    assert not patch
    assert patch.declined[0].kind == "declined"


def test_a_file_that_is_gone_or_unreadable(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "bytes.py").write_bytes(b"# -*- coding: utf-8 -*-\nx = '\xff'\n")
    (tmp_path / "unknown.py").write_bytes(b"# -*- coding: klingon -*-\n")
    names = ("gone.py", "folder.py", "bytes.py", "unknown.py", "<ipython-input-1>")
    patch = plan([finding(spe(name)) for name in names], roots=[tmp_path])
    assert not patch
    assert [one.kind for one in patch.declined] == ["declined"] * 5


def test_safety_decides(script: Path, tmp_path: Path) -> None:
    cures = [
        finding(spe(script), safety="unsafe"),
        finding(safety="advice"),
        finding(safety="safe"),
    ]
    patch = plan(cures, roots=[tmp_path])
    assert [one.kind for one in patch.declined] == ["unsafe", "advice", "advice"]
    assert patch.declined[1].advice == "do it another way"
    assert len(plan(cures, unsafe=True, roots=[tmp_path]).applied) == 1


def test_a_cure_is_made_whole_or_not_at_all(script: Path, tmp_path: Path) -> None:
    second = DropKeyword(Where(str(script), 2), "fit", "verbose")
    patch = plan([finding(spe(script), second)], roots=[tmp_path])
    assert not patch
    assert patch.declined[0].edit == second
    assert patch.declined[0].advice == (
        "train.py:1: give compile() steps_per_execution=10; train.py:2: remove verbose from fit()"
    )


def test_two_cures_of_one_call_are_merged(script: Path, tmp_path: Path) -> None:
    drop = DropKeyword(Where("train.py", 1), "compile", "run_eagerly")
    patch = plan([finding(spe(script)), finding(drop, rule="HO004")], roots=[tmp_path])
    assert patch.files[script].new_text == (
        "model.compile('sgd', steps_per_execution=10)\nmodel.fit(x)\n"
    )
    assert [one.finding.rule for one in patch.applied] == ["HO002", "HO004"]


def test_two_cures_that_want_different_values(script: Path, tmp_path: Path) -> None:
    cures = [finding(spe(script)), finding(spe(script, value="50"), rule="HO003")]
    patch = plan(cures, roots=[tmp_path])
    assert "steps_per_execution=10" in patch.files[script].new_text
    assert patch.declined[0].reason == "HO002 sets steps_per_execution=10 in the same call"


def test_the_same_edit_twice_is_made_once(script: Path, tmp_path: Path) -> None:
    patch = plan([finding(spe(script)), finding(spe(script))], roots=[tmp_path])
    assert patch.files[script].new_text.count("steps_per_execution") == 1
    assert [one.kind for one in patch.declined] == ["already-there"]


def test_lines_are_those_before_the_first_change(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import keras\nd = e.map(f)\nmodel.compile()\n")
    edit = SetKeyword(Where(str(path), 2), "map", "n", "tf.x", 1, ("import tensorflow as tf",))
    patch = plan([finding(edit), finding(spe(path, 3))], roots=[tmp_path])
    assert patch.files[path].new_text == (
        "import keras\nimport tensorflow as tf\nd = e.map(f, n=tf.x)\n"
        "model.compile(steps_per_execution=10)\n"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"model.compile()",
        b"model.compile()\r\nx = 1\r\n",
        codecs.BOM_UTF8 + "model.compile()  # é\n".encode(),
        "# -*- coding: latin-1 -*-\nx = 'é'\nmodel.compile()\n".encode("latin-1"),
    ],
)
def test_bytes_are_kept_and_the_diff_applies(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(data)
    lines = data[: data.index(b"model")].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    patch = plan([finding(spe(path, lines.count(b"\n") + 1))], roots=[tmp_path])
    expected = data.replace(b"compile()", b"compile(steps_per_execution=10)")
    assert patch.new_bytes(path) == expected
    assert patch.sources[path].encoded(patch.sources[path].text) == data
    applied = subprocess.run(
        ["git", "apply", "-"], input=patch.diff_bytes(tmp_path), cwd=tmp_path, capture_output=True
    )
    assert applied.returncode == 0, applied.stderr
    assert path.read_bytes() == expected


def test_newlines_of_old_macintoshes_are_declined(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"# a\rmodel.compile()\r")
    patch = plan([finding(spe("train.py", 2))], roots=[tmp_path])
    assert [one.kind for one in patch.declined] == ["declined"]


def test_a_text_that_the_encoding_cannot_carry_is_declined(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"# -*- coding: ascii -*-\nmodel.compile()\n")
    edit = SetKeyword(Where(str(path), 2), "compile", "name", "'é'")
    patch = plan([finding(edit)], roots=[tmp_path])
    assert not patch
    assert "ascii" in patch.declined[0].reason


def test_a_cure_of_the_start_up_keeps_its_own_price(script: Path) -> None:
    start = finding(spe(script), rule="CO003", gain=3.4, saves={})
    gain = predicted(diagnosis(start, parts={"step": 2.0 * MS}), [start])
    assert gain is not None
    assert gain.value == pytest.approx(3.4)


def test_a_cure_that_adds_nothing_is_left_out(script: Path) -> None:
    parts = {"step": 2.0 * MS, "input_wait": 8.0 * MS}
    best = finding(spe(script), rule="IN004", gain=4.0, saves={"input_wait": 7.5 * MS})
    other = finding(spe(script), rule="IN012", gain=2.0, saves={"input_wait": 5.0 * MS})
    step = finding(spe(script), rule="HO002", gain=1.1, saves={"step": 1.0 * MS})
    chosen, left_out = choose(diagnosis(best, other, step, parts=parts))
    assert chosen == [best, step]
    assert [(one.finding.rule, one.kind) for one in left_out] == [("IN012", "not-chosen")]
    gain = predicted(diagnosis(best, other, step, parts=parts), [best, step])
    assert gain is not None
    assert gain.value == pytest.approx(10 / 1.5)


def test_a_cure_that_cannot_be_made_stands_in_nobodys_way(script: Path) -> None:
    parts = {"step": 2.0 * MS, "input_wait": 8.0 * MS}
    advice = finding(rule="IN001", safety="advice", gain=5.0, saves={"input_wait": 8.0 * MS})
    unsafe = finding(spe(script), rule="IN012", safety="unsafe", saves={"input_wait": 7.0 * MS})
    safe = finding(spe(script), rule="IN004", gain=2.0, saves={"input_wait": 5.0 * MS})
    found = diagnosis(advice, unsafe, safe, parts=parts)
    assert choose(found) == ([advice, unsafe, safe], [])
    assert [one.rule for one in choose(found, unsafe=True)[0]] == ["IN001", "IN012"]


def test_findings_that_are_not_wanted_are_not_chosen(script: Path) -> None:
    one, two = finding(spe(script), rule="IN004"), finding(spe(script), rule="HO004")
    chosen, _ = choose(diagnosis(one, two), wanted=lambda found: found.rule == "HO004")
    assert chosen == [two]


def test_a_cure_that_was_found_impossible_gives_way(script: Path) -> None:
    parts = {"step": 2.0 * MS, "input_wait": 8.0 * MS}
    best = finding(spe(script), rule="IN004", gain=4.0, saves={"input_wait": 7.5 * MS})
    other = finding(spe(script), rule="IN012", gain=2.0, saves={"input_wait": 5.0 * MS})
    found = diagnosis(best, other, parts=parts)
    assert choose(found)[0] == [best]
    assert choose(found, impossible=[best]) == ([best, other], [])


PIPELINE = """import tensorflow as tf

dataset = (
    tf.data.Dataset.range(10)
    .map(read)  # slow
    .batch(2)
)
"""


def test_several_edits_of_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PIPELINE)
    where = Where("train.py", 5)
    reads = finding(
        SetKeyword(where, "map", "num_parallel_calls", "16", 1),
        DatasetOption(where, "map", "threading.private_threadpool_size", "16"),
        rule="IN002",
    )
    cache = finding(AppendCall(where, "map", ".cache()"), rule="IN004")
    swap = finding(SwapCalls(where, "map", "batch"), rule="IN005")
    patch = plan([reads, cache, swap], roots=[tmp_path])
    assert [one.reason for one in patch.declined] == [
        "IN004 changes the order of calls here: put .cache() right after map()"
    ]
    assert patch.files[path].new_text == (
        "import tensorflow as tf\n\n"
        "options = tf.data.Options()\n"
        "options.threading.private_threadpool_size = 16\n"
        "dataset = (\n"
        "    tf.data.Dataset.range(10)\n"
        "    .map(read, num_parallel_calls=16)  # slow\n"
        "    .cache()\n"
        "    .with_options(options)\n"
        "    .batch(2)\n"
        ")\n"
    )
