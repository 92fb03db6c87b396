"""`[tool.fitdoctor]` in pyproject.toml: defaults of options; command line and variables win."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fitdoctor.cli.output import COLORS
from fitdoctor.contract.errors import UsageError


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# For each key: the commands that have it as an option, and what its value is.
_KEYS: dict[str, tuple[tuple[str, ...], str, Callable[[Any], bool]]] = {
    "budget": (("run",), "a number of seconds", _is_number),
    "select": (("run", "report", "lint"), "a list of texts", _is_texts),
    "ignore": (("run", "report", "lint"), "a list of texts", _is_texts),
    "color": (("run", "report", "rule", "fix"), '"auto", "always" or "never"', COLORS.__contains__),
    "no-source": (("run", "report"), "true or false", lambda value: isinstance(value, bool)),
    "output-dir": (("run", "report"), "a text", lambda value: isinstance(value, str)),
    "fail-if": (("compare",), "a list of texts", _is_texts),
}


def default_map(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Defaults by command and option, from the nearest pyproject.toml that has any.

    Raises:
        UsageError: The file cannot be read, or holds what we do not know.
    """
    start = (folder or Path.cwd()).resolve()
    for parent in (start, *start.parents):
        file = parent / "pyproject.toml"
        if file.is_file() and (table := _table(file)) is not None:
            return _by_command(file, table)
    return {}


def recordings_folder() -> Path | None:
    """Where recordings are said to be, for commands without an option for it."""
    given = os.environ.get("FITDOCTOR_OUTPUT_DIR") or default_map().get("run", {}).get("output_dir")
    return Path(given) if given else None


def _table(file: Path) -> dict[str, Any] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file} cannot be read: {error}",
            expected="a TOML file",
            advice="correct the file, or run from another folder",
        ) from error
    tool = document.get("tool")
    table = tool.get("fitdoctor") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{file}: tool.fitdoctor is not a table", expected="[tool.fitdoctor]")
    return table


def _by_command(file: Path, table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    defaults: dict[str, dict[str, Any]] = {}
    for key, value in table.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            raise UsageError(
                f"{file}: [tool.fitdoctor] has an unknown key {key!r}",
                expected=f"one of {', '.join(_KEYS)}",
                advice=f"did you mean {near[0]!r}?" if near else "remove it",
            )
        commands, words, is_right = _KEYS[key]
        if not is_right(value):
            raise UsageError(
                f"{file}: [tool.fitdoctor] {key} is {value!r}",
                expected=words,
                advice="correct the value",
            )
        if key == "output-dir":
            value = str(file.parent / value)
        for command in commands:
            defaults.setdefault(command, {})[key.replace("-", "_")] = value
    return defaults
