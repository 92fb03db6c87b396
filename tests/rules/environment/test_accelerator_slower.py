from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.options import ForcedSettings
from fitdoctor.rules.environment.accelerator_slower import RULE
from fitdoctor.trials.suspicion import suspected
from synthetic import MS, gpu_workload, recording, timed, view


def on_cpu_instead(as_is: float, changed: float, **more: str):
    trial = FreshRun(as_is=(as_is, as_is), changed=(changed, changed))
    return view(gpu_workload(("cpu", trial)), **more)


class TestFinding:
    def test_silent_without_a_trial(self) -> None:
        assert RULE.detect(view(gpu_workload())) is None

    def test_silent_where_the_gpu_is_faster(self) -> None:
        assert RULE.detect(on_cpu_instead(MS, 3 * MS)) is None

    def test_the_measured_ratio(self) -> None:
        found = RULE.detect(on_cpu_instead(2 * MS, MS))
        assert found is not None
        assert found.gain.value == pytest.approx(2, rel=0.02)
        assert found.evidence == {"gpu_ns": 2 * MS, "cpu_ns": MS}

    @pytest.mark.parametrize(
        ("backend", "statement"),
        [
            ("tensorflow", 'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"'),
            ("torch", 'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"'),
            ("jax", 'os.environ["JAX_PLATFORMS"] = "cpu"'),
        ],
    )
    def test_the_gpu_is_hidden_before_the_imports(self, backend: str, statement: str) -> None:
        found = RULE.detect(on_cpu_instead(2 * MS, MS, backend=backend))
        assert found is not None
        (edit,) = found.cure.edits
        assert edit.statement == statement
        assert edit.first

    def test_an_unknown_backend_gets_advice_without_an_edit(self) -> None:
        found = RULE.detect(on_cpu_instead(2 * MS, MS, backend="openvino"))
        assert found is not None
        assert found.cure.edits == ()

    def test_the_page_has_the_threshold(self) -> None:
        assert "is at least 10 % faster per step" in " ".join(RULE.page.split())


class TestTrial:
    def test_short_steps_on_a_gpu_are_tried_on_the_cpu(self) -> None:
        (trial,) = suspected(recording(gpu_workload()))
        assert trial.forced == ForcedSettings(device="cpu")

    def test_long_steps_are_not(self) -> None:
        assert suspected(recording(gpu_workload(timed(FrozenBatch, 50 * MS)))) == []
