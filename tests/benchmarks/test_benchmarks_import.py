"""Benchmarks are rarely run: a module that has moved away is noticed here."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_of_ours_exists(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        if node.module and node.module.split(".")[0] in ("fitdoctor", "benchmarks", "casebook"):
            module = importlib.import_module(node.module)
            for name in (one.name for one in node.names):
                inner = f"{node.module}.{name}"
                is_module = hasattr(module, "__path__") and importlib.util.find_spec(inner)
                assert hasattr(module, name) or is_module, f"{inner} is gone"
