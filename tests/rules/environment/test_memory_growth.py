from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.memory import Holder, MemoryWhileTraining
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.diagnosis.whole import diagnose
from fitdoctor.rules.environment.memory_growth import RULE
from synthetic import MS, fit_workload, recording, timed, view

MB = 2**20
LIST = Holder(name="losses", kind="list", entries=1.0, file="/u/a.py", line=31, entry="Tensor ()")
STEPS = tuple(range(0, 400, 10))


def looked(grown: Callable[[int], float], *holders: Holder, epochs: tuple[int, ...] = ()):
    """40 looks, ten steps apart; so many megabytes at each step."""
    return MemoryWhileTraining(
        steps=STEPS,
        epochs=epochs or (1,) * len(STEPS),
        host=tuple(round((500 + grown(step)) * MB) for step in STEPS),
        host_left=8000 * MB,
        holders=holders,
    )


def found(*results: object):
    return view(fit_workload(found=results, detail={"epochs": 5}))


def test_silent_where_memory_stays() -> None:
    assert RULE.detect(found(looked(lambda step: (step * 7919 % 13) / 2, LIST))) is None


def test_silent_on_a_warm_up() -> None:
    assert RULE.detect(found(looked(lambda step: min(step, 90) * 3, LIST))) is None


def test_silent_on_a_cache_that_is_full_half_way() -> None:
    assert RULE.detect(found(looked(lambda step: min(step, 200) * 3, LIST))) is None


def test_silent_on_a_first_pass_that_fills_buffers_of_a_library() -> None:
    assert RULE.detect(found(looked(lambda step: step * 2))) is None


def test_silent_on_a_buffer_with_a_limit() -> None:
    buffer = replace(LIST, name="Replay.rows", limit=20_000)
    assert RULE.detect(found(looked(lambda step: step * 2, buffer))) is None


def test_silent_on_few_megabytes() -> None:
    assert RULE.detect(found(looked(lambda step: step * 0.03, LIST))) is None


def test_silent_on_few_looks() -> None:
    seen = looked(lambda step: step * 20, LIST)
    few = replace(seen, steps=seen.steps[:6], epochs=seen.epochs[:6], host=seen.host[:6])
    assert RULE.detect(found(few)) is None


def test_a_list_that_grows_is_named_with_the_step_at_which_memory_is_full() -> None:
    finding = RULE.detect(found(looked(lambda step: step * 2 + step % 3, LIST)))
    assert finding is not None
    assert finding.is_warning
    assert finding.gain.value == 1.0
    assert finding.where is not None and finding.where.line == 31
    assert "`losses` has 1 more per step" in finding.message
    # 8,000 MB are left after step 390, at 2 MB per step.
    assert finding.evidence["full_at_step"] == pytest.approx(390 + 4000, rel=0.02)


def test_growth_after_the_first_pass_needs_no_holder() -> None:
    later = tuple(1 if step < 100 else 2 for step in STEPS)
    finding = RULE.detect(found(looked(lambda step: step * 2, epochs=later)))
    assert finding is not None
    assert finding.evidence["held_by"] is None


def test_the_accelerator_comes_first() -> None:
    seen = looked(lambda step: step * 2, LIST)
    device = tuple(MB * (100 + step) for step in STEPS)
    finding = RULE.detect(found(replace(seen, device=device, device_bytes=1000 * MB)))
    assert finding is not None
    assert finding.message.startswith("memory of the GPU grows")
    assert finding.evidence["full_at_step"] == 390 + 510


def test_it_is_a_warning_beside_the_findings() -> None:
    seen = looked(lambda step: step * 2, LIST)
    workload = fit_workload(found=[seen, timed(FrozenBatch, 9 * MS)], detail={"epochs": 5})
    (judged,) = diagnose(recording(workload)).workloads
    assert judged.findings == ()
    (warning,) = [one for one in judged.health if one.rule == "EN010"]
    assert warning.level == "warning"
    assert "a.py:31" in warning.message
