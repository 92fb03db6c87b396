"""Checks what is to be run, before anything runs."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import tokenize
import zipfile
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from fitdoctor.cli.output import FORMATS
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import Script


def check_target(script: Script) -> None:
    """Refuse a script or module that python could not start.

    Raises:
        UsageError: There is none, it is a folder, or it is not a Python file.
    """
    if script.module:
        _check_module(script.path)
        return
    path = Path(script.path)
    if path.is_dir():
        raise UsageError(
            f"{script.path} is a folder",
            expected="a Python script",
            advice=f"fitdoctor run {path / 'train.py'}",
        )
    if not path.exists():
        raise UsageError(
            f"there is no script {script.path} in {os.getcwd()}",
            expected="the path of a Python script, or -m and a module",
            advice="fitdoctor run train.py",
        )
    try:
        is_python = _is_python(path)
    except OSError as error:
        raise UsageError(
            f"cannot read {script.path}: {error.strerror}",
            expected="a script that you may read",
            advice=f"ls -l {script.path}",
        ) from error
    if not is_python:
        raise UsageError(
            f"{script.path} is not a Python script",
            expected="Python source text",
            advice="the script that you would start with python",
        )


def _is_python(path: Path) -> bool:
    with open(path, "rb") as file:
        start = file.read(4)
    # What python also runs: compiled files and zipped applications.
    if start == importlib.util.MAGIC_NUMBER or zipfile.is_zipfile(path):
        return True
    try:
        with tokenize.open(path) as source:
            return "\0" not in source.read()
    except (SyntaxError, UnicodeDecodeError):
        return False


def _check_module(module: str) -> None:
    """Refuse a module that `python -m` would not find, without importing anything."""
    missing = _missing_part(module)
    if missing is not None:
        raise UsageError(
            f"there is no module {missing}",
            expected="a module that `python -m` finds from this folder",
            advice="change to the project's folder, or install the package",
        )


def _missing_part(module: str) -> str | None:
    names = module.split(".")
    search: Sequence[str] | None = None
    for count in range(1, len(names) + 1):
        name = ".".join(names[:count])
        try:
            spec = _find(name, search)
        except (KeyError, ValueError, ImportError, AttributeError):
            return None  # a namespace inside a namespace cannot be judged from outside
        if spec is None:
            return name
        search = spec.submodule_search_locations
        if search is None and count < len(names):
            return ".".join(names[: count + 1])
    if search is not None and _find(f"{module}.__main__", search) is None:
        return f"{module}.__main__"
    return None


def _find(name: str, search: Sequence[str] | None) -> ModuleSpec | None:
    # `python -m` puts the working directory first; we may have been started without it.
    path = [os.getcwd(), *sys.path] if search is None else search
    others = [finder for finder in sys.meta_path if finder is not PathFinder]
    found = (finder.find_spec(name, search) for finder in others)
    return PathFinder.find_spec(name, path) or next(filter(None, found), None)


def misplaced_option(args: Sequence[str]) -> str:
    """An output of ours that was asked for after the script, empty where there is none.

    A script may have an `-o` of its own: what it did write is not meant.
    """
    for option, value in itertools.pairwise(args):
        asked = option in ("-o", "--output", "--json") and value.lower().endswith(FORMATS)
        if asked and not os.path.exists(value):
            return f"{option} {value}"
    return ""
