from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from fitdoctor.contract.options import ForcedSettings
from fitdoctor.inside.cures import overrides


class Hooks:
    """Hooks that are called by hand."""

    def __init__(self) -> None:
        self.before: dict[str, list] = {}
        self.after: dict[str, list] = {}

    def before_import(self, name, action):
        self.before.setdefault(name, []).append(action)

    def when_imported(self, name, action):
        self.after.setdefault(name, []).append(action)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*overrides.HIDING_VARIABLES, "KERAS_BACKEND"):
        monkeypatch.setenv(name, "cpu")


def test_nothing_is_forced_unless_asked() -> None:
    hooks = Hooks()
    overrides.apply(hooks, ForcedSettings())
    assert hooks.before == hooks.after == {}


def test_a_hidden_gpu_is_shown_just_before_the_framework_is_imported() -> None:
    hooks = Hooks()
    overrides.apply(hooks, ForcedSettings(device="gpu"))
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "cpu"  # the script may still set it itself
    for action in hooks.before["jax"]:
        action()
    assert not set(overrides.HIDING_VARIABLES) & set(os.environ)


def test_the_cpu_needs_nothing_in_the_process() -> None:
    hooks = Hooks()
    overrides.apply(hooks, ForcedSettings(device="cpu"))
    assert hooks.before == {}


def test_a_distribution_over_several_devices_is_not_used() -> None:
    hooks = Hooks()
    overrides.apply(hooks, ForcedSettings(replicas=1))
    module = ModuleType("keras.distribution")
    used = []
    module.set_distribution = used.append
    for action in hooks.after[overrides.DISTRIBUTION_MODULE]:
        action(module)
    module.set_distribution("four devices")
    assert used == []


def test_keras_still_has_the_function_that_is_left_out() -> None:
    spec = importlib.util.find_spec("keras")  # found, not imported
    assert spec is not None
    assert spec.origin is not None
    parts = overrides.DISTRIBUTION_MODULE.split(".")[1:]
    source = Path(spec.origin).parent.joinpath(*parts, "__init__.py")
    assert "set_distribution" in source.read_text(encoding="utf-8")


def test_another_backend_is_chosen_after_the_script_chose_its_own() -> None:
    hooks = Hooks()
    overrides.apply(hooks, ForcedSettings(backend="jax"))
    for action in hooks.before["keras"]:
        action()
    assert os.environ["KERAS_BACKEND"] == "jax"
