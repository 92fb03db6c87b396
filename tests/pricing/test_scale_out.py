from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.cli.scale import scale_text
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.pricing.scale_out import scale_out
from synthetic import MS, call_group, fit_workload, loader, slow_pipeline, stage, timed, view

STAGES = (stage("map", 0), stage("from_tensor_slices", 1, inputs=()))


def test_nothing_is_said_without_both_measurements() -> None:
    assert scale_out(view(fit_workload())) is None
    assert scale_out(view(fit_workload(found=[timed(FrozenBatch, MS)]))) is None
    assert scale_out(view(fit_workload(found=[loader(MS)]))) is None
    assert scale_out(view(call_group(found=[timed(FrozenBatch, MS)]))) is None


def test_a_loader_that_waits_needs_no_cores() -> None:
    seen = view(slow_pipeline(*STAGES, cores=0.1))
    need = scale_out(seen)
    assert need is not None
    assert need.is_waiting
    assert "waits for disk or network" in scale_text(seen, need)


def test_light_input_fits_on_one_host() -> None:
    seen = view(slow_pipeline(*STAGES, loader_ns=2 * MS, frozen=4 * MS))
    need = scale_out(seen)
    assert need is not None
    assert need.cores_needed.value == pytest.approx(0.5, rel=0.05)
    assert need.fits
    assert need.helpers == 0
    text = scale_text(seen, need)
    assert "one host is enough" in text
    assert "service" not in text


def test_heavy_input_needs_helpers_and_prints_the_edit() -> None:
    seen = view(slow_pipeline(*STAGES, loader_ns=30 * MS, frozen=2 * MS, cores=1.0), cpus=4)
    need = scale_out(seen)
    assert need is not None
    # 30 ms of CPU for every 2 ms: 15 cores, 3 are free, each helper brings 4.
    assert need.cores_needed.value == pytest.approx(15, rel=0.05)
    assert need.helpers == 3
    assert need.cores_needed.low < 15 < need.cores_needed.high
    text = scale_text(seen, need)
    assert "the cores of this host are the limit" in text
    assert "train.py:88" in text
    assert "service.distribute" in text


def test_with_an_accelerator_the_step_takes_one_core() -> None:
    seen = view(slow_pipeline(*STAGES), cpus=8)
    busy = replace(seen, frozen_cores=7.5)
    on_cpu, on_device = scale_out(busy), scale_out(replace(busy, accelerators=1))
    assert on_cpu is not None
    assert on_device is not None
    assert (on_cpu.cores_free, on_device.cores_free) == (0.5, 7.0)


def test_other_input_cannot_be_sent_away() -> None:
    seen = view(slow_pipeline(*STAGES, found=[InputFacts(kind="PyDataset")]))
    need = scale_out(seen)
    assert need is not None
    assert not need.fits
    assert "fitdoctor pack" in scale_text(seen, need)
