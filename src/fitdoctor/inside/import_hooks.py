"""Act on a module right after the user's script imports it.

fitdoctor never imports Keras or a backend itself, so the script may still choose
its backend, its flags and its devices before the first import.
"""

from __future__ import annotations

import importlib.machinery
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

Action = Callable[[ModuleType], None]


class FinderOfOthers(MetaPathFinder):
    """A finder that finds nothing itself; it looks at what the others find."""

    def __init__(self) -> None:
        self._looking: set[str] = set()

    def found_elsewhere(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        """What the other finders find; nothing while they are being asked."""
        if fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            for finder in sys.meta_path:
                # Very old finders have no such method.
                find = getattr(finder, "find_spec", None) if finder is not self else None
                spec = find(fullname, path, target) if find else None
                if spec is not None:
                    found: importlib.machinery.ModuleSpec = spec
                    return found
        finally:
            self._looking.discard(fullname)
        return None


class ImportHooks(FinderOfOthers):
    """Watches chosen modules being executed."""

    def __init__(
        self,
        on_error: Callable[[str, BaseException], None],
        on_executed: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Report a failing action instead of breaking the user's import.

        Args:
            on_error: Called with the module's name and what went wrong.
            on_executed: Called with the name, begin and duration of each watched module.
        """
        super().__init__()
        self._on_executed = on_executed
        self._actions: dict[str, list[Action]] = {}
        self._on_error = on_error
        self._before: dict[str, list[Callable[[], None]]] = {}

    def install(self) -> None:
        """Come first, so that no other finder hides a module from us."""
        sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Stop watching."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def when_imported(self, name: str, action: Action) -> None:
        """Run the action after `name` was executed, or now if it already was."""
        self._actions.setdefault(name, []).append(action)
        module = sys.modules.get(name)
        if module is not None:
            self._act(name, module, [action])

    def before_import(self, name: str, action: Callable[[], None]) -> None:
        """Run the action right before `name` is executed for the first time."""
        self._before.setdefault(name, []).append(action)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Let the other finders find the module, then watch its loader."""
        for action in self._before.pop(fullname, ()):
            action()
        if fullname not in self._actions:
            return None
        spec = self.found_elsewhere(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self._watch(fullname, spec)
        return spec

    def _watch(self, fullname: str, spec: importlib.machinery.ModuleSpec) -> None:
        loader = spec.loader
        execute = getattr(loader, "exec_module", None)
        if loader is None or execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            # An attribute of this one loader instance: its type, and all that others
            # ask of it (get_source, get_data), stay what they were.
            vars(loader).pop("exec_module", None)
            begin = time.perf_counter_ns()
            execute(module)
            if self._on_executed is not None:
                self._on_executed(fullname, begin, time.perf_counter_ns() - begin)
            self._act(fullname, module, self._actions.get(fullname, ()))

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError as error:  # a loader with slots cannot be watched
            self._on_error(fullname, error)

    def _act(self, name: str, module: ModuleType, actions: Sequence[Action]) -> None:
        for action in actions:
            try:
                action(module)
            except Exception as error:  # noqa: BLE001 - the user's import must succeed
                self._on_error(name, error)
