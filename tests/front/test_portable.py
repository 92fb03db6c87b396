"""`report`, `lint`, `compare` and `rule` on systems without POSIX, by construction.

Nobody runs Windows here. What is checked instead: nothing that these commands import asks at module
level for what only POSIX has, and they work where such modules cannot be imported.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fitdoctor

SOURCE = Path(fitdoctor.__file__).parent
RECORDING = Path(__file__).parents[1] / "contract" / "recordings" / "s10-schema-2.rec"
POSIX_ONLY = frozenset(
    {"crypt", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd",
     "syslog", "termios", "tty"}
)  # fmt: skip
# Names of `os` and `signal` that Windows does not have.
ABSENT = frozenset(
    {"O_NOFOLLOW", "fork", "getpgid", "getuid", "killpg", "register_at_fork", "sched_getaffinity",
     "setsid", "sysconf", "uname", "SIGHUP", "SIGKILL", "SIGSTOP", "SIGCONT", "pthread_sigmask"}
)  # fmt: skip
COMMANDS = (
    ["--version"],
    ["rule", "IN002"],
    ["lint", "."],
    ["report", str(RECORDING)],
    ["report", str(RECORDING), "--force", "-o", "a.html"],
    ["compare", str(RECORDING), str(RECORDING)],
)
PROGRAM = f"""
import json, sys
for name in {sorted(POSIX_ONLY - {"posix"})}:
    sys.modules[name] = None  # an import of it fails, as on Windows
from fitdoctor.cli import main
try:
    main()
except SystemExit as end:
    names = sorted(name for name in sys.modules if name.startswith("fitdoctor"))
    sys.stderr.write(chr(10) + json.dumps([end.code, names]))
"""


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs when a module is imported: not the bodies of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for outer in [*getattr(node, "decorator_list", ()), *node.args.defaults]:
                yield from [outer, *ast.walk(outer)]
        else:
            yield node
            yield from at_import(node)


def only_posix(text: str) -> set[str]:
    """What a module's import needs that Windows does not have."""
    found: set[str] = set()
    for node in at_import(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & POSIX_ONLY
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module).split(".")[0]} & POSIX_ONLY
            if node.module in ("os", "signal"):
                found |= {alias.name for alias in node.names} & ABSENT
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.attr} & ABSENT if node.value.id in ("os", "signal") else set()
    return found


def imported_by(command: list[str], folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    code, names = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return list(names)


def test_functions_may_ask_for_posix_and_modules_may_not() -> None:
    assert only_posix("def f():\n    import fcntl\n    os.killpg(1, 2)") == set()
    assert only_posix("import fcntl") == {"fcntl"}
    assert only_posix("if x:\n    from resource import getrusage") == {"resource"}
    assert only_posix("SIGNALS = [signal.SIGHUP]") == {"SIGHUP"}
    assert only_posix("def f(a=os.getuid()): ...") == {"getuid"}


@pytest.mark.end_to_end
def test_commands_that_only_look_need_no_posix(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import keras\n")
    names = {name for command in COMMANDS for name in imported_by(command, tmp_path)}
    assert "fitdoctor.report.html.page" in names and "fitdoctor.comparison.gate" in names
    for name in sorted(names):
        path = SOURCE.parent.joinpath(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert only_posix(file.read_text(encoding="utf-8")) == set(), file
