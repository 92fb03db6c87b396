"""Files to findings: walk the paths, parse, ask every pattern, leave out what is ignored."""

from __future__ import annotations

import os
import tokenize
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fitdoctor.contract.errors import UsageError
from fitdoctor.lint.module import LintFinding, Module, parse
from fitdoctor.lint.notebook_cells import Place, notebook_code
from fitdoctor.lint.pattern import Pattern
from fitdoctor.lint.patterns import all_patterns

SYNTAX = "SYNTAX"
SUFFIXES = (".py", ".ipynb")
_SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"}
)


def python_files(paths: list[Path]) -> list[Path]:
    """The files to look at: those named, and all Python files and notebooks under the folders.

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
        found += [Path(parent, name) for name in sorted(names) if name.endswith(SUFFIXES)]
    return found


def check_file(path: Path, patterns: tuple[Pattern, ...] | None = None) -> list[LintFinding]:
    """The findings of a file; a file that cannot be parsed is itself one."""
    shown = str(path)
    used = all_patterns() if patterns is None else patterns
    if path.suffix == ".ipynb":
        return _check_notebook(path, used)
    try:
        with tokenize.open(path) as file:
            module = parse(shown, file.read())
    except SyntaxError as error:
        return [_syntax(shown, error.lineno or 1, error.offset or 1, error.msg)]
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        return [_syntax(shown, 1, 1, f"cannot be read: {error}")]
    return _sorted(_findings(module, used))


def _check_notebook(path: Path, patterns: tuple[Pattern, ...]) -> list[LintFinding]:
    """All cells as one module: a name of an early cell is known in the later ones."""
    places: list[Place] = []
    try:
        code, places = notebook_code(path.read_text(encoding="utf-8"))
        found = _sorted(_findings(parse(str(path), code), patterns))
    except SyntaxError as error:
        found = [_syntax(str(path), error.lineno or 1, error.offset or 1, error.msg)]
    except (OSError, ValueError, RecursionError) as error:
        return [_syntax(str(path), 1, 1, f"cannot be read: {error}")]
    return [_in_cell(finding, places) for finding in found]


def _in_cell(finding: LintFinding, places: list[Place]) -> LintFinding:
    if not places:
        return finding
    cell, line = places[min(finding.line, len(places)) - 1]
    return replace(finding, cell=cell, line=line)


def _sorted(findings: Iterator[LintFinding]) -> list[LintFinding]:
    return sorted(findings, key=lambda f: (f.line, f.column, f.code))


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
