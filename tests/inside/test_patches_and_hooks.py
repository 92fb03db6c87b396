from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fitdoctor.inside.import_hooks import ImportHooks
from fitdoctor.inside.patches import Patches


class Base:
    def method(self) -> str:
        return "base"


class Derived(Base):
    pass


def test_a_missing_seam_is_loud() -> None:
    with pytest.raises(AttributeError):
        Patches().replace(Base, "gone_in_the_next_keras", lambda original: original)


def test_undo_leaves_no_trace_even_of_inherited_attributes() -> None:
    before = dict(vars(Derived))
    patches = Patches()
    patches.replace(Derived, "method", lambda original: lambda self: "patched " + original(self))
    patches.replace(Derived, "method", lambda original: lambda self: "twice " + original(self))
    assert Derived().method() == "twice patched base"
    patches.undo()
    assert Derived().method() == "base"
    assert dict(vars(Derived)) == before


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "watched_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "watched_module", raising=False)
    return "watched_module"


@pytest.fixture
def hooks() -> ImportHooks:
    errors: list[tuple[str, BaseException]] = []
    hooks = ImportHooks(lambda name, error: errors.append((name, error)))
    hooks.errors = errors  # type: ignore[attr-defined]
    hooks.install()
    yield hooks
    hooks.uninstall()
    assert hooks not in sys.meta_path


def test_nothing_happens_before_the_import(hooks: ImportHooks, module: str) -> None:
    seen: list[str] = []
    hooks.when_imported(module, lambda m: seen.append(m.__name__))
    assert seen == []
    __import__(module)
    assert seen == [module]


def test_a_module_imported_before_is_acted_on_at_once(hooks: ImportHooks, module: str) -> None:
    __import__(module)
    seen: list[str] = []
    hooks.when_imported(module, lambda m: seen.append(m.__name__))
    assert seen == [module]


def test_a_failing_action_does_not_break_the_import(hooks: ImportHooks, module: str) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("seam gone")

    hooks.when_imported(module, fail)
    assert __import__(module).value == 1
    assert [name for name, _ in hooks.errors] == [module]  # type: ignore[attr-defined]


def test_the_loader_keeps_its_type_and_methods(hooks: ImportHooks, module: str) -> None:
    hooks.when_imported(module, lambda m: None)
    loaded = __import__(module)
    assert type(loaded.__spec__.loader).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(loaded.__spec__.loader)
    assert "value = 1" in loaded.__spec__.loader.get_source(module)
