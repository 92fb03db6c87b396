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


def check_file(path: Path) -> list[LintFinding]:
    """The findings of a file; a file that cannot be parsed is itself one."""
    shown = str(path)
    places: list[Place] = []
    try:
        if path.suffix == ".ipynb":
            # All cells as one module: a name of an early cell is known in the later ones.
            text, places = notebook_code(path.read_text(encoding="utf-8"))
        else:
            with tokenize.open(path) as file:
                text = file.read()
        found = sorted(_findings(parse(shown, text)), key=lambda f: (f.line, f.column, f.code))
    except SyntaxError as error:
        found = [_syntax(shown, error.lineno or 1, error.offset or 1, error.msg)]
    except (OSError, ValueError, RecursionError) as error:
        return [_syntax(shown, 1, 1, f"cannot be read: {error}")]
    return [_in_cell(finding, places) for finding in found]


def _in_cell(finding: LintFinding, places: list[Place]) -> LintFinding:
    if not places:
        return finding
    cell, line = places[min(finding.line, len(places)) - 1]
    return replace(finding, cell=cell, line=line)


def _findings(module: Module) -> Iterator[LintFinding]:
    if not module.uses_keras:
        return
    for each in all_patterns():
        for node, message in each.find(module):
            if not _is_ignored(module, each.code, node.lineno, node.end_lineno or node.lineno):
                yield LintFinding(
                    module.path, node.lineno, node.col_offset + 1, each.code, each.name, message
                )


def _is_ignored(module: Module, code: str, first: int, last: int) -> bool:
    lines = [module.ignored[n] for n in (first, last) if n in module.ignored]
    return any(not codes or code in codes for codes in lines)


def _syntax(path: str, line: int, column: int, message: str) -> LintFinding:
    return LintFinding(path, line, column, SYNTAX, "syntax-error", message)
