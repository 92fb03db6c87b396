"""A case folder and reports made of plain dicts: nothing here trains."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# The casebook is not installed: plain `pytest` would not find it from here.
sys.path.insert(0, str(Path(__file__).parents[2]))

from casebook.case import Case, load_case

SLOW = "import keras\nfor batch in data:\n    read(batch)\n"
FIELDS = {
    "id": '"C01"',
    "title": '"a case"',
    "backend": '"tensorflow"',
    "expect": '"IN002"',
    "exactness": '"="',
    "where": '{ file = "slow.py", contains = "read(batch)" }',
}


@pytest.fixture
def write_case(tmp_path: Path) -> Callable[..., Path]:
    """Writes a case folder; a keyword replaces a field (TOML text), None leaves it out."""

    def write(**fields: str | None) -> Path:
        folder = tmp_path / "C01"
        folder.mkdir(exist_ok=True)
        (folder / "slow.py").write_text(SLOW)
        (folder / "fixed.py").write_text("import keras\n")
        merged = {**FIELDS, **fields}
        lines = [f"{name} = {text}\n" for name, text in merged.items() if text is not None]
        (folder / "case.toml").write_text("".join(lines))
        return folder

    return write


@pytest.fixture
def borrow(write_case: Callable[..., Path]) -> Callable[..., Path]:
    """Writes a case that uses the scripts of another one, on another backend."""

    def write(script: str = "C01", backend: str = "jax") -> Path:
        folder = write_case().parent / "C01_other"
        folder.mkdir(exist_ok=True)
        fields = {**FIELDS, "id": '"C01_other"', "backend": f'"{backend}"'}
        lines = [f"{name} = {text}\n" for name, text in fields.items()]
        (folder / "case.toml").write_text("".join(lines) + f'script = "{script}"\n')
        return folder

    return write


@pytest.fixture
def make_case(write_case: Callable[..., Path]) -> Callable[..., Case]:
    def make(**fields: str | None) -> Case:
        return load_case(write_case(**fields))

    return make


@pytest.fixture
def finding() -> Callable[..., dict[str, Any]]:
    def make(rule: str = "IN002", ratio: float = 3.0, line: int = 3, **more: Any) -> dict[str, Any]:
        return {
            "rule": rule,
            "where": {"file": "/tmp/x/slow.py", "line": line},
            "gain": {"ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1},
            "cure": {"safety": "safe", "summary": "read with four threads"},
            **more,
        }

    return make
