"""The folder that a pack goes to: whose it is, what is done already, and who is writing."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.pack import manifest as manifests
from fitdoctor.pack.shard import WORK_FOLDER, not_written

LOCK = "lock"
# Workers of a command that was killed are gone within moments.
LOCK_WAIT_S = 3.0
LOCK_TRIES = 10


def plan_path(folder: Path) -> Path:
    """Where the plan of an unfinished pack is kept: the same command continues by it."""
    return folder / WORK_FOLDER / "plan.json"


def read_plan(folder: Path) -> dict[str, Any] | None:
    """The plan of an unfinished pack, or None."""
    try:
        plan = json.loads(plan_path(folder).read_bytes())
    except (OSError, ValueError):
        return None
    return plan if isinstance(plan, dict) else None


@contextlib.contextmanager
def taken(folder: Path, *, force: bool, waits: bool = False) -> Iterator[None]:
    """Have the folder for ourselves; `waits` for another process, however long it writes.

    Raises:
        UsageError: It holds something that is not a pack.
        OutputError: Another process is writing to it, or it cannot be made.
    """
    _check_ours(folder)
    work = folder / WORK_FOLDER
    try:
        lock = _opened(work)
    except OSError as error:
        raise not_written(folder, error) from error
    with lock:
        _lock(lock.fileno(), folder, waits=waits)
        if force:
            clear(folder)
            work.mkdir(exist_ok=True)
        yield


def _opened(work: Path) -> TextIO:
    """The lock file, in a folder that another process may be deleting: it has just finished."""
    for _ in range(LOCK_TRIES):
        work.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            return open(work / LOCK, "a")
    return open(work / LOCK, "a")


def _lock(descriptor: int, folder: Path, *, waits: bool) -> None:
    deadline = math.inf if waits else time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise OutputError(
                    f"another process is writing to {folder}",
                    expected="one pack command per folder at a time",
                    advice="wait until it is done",
                ) from error
            time.sleep(0.05)


def _check_ours(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file", expected="a folder, new or of an earlier pack")
    foreign = [entry.name for entry in folder.iterdir() if not _is_ours(entry)]
    if foreign:
        raise UsageError(
            f"{folder} holds something else: {', '.join(sorted(foreign)[:3])}",
            expected="an empty or new folder, or an earlier pack",
            advice="another folder; nothing was changed",
        )
    if (folder / manifests.NAME).exists():
        manifests.read_manifest(folder)


def _is_ours(entry: Path) -> bool:
    if entry.name in (WORK_FOLDER, manifests.NAME):
        return True
    name = entry.stem.removeprefix("shard-")
    return name.isdigit() and entry.suffix in (".tfrecord", ".arrayrecord")


def clear(folder: Path) -> None:
    """Delete what an earlier pack wrote, the manifest first: half a pack must not look whole."""
    (folder / manifests.NAME).unlink(missing_ok=True)
    for entry in list(folder.iterdir()):
        if entry.name != WORK_FOLDER and _is_ours(entry):
            entry.unlink()
    clear_work(folder, keep_lock=True)


def remove_parts(folder: Path) -> None:
    """Delete what interrupted workers left; call it while the folder is ours."""
    for entry in (folder / WORK_FOLDER).glob("*.part"):
        entry.unlink(missing_ok=True)


def clear_work(folder: Path, *, keep_lock: bool = False) -> None:
    """Delete plan and receipts."""
    work = folder / WORK_FOLDER
    for entry in list(work.iterdir()):
        if not (keep_lock and entry.name == LOCK):
            entry.unlink(missing_ok=True)
    if not keep_lock:
        os.rmdir(work)
