"""Help must not pay for what only the work needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

HEAVY = ("numpy", "scipy", "rich", "psutil", "pynvml", "keras", "tensorflow", "libcst")
PROGRAM = """
import json, sys
from fitdoctor.cli import main
try:
    main()
except SystemExit:
    sys.stderr.write(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["report", "-h"],
        ["rule", "-h"],
        ["pack", "-h"],
        ["scale", "-h"],
        ["attach", "-h"],
    ],
)
def test_help_imports_nothing_heavy(tmp_path: Path, args: list[str]) -> None:
    import sys

    result = run([sys.executable, "-c", PROGRAM], *args, cwd=tmp_path)
    assert result.stdout != ""
    assert not set(json.loads(result.stderr)) & set(HEAVY)
