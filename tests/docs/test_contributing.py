"""The worked examples of CONTRIBUTING.md, written into a copy of the package and run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^( *)(`{3,4})python file=(\S+)\n(.*?)^\1\2$", re.M | re.S)


def examples() -> dict[str, str]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {file: textwrap.dedent(code) for _, _, file, code in _BLOCK.findall(text)}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources and test helpers, with the examples added and nothing else edited."""
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    for helper in ("conftest.py", "synthetic.py", "lab/fake_context.py"):
        (folder / "tests" / helper).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / helper, folder / "tests" / helper)
    for file, code in examples().items():
        path = folder / file
        assert not path.exists(), f"{file} exists already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    return folder


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=checkout,
        env={"PYTHONPATH": str(checkout / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_there_are_examples_of_each_kind() -> None:
    folders = {str(Path(file).parent) for file in examples()}
    assert {
        "src/fitdoctor/contract/evidence",
        "src/fitdoctor/inside/lab/probes",
        "src/fitdoctor/rules/host",
        "src/fitdoctor/inside/seams/watch",
    } <= folders


def test_their_tests_pass(checkout: Path) -> None:
    tests = [file for file in examples() if file.startswith("tests/")]
    done = run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rule_and_the_probe_are_found_without_another_edit(checkout: Path) -> None:
    code = (
        "from fitdoctor.rules import all_rules; "
        "from fitdoctor.inside.lab.scheduler import all_probes; "
        "print('HO090' in [r.code for r in all_rules()], "
        "'garbage' in [p.name for p in all_probes()])"
    )
    done = run(checkout, "-c", code)
    assert done.stdout.split() == ["True", "True"], done.stderr
