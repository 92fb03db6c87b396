from __future__ import annotations

import pytest

from fitdoctor.rules.ho004 import RULE
from synthetic import MS, fit_workload, view, windows


def test_silent_on_a_compiled_fit() -> None:
    assert RULE.detect(view(fit_workload(probes={"frozen_batch": windows(9 * MS)}))) is None


def test_silent_when_compiling_gains_nothing() -> None:
    probes = {"frozen_batch": windows(9 * MS), "graph_trial": windows(8.9 * MS)}
    assert RULE.detect(view(fit_workload(probes=probes))) is None


def test_silent_on_a_loop_that_calls_a_compiled_function() -> None:
    probes = {"frozen_batch": windows(9 * MS), "repeat_call": windows(8.9 * MS)}
    assert RULE.detect(view(fit_workload(kind="loop", probes=probes))) is None


def test_fires_on_run_eagerly() -> None:
    trial = windows(0.5 * MS, in_loop=windows(0.9 * MS))
    probes = {"frozen_batch": windows(9 * MS), "graph_trial": trial}
    finding = RULE.detect(view(fit_workload(probes=probes, wait=MS // 10)))
    assert finding is not None
    # 10 ms become the compiled step in Keras's loop and the loading: 0.9 + 0.1 ms.
    assert finding.gain.value == pytest.approx(10.0, rel=0.05)
    assert "run_eagerly" in finding.cure.summary


def test_fires_on_a_loop_whose_function_was_tried_compiled() -> None:
    compiled = windows(
        0.5 * MS,
        stands_for="step function",
        eager=windows(9 * MS),
        file="/user/t.py",
        line=7,
        function="train_step",
    )
    probes = {"frozen_batch": windows(9 * MS), "compiled_step": compiled}
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes)))
    assert finding is not None
    assert finding.where.line == 7
    assert finding.cure.summary == "decorate train_step with @tf.function"


def test_a_stand_in_step_has_a_wider_interval() -> None:
    probes = {
        "frozen_batch": windows(9 * MS),
        "compiled_step": windows(0.5 * MS, stands_for="reference"),
    }
    finding = RULE.detect(view(fit_workload(kind="loop", probes=probes)))
    assert finding is not None
    assert "body" in finding.cure.summary
    assert finding.gain.low < 0.95 * finding.gain.value
