"""Files to findings: walk the paths, parse, ask every pattern, leave out what is ignored."""

from __future__ import annotations

import os
import tokenize
from collections.abc import Iterator
from pathlib import Path

from fitdoctor.errors import UsageError
from fitdoctor.lint.module import LintFinding, Module, parse
from fitdoctor.lint.pattern import Pattern
from fitdoctor.lint.patterns import all_patterns

SYNTAX = "SYNTAX"
_SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"}
)


def python_files(paths: list[Path]) -> list[Path]:
    """The files to look at: those named, and all .py files under the folders named.

    Raises:
        UsageError: A path does not exist.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(
                f"there is no file or folder {path}",
                expected="Python files, or folders with some",
                advice="fitdoctor lint .",
            )
        files += _under(path) if path.is_dir() else [path]
    return list(dict.fromkeys(files))


def _under(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS
        )
        found += [Path(parent, name) for name in sorted(names) if name.endswith(".py")]
    return found


def check_file(path: Path, patterns: tuple[Pattern, ...] | None = None) -> list[LintFinding]:
    """The findings of a file; a file that cannot be parsed is itself one."""
    shown = str(path)
    try:
        with tokenize.open(path) as file:
            module = parse(shown, file.read())
    except SyntaxError as error:
        return [_syntax(shown, error.lineno or 1, error.offset or 1, error.msg)]
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        return [_syntax(shown, 1, 1, f"cannot be read: {error}")]
    used = all_patterns() if patterns is None else patterns
    return sorted(_findings(module, used), key=lambda f: (f.line, f.column, f.code))


def _findings(module: Module, patterns: tuple[Pattern, ...]) -> Iterator[LintFinding]:
    if not module.uses_keras:
        return
    for pattern in patterns:
        for node, message in pattern.find(module):
            last = getattr(node, "end_lineno", None) or node.lineno
            if not _is_ignored(module, pattern.code, node.lineno, last):
                yield LintFinding(
                    module.path,
                    node.lineno,
                    node.col_offset + 1,
                    pattern.code,
                    pattern.name,
                    message,
                )


def _is_ignored(module: Module, code: str, first: int, last: int) -> bool:
    lines = [module.ignored[n] for n in (first, last) if n in module.ignored]
    return any(not codes or code in codes for codes in lines)


def _syntax(path: str, line: int, column: int, message: str) -> LintFinding:
    return LintFinding(path, line, column, SYNTAX, "syntax-error", message)
