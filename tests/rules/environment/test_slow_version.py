from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.slow_versions import SLOW_VERSIONS, slow_versions
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.model import Layers, MachineCeiling
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.rules.environment.slow_version import RULE
from synthetic import MS, fit_workload, layer, recording, timed


def trained(
    version: str | None,
    backend: str,
    *,
    kind: str = "LSTM",
    device: str = "gpu",
    ns: float = 8 * MS,
):
    """A step of 10 ms, 8 ms of it in one layer."""
    layers = (layer("first", ns / 3, alone=ns, type=kind), layer("last", MS / 3, alone=MS))
    found = [
        timed(FrozenBatch, 10 * MS),
        MachineCeiling(flops_per_s=50e9, bytes_per_s=10e9),
        Device(kind=device),
        Layers(layers, without_fixed_price=True),
    ]
    workload = fit_workload(period=10 * MS, step=10 * MS, found=found)
    made = recording(workload, backend=backend)
    made = replace(made, keras=replace(made.keras, version=version))
    view = view_of(made, workload)
    assert view is not None
    return view


@pytest.mark.parametrize("version", [None, "unknown", "3.14.0", "3.15.1", "4.0.0.dev1"])
def test_silent_on_other_versions(version: str | None) -> None:
    assert RULE.detect(trained(version, "jax")) is None


def test_silent_on_another_device_or_backend() -> None:
    assert RULE.detect(trained("3.13.2", "jax", device="cpu")) is None
    assert RULE.detect(trained("3.13.2", "tensorflow")) is None


def test_silent_where_the_layer_is_not_there_or_takes_little() -> None:
    assert RULE.detect(trained("3.13.2", "jax", kind="GRU")) is None
    assert RULE.detect(trained("3.13.2", "jax", ns=MS)) is None


def test_the_factor_of_the_change_is_the_gain() -> None:
    finding = RULE.detect(trained("3.13.2", "jax"))
    assert finding is not None
    # 80 % of the step takes a fifth of its time.
    assert finding.gain.value == pytest.approx(1 / (0.2 + 0.8 / 5), rel=0.05)
    assert finding.how == "modelled"
    assert finding.evidence["change"] == "#22399"


@pytest.mark.parametrize(("version", "change"), [("3.12.0", "#22279"), ("3.14.1", "#22874")])
def test_without_a_factor_it_is_a_bound(version: str, change: str) -> None:
    finding = RULE.detect(trained(version, "torch"))
    assert finding is not None
    assert finding.how == "bound"
    assert finding.gain.low == 1.0
    assert finding.evidence["change"] == change


def test_every_row_has_its_source_and_ends() -> None:
    for row in SLOW_VERSIONS:
        assert row.change.startswith("#")
        assert slow_versions(row.since, row.backend, row.device)
        assert row not in slow_versions(row.fixed, row.backend, row.device)
