from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.compile_cache import CompileCache, WarmStart
from fitdoctor.cures.draft import Draft
from fitdoctor.cures.edit_engine import edited
from fitdoctor.findings.edits import AddSetting
from fitdoctor.rules.compilation.cold_compile import RULE
from synthetic import event, fit_workload, view

NS_PER_S = 10**9
WARM = WarmStart(
    cold_ns=20.0 * NS_PER_S,
    warm_ns=8.0 * NS_PER_S,
    cold_compile_ns=13.0 * NS_PER_S,
    warm_compile_ns=0.5 * NS_PER_S,
    bytes=3_000_000,
)


def started(compiled: float, *found: object, epochs: int | None = 1):
    """A start of 20 s, so many seconds of it compiling; 200 steps of 10 ms in an epoch."""
    first = 21 * NS_PER_S
    workload = fit_workload(found=found, detail={"epochs": epochs, "backend": "jax"})
    block = workload.blocks[0]
    later = tuple(t + 20 * NS_PER_S for t in block.t)
    begin = later[0] + block.step[0] - 20 * NS_PER_S
    events = (event("compile", first - 5 * NS_PER_S, round(compiled * NS_PER_S)),)
    workload = replace(workload, blocks=(replace(block, t=later),), events=events)
    return view(workload, backend="jax", events=(event("start", begin, 0),))


def test_silent_where_it_is_not_known_whether_programs_are_kept() -> None:
    assert RULE.detect(started(13)) is None


def test_silent_where_a_cache_is_on() -> None:
    assert RULE.detect(started(13, CompileCache("/home/u/.cache/jax"), WARM)) is None


def test_silent_on_a_short_compilation() -> None:
    assert RULE.detect(started(3, CompileCache(), WARM)) is None


def test_silent_on_a_run_that_outweighs_it() -> None:
    assert RULE.detect(started(13, CompileCache(), WARM, epochs=100)) is None


def test_silent_where_the_length_of_the_run_is_not_known() -> None:
    assert RULE.detect(started(13, CompileCache(), WARM, epochs=None)) is None


def test_a_second_start_that_is_as_long_gains_nothing() -> None:
    finding = RULE.detect(started(13, CompileCache(), replace(WARM, warm_ns=20.0 * NS_PER_S)))
    assert finding is not None
    assert finding.gain.value == 1.0  # which is not listed


def test_the_second_start_prices_the_whole_run() -> None:
    finding = RULE.detect(started(13, CompileCache(), WARM))
    assert finding is not None
    # 20 s and 200 steps of 10 ms, against 8 s and the same steps.
    assert finding.gain.value == pytest.approx(22 / 10, rel=0.02)
    assert (finding.how, finding.scope, finding.saves) == ("tried", "run", {})
    assert "instead of 20.0 s" in finding.message


def test_without_the_starts_it_is_a_bound() -> None:
    finding = RULE.detect(started(13, CompileCache()))
    assert finding is not None
    assert finding.how == "bound"
    assert finding.gain.value == pytest.approx(22 / 9, rel=0.02)


def test_two_settings_before_the_imports() -> None:
    finding = RULE.detect(started(13, CompileCache()))
    assert finding is not None
    edits = finding.cure.edits
    assert all(isinstance(edit, AddSetting) and edit.first for edit in edits)
    assert [edit.names[0] for edit in edits if isinstance(edit, AddSetting)] == [
        "JAX_COMPILATION_CACHE_DIR",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    ]


def test_the_edits_make_the_page_s_use_instead() -> None:
    finding = RULE.detect(started(13, CompileCache()))
    assert finding is not None
    draft = Draft("import keras\n\nkeras.Model().fit()\n")
    for edit in finding.cure.edits:
        draft = edited(draft, edit)
    lines = draft.text.splitlines()
    assert lines[-3:] == ["import keras", "", "keras.Model().fit()"]
    assert set(lines[:-3]) == {
        "import os",
        'os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.expanduser("~/.cache/jax")',
        'os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"',
    }
    compile(draft.text, "train.py", "exec")
    assert lines[0] == "import os"
