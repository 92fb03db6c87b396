"""Wheel and sdist as they would be published, in an environment without Keras or any backend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tests" / "contract" / "recordings" / "s10-schema-2.rec"
SLOW = "import keras\nmodel.compile(loss='mse', run_eagerly=True)\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both, made by the build backend itself: no network is needed."""
    folder = tmp_path_factory.mktemp("dist")
    program = (
        "from hatchling.build import build_sdist, build_wheel\n"
        f"build_wheel({str(folder)!r}); build_sdist({str(folder)!r})"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def bin_folder(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel, and what it says it needs and nothing else."""
    home = tmp_path_factory.mktemp("venv") / "env"
    venv.create(home, with_pip=False, symlinks=True)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    site = next(home.glob("lib/python*/site-packages"))
    for name in needed("fitdoctor"):
        link(name, site)
    (wheel,) = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, timeout=300)
    return scripts


def needed(name: str) -> set[str]:
    """Everything that a package needs without extras, and what that needs."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for text in distribution(waiting.pop()).requires or []:
            requirement = Requirement(text)
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if wanted and requirement.name not in found:
                try:
                    distribution(requirement.name)
                except PackageNotFoundError:
                    continue  # an empty environment will say whether it was needed
                found.add(requirement.name)
                waiting.append(requirement.name)
    return found


def link(name: str, site: Path) -> None:
    """Stand in for installing a package again: its top folders and files, linked."""
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
        source = Path(str(distribution(name).locate_file(top)))
        if not (site / top).exists():
            (site / top).symlink_to(source)


def fitdoctor(bin_folder: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [bin_folder / "fitdoctor", *words],
        cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.end_to_end
def test_both_hold_what_is_needed_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "fitdoctor/py.typed" in names
    for data in ("report/html/page.html.j2", "report/html/vendor/uPlot.iife.min.js"):
        assert f"fitdoctor/{data}" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert all(name.startswith("fitdoctor") for name in names)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= inside
    assert not any(name.startswith((".venv", ".fitdoctor", "dist")) for name in inside)


@pytest.mark.end_to_end
def test_looking_works_without_any_backend(bin_folder: Path, tmp_path: Path) -> None:
    python = bin_folder / "python"
    backends = "('keras', 'tensorflow', 'jax', 'torch')"
    found = f"import importlib.util as u; print([n for n in {backends} if u.find_spec(n)])"
    done = subprocess.run(
        [python, "-c", found],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"
    version = fitdoctor(bin_folder, tmp_path, "--version")
    assert version.returncode == 0, version.stderr
    assert version.stdout.startswith("fitdoctor, version ")

    (tmp_path / "train.py").write_text(SLOW)
    lint = fitdoctor(bin_folder, tmp_path, "lint", "--format", "sarif", "train.py")
    assert lint.returncode == 1
    assert json.loads(lint.stdout)["runs"][0]["results"][0]["ruleId"] == "HO004"

    report = fitdoctor(bin_folder, tmp_path, "report", str(RECORDING))
    assert report.returncode == 0 and "One step of fit" in report.stdout
    page = fitdoctor(bin_folder, tmp_path, "report", str(RECORDING), "-o", "a.html")
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "a.html").stat().st_size > 10_000

    same = fitdoctor(bin_folder, tmp_path, "compare", str(RECORDING), str(RECORDING))
    assert same.returncode == 0 and "step" in same.stdout
    limit = fitdoctor(bin_folder, tmp_path, "compare", str(RECORDING), "--fail-if", "step > 1ms")
    assert limit.returncode == 1

    rule = fitdoctor(bin_folder, tmp_path, "rule", "IN002")
    assert rule.returncode == 0 and "serial-reads" in rule.stdout


@pytest.mark.end_to_end
def test_running_without_keras_says_so(bin_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('nothing to train')\n")
    done = fitdoctor(bin_folder, tmp_path, "run", "train.py")
    assert done.returncode == 2 and done.stdout == "nothing to train\n"
    assert "no Keras training was seen in train.py" in done.stderr
