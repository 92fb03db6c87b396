"""What is known of an installation, on the ones here and on fakes."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from fitdoctor.contract.evidence.device import DeviceFacts
from fitdoctor.inside.seams.backends import installed_build
from fitdoctor.inside.seams.backends.installed_build import jax_plugins, with_build
from fitdoctor.launch.accelerators import gpus_on_bus


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    modules = {
        "torch": SimpleNamespace(version=SimpleNamespace(cuda="12.8")),
        "jax": SimpleNamespace(config=SimpleNamespace(jax_platforms="cpu")),
        "tensorflow": SimpleNamespace(
            sysconfig=SimpleNamespace(get_build_info=lambda: {"cuda_version": "12.5.1"})
        ),
    }
    for name, module in modules.items():
        monkeypatch.setitem(installed_build.sys.modules, name, module)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    return monkeypatch


def test_nothing_is_asked_where_a_gpu_is_in_use() -> None:
    facts = DeviceFacts(kind="gpu")
    assert with_build("torch", facts) is facts


def test_builds_and_what_hides_the_gpu(fakes: pytest.MonkeyPatch) -> None:
    torch, tensorflow = (with_build(name, DeviceFacts()) for name in ("torch", "tensorflow"))
    assert (torch.build_cuda, torch.visible_devices) == ("12.8", "-1")
    assert torch.package == f"torch {importlib.metadata.version('torch')}"
    assert tensorflow.build_cuda == "12.5.1"
    assert (tensorflow.package or "").startswith("tensorflow")


def test_jax_without_and_with_a_plugin(fakes: pytest.MonkeyPatch) -> None:
    def installed(*names: str) -> DeviceFacts:
        found = [SimpleNamespace(metadata={"Name": name}) for name in names]
        fakes.setattr(importlib.metadata, "distributions", lambda: found)
        return with_build("jax", DeviceFacts())

    assert installed("jax", "jaxlib").built_for_gpu is False
    cuda = installed("jax", "jax-cuda12-plugin", "jax-cuda12-pjrt")
    assert (cuda.built_for_gpu, cuda.build_cuda, cuda.platforms) == (True, "12", "cpu")
    assert installed("jax_rocm7_plugin").built_for_gpu is True


def test_the_real_installation_can_be_asked() -> None:
    assert all(one.isdigit() or one == "" for one in jax_plugins())


def test_gpus_on_the_bus(tmp_path: Path) -> None:
    for name, vendor, kind in (
        ("a", "0x10de", "0x030200"),
        ("b", "0x10de", "0x040300"),  # the sound of a graphics card
        ("c", "0x1234", "0x030000"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    (tmp_path / "d").mkdir()
    assert gpus_on_bus(tmp_path) == 1
    assert gpus_on_bus(tmp_path / "none") is None
