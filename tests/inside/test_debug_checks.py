"""Checks left on for debugging: silent where none is on; real ones go off and on again."""

from __future__ import annotations

import sys

import pytest

from fitdoctor.inside.seams.watch.debug_checks import checks_on


@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_nothing_is_on_by_itself(backend: str) -> None:
    pytest.importorskip(backend)
    assert checks_on(backend) is None


def test_a_backend_that_is_not_loaded_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert checks_on("torch") is None


def test_anomaly_mode_of_torch() -> None:
    torch = pytest.importorskip("torch")
    with torch.autograd.set_detect_anomaly(True):
        found = checks_on("torch")
        assert found is not None and "set_detect_anomaly" in found.name
        with found.off():
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


@pytest.mark.parametrize("name", ["jax_debug_nans", "jax_debug_infs", "jax_enable_checks"])
def test_the_checks_of_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update(name, True)
    try:
        found = checks_on("jax")
        assert found is not None and f'"{name}"' in found.name
        with found.off():
            assert checks_on("jax") is None
        assert getattr(jax.config, name)
    finally:
        jax.config.update(name, False)


def test_the_checks_of_tensorflow() -> None:
    """Fails loudly when TensorFlow moves what says whether they are on."""
    tf = pytest.importorskip("tensorflow")
    tf.debugging.enable_check_numerics()
    try:
        found = checks_on("tensorflow")
        assert found is not None and "enable_check_numerics" in found.name
        with found.off():
            assert checks_on("tensorflow") is None
        assert checks_on("tensorflow") is not None
    finally:
        tf.debugging.disable_check_numerics()
    assert checks_on("tensorflow") is None
