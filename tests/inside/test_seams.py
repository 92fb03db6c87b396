"""Every private seam of Keras and its backends, used for real: fails loudly when one moves."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import fitdoctor.inside.seams.watch

BACKENDS = ("tensorflow", "jax", "torch")
SCRIPTS = ("seams_script.py", "loops_script.py")


@functools.cache
def held(script: str, backend: str) -> frozenset[str]:
    """The modules of seams/watch whose seams hold, as the script says in its last line."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name(script), backend, f"{folder}/a.rec"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    says, _, modules = done.stdout.splitlines()[-1].partition(":")
    assert says.endswith(" hold")
    return frozenset(modules.split())


@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", BACKENDS)
def test_seams(backend: str) -> None:
    assert held("seams_script.py", backend)


@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", BACKENDS)
def test_hand_written_loops(backend: str) -> None:
    assert held("loops_script.py", backend)


@pytest.mark.end_to_end
def test_every_module_of_watched_seams_is_walked() -> None:
    folder = Path(fitdoctor.inside.seams.watch.__file__).parent
    modules = {path.stem for path in folder.glob("[!_]*.py")}
    walked = {one for script in SCRIPTS for backend in BACKENDS for one in held(script, backend)}
    assert walked == modules
