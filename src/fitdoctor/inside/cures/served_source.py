"""Serves changed text for some of the user's source files; the files stay as they are.

`__file__`, the working directory, `sys.path[0]` and line lookups (tracebacks, `inspect`,
AutoGraph) are those of the real file, so that a script finds its data where it always does.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import json
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import Any

from fitdoctor.inside.import_hooks import FinderOfOthers

_OURS = os.path.abspath(__file__)
# launch/inject/run_main.py, which starts the script whose text is served.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(_OURS)))
_BOOTSTRAP = os.path.join(_PACKAGE, "launch", "inject", "run_main.py")
_served: dict[str, str] = {}


def serve(manifest: str) -> None:
    """Begin to serve; `manifest` is a JSON file of path to text."""
    with open(manifest, encoding="utf-8") as file:
        sources: dict[str, str] = json.load(file)
    _served.update({os.path.realpath(path): text for path, text in sources.items()})
    sys.meta_path.insert(0, _Finder())
    # AutoGraph has linecache read files again, past what is cached.
    linecache.updatecache = _remembering(linecache.updatecache)
    for path in sources:
        _remember(path)


def text_of(path: str) -> str | None:
    """The served text of a file; None where the file itself counts."""
    return _served.get(os.path.realpath(path))


def run_main(main: dict[str, Any]) -> None:
    """Run the script named by `sys.argv[1]` as `__main__`, from its served text if it has one.

    Args:
        main: the namespace of `__main__`, which the started bootstrap file has written to.
    """
    sys.argv.pop(0)
    script = sys.argv[0]
    path = os.path.abspath(script)
    # What python itself does: the folder of the file that a link leads to.
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    text = text_of(path)
    if text is None:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
    else:
        _remember(path)
        code = _compiled(text, path)
    kept = ("__name__", "__builtins__", "__doc__", "__package__", "__spec__", "__annotations__")
    for name in [name for name in main if name not in kept]:
        del main[name]
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main.update(__file__=path, __cached__=None, __loader__=loader)
    sys.excepthook = functools.partial(_show, sys.excepthook)
    exec(code, main)


def _compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def _remember(path: str) -> list[str]:
    """Put the served lines where tracebacks and `inspect` look for them."""
    text = text_of(path) or ""
    lines = text.splitlines(keepends=True)
    # Without a time of change the entry is never checked against the file.
    linecache.cache[path] = (len(text), None, lines, path)
    return lines


def _remembering(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
    @functools.wraps(original)
    def updatecache(filename: str, module_globals: dict[str, Any] | None = None) -> list[str]:
        if filename and text_of(filename) is not None:
            return _remember(filename)
        return original(filename, module_globals)

    return updatecache


def _show(
    plain: Callable[..., Any],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """The traceback as plain python would show it: from the script's first line on."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (_OURS, _BOOTSTRAP):
        trace = trace.tb_next
    if plain is sys.__excepthook__:
        # The interpreter's own printer reads the file on disk, not what was run.
        traceback.print_exception(kind, error, trace)
    else:
        plain(kind, error, trace)


class _Finder(FinderOfOthers):
    """Finds what the other finders find, and exchanges the loader of served files."""

    def __init__(self) -> None:
        super().__init__()
        # Thousands of other modules are imported too: theirs are not looked up twice.
        self._names = {_module_name(path) for path in _served}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.rpartition(".")[2] not in self._names:
            return None
        spec = self.found_elsewhere(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        origin = spec.origin
        if origin is None or text_of(origin) is None:
            return None
        spec.loader = _Loader(fullname, origin)
        return spec


def _module_name(path: str) -> str:
    folder, file = os.path.split(path)
    name = os.path.splitext(file)[0]
    return os.path.basename(folder) if name == "__init__" else name


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from its served text; compiled files of the real one are not used."""

    def get_code(self, fullname: str) -> CodeType | None:
        _remember(self.path)
        return _compiled(text_of(self.path) or "", self.path)

    def get_source(self, fullname: str) -> str | None:
        return text_of(self.path)
