from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cured import finding

from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.cures import undo, writing
from fitdoctor.cures.patch import Patch, plan
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where

OLD = "model.compile()\n"
NEW = "model.compile(steps_per_execution=10)\n"


def patch_of(*paths: Path) -> Patch:
    edits = [
        SetKeyword(Where(str(one), 1), "compile", "steps_per_execution", "10") for one in paths
    ]
    return plan([finding(*edits)], roots=[paths[0].parent])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(OLD)
    path.chmod(0o750)
    return path


def test_there_is_nothing_to_undo(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to undo"):
        writing.take_back(tmp_path)


def test_written_and_taken_back(script: Path, tmp_path: Path) -> None:
    writing.write_patch(patch_of(script), tmp_path)
    assert script.read_text() == NEW
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert sorted(one.name for one in tmp_path.iterdir()) == [".fitdoctor", "train.py"]
    assert (tmp_path / ".fitdoctor" / ".gitignore").read_text() == "*\n"
    writing.take_back(tmp_path)
    assert script.read_text() == OLD
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert undo.kept(tmp_path) == []


def test_patches_are_taken_back_newest_first(script: Path, tmp_path: Path) -> None:
    writing.write_patch(patch_of(script), tmp_path)
    edit = SetKeyword(Where(str(script), 1), "compile", "jit_compile", "False")
    writing.write_patch(plan([finding(edit)], roots=[tmp_path]), tmp_path)
    writing.take_back(tmp_path)
    assert script.read_text() == NEW
    writing.take_back(tmp_path)
    assert script.read_text() == OLD


def test_a_file_changed_meanwhile_is_not_overwritten(script: Path, tmp_path: Path) -> None:
    patch = patch_of(script)
    script.write_text(OLD + "# mine\n")
    with pytest.raises(OutputError, match="changed while"):
        writing.write_patch(patch, tmp_path)
    assert script.read_text() == OLD + "# mine\n"


def test_a_file_changed_since_is_not_taken_back(script: Path, tmp_path: Path) -> None:
    writing.write_patch(patch_of(script), tmp_path)
    script.write_text(NEW + "# mine\n")
    with pytest.raises(UsageError, match="was changed after"):
        writing.take_back(tmp_path)
    assert script.read_text() == NEW + "# mine\n"


def test_a_kept_file_that_was_spoilt_is_not_put_back(script: Path, tmp_path: Path) -> None:
    kept = writing.write_patch(patch_of(script), tmp_path)
    kept.files[0].old.write_text("spoilt")
    with pytest.raises(UsageError, match="not what was kept"):
        writing.take_back(tmp_path)
    assert script.read_text() == NEW


def test_a_manifest_of_someone_else(script: Path, tmp_path: Path) -> None:
    kept = writing.write_patch(patch_of(script), tmp_path)
    (kept.folder / undo.MANIFEST).write_text('{"schema": 99}')
    with pytest.raises(UsageError, match="cannot be read"):
        writing.take_back(tmp_path)


def test_a_link_stays_a_link(script: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(script)
    writing.write_patch(patch_of(link), tmp_path)
    assert link.is_symlink()
    assert script.read_text() == NEW


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written(script: Path, tmp_path: Path) -> None:
    script.chmod(0o440)
    with pytest.raises(OutputError, match="cannot write"):
        writing.write_patch(patch_of(script), tmp_path)
    assert script.read_text() == OLD


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_writing import patch_of
from fitdoctor.cures import writing

paths = [Path(sys.argv[1]) / name for name in ("a.py", "b.py")]
patch = patch_of(*paths)
left = int(sys.argv[2])

def hook(event, args):
    # Every opened, renamed or removed file is a moment at which the process may die.
    global left
    if event in ("open", "os.rename", "os.remove", "os.mkdir"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
writing.write_patch(patch, Path(sys.argv[1]))
"""


def test_killed_at_any_moment_every_file_is_the_old_or_the_new(tmp_path: Path) -> None:
    seen = set()
    for moment in range(60):
        folder = tmp_path / str(moment)
        folder.mkdir()
        files = [folder / "a.py", folder / "b.py"]
        for file in files:
            file.write_text(OLD)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), str(moment), str(Path(__file__).parent)],
            check=False,
            capture_output=True,
        )
        texts = tuple(file.read_text() for file in files)
        assert set(texts) <= {OLD, NEW}, done.stderr
        seen.add(texts)
        if NEW in texts:
            # What was begun can be undone.
            writing.take_back(folder)
            assert all(file.read_text() == OLD for file in files)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert seen == {(OLD, OLD), (NEW, OLD), (NEW, NEW)}
