"""The steps of action.yml, run as GitHub runs them: bash, variables from the inputs."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
# What a step may ask for between ${{ and }}.
_ASKED = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str
    outputs: dict[str, str]


def step(name: str) -> dict[str, Any]:
    (found,) = (one for one in ACTION["runs"]["steps"] if one["name"] == name)
    return dict(found)


def run_step(name: str, cwd: Path, bin_folder: Path, inputs: dict[str, str], **known: str) -> Done:
    """Run a step with these inputs, and the action's own defaults for the others."""
    given = {one: str(about.get("default", "")) for one, about in ACTION["inputs"].items()}
    assert set(inputs) <= set(given)
    facts = {f"inputs.{one}": value for one, value in {**given, **inputs}.items()}
    facts |= {each.replace("__", "."): value for each, value in known.items()}
    found = step(name)
    variables = {
        key: _ASKED.sub(lambda match: facts[match[1]], value) for key, value in found["env"].items()
    }
    outputs = cwd / "github-output"
    outputs.touch()
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        cwd=cwd,
        env={
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_OUTPUT": str(outputs),
            **variables,
        },
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    written = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    return Done(done.returncode, done.stdout, done.stderr, written)
