"""The switches that make compiled functions run op by op, on stand-ins and on the real thing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from fitdoctor.inside.seams.watch.eager_switch import Switch, eager_switch, place_of_switch


class Config:
    def __init__(self, *, eager: bool) -> None:
        self.eager = eager

    def functions_run_eagerly(self) -> bool:
        return self.eager

    def run_functions_eagerly(self, eager: bool) -> None:
        self.eager = eager

    @property
    def jax_disable_jit(self) -> bool:
        return self.eager

    def update(self, name: str, value: bool) -> None:
        assert name == "jax_disable_jit"
        self.eager = value


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_nothing_to_switch_where_functions_compile(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, backend, SimpleNamespace(config=Config(eager=False)))
    assert eager_switch(backend) is None


def test_torch_has_no_switch() -> None:
    assert eager_switch("torch") is None


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_switch_that_is_on_can_be_turned_and_put_back(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(eager=True)
    monkeypatch.setitem(sys.modules, backend, SimpleNamespace(config=config))
    switch = eager_switch(backend)
    assert switch is not None
    switch.turn(True)
    assert not config.eager
    switch.turn(False)
    assert config.eager


def test_the_users_line_is_found_and_a_comment_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Put together here, so that this file and other tests do not name it.
    word = "_".join(("run", "functions", "oddly"))
    script = tmp_path / "settings_of_mine.py"
    script.write_text(f"# {word} is slow\nimport x\ntf.config.{word}(DEBUG)\n")
    module = ModuleType("settings_of_mine")
    module.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "settings_of_mine", module)
    place = place_of_switch(Switch(f"tf.config.{word}(True)", lambda on: None))
    assert place is not None
    assert (place.file, place.line) == (str(script), 3)


def test_the_real_switches_are_where_we_look_for_them() -> None:
    """Fails loudly when TensorFlow or JAX moves them."""
    tf = pytest.importorskip("tensorflow")
    jax = pytest.importorskip("jax")
    assert eager_switch("tensorflow") is None
    tf.config.run_functions_eagerly(True)
    try:
        switch = eager_switch("tensorflow")
        assert switch is not None
        switch.turn(True)
        assert not tf.config.functions_run_eagerly()
    finally:
        tf.config.run_functions_eagerly(False)
    assert eager_switch("jax") is None
    with jax.disable_jit():
        found = eager_switch("jax")
    assert found is not None
