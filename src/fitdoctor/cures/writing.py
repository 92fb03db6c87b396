"""Write a patch, or take it back: every file whole at any moment, the old one or the new."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.cures.patch import Patch
from fitdoctor.cures.source_text import digest
from fitdoctor.cures.undo import Undo, keep, kept
from fitdoctor.synced_files import sync_folder, write_synced


def write_patch(patch: Patch, base: Path) -> Undo:
    """Keep the present files, then replace each of them.

    Raises:
        OutputError: A file cannot be kept or written, or is not what the patch was made from.
    """
    changes: dict[Path, tuple[bytes, bytes]] = {}
    for path in patch.files:
        old = patch.sources[path].encoded(patch.sources[path].text)
        if _bytes(path) != old:
            raise OutputError(
                f"{path} was changed while the patch was made",
                expected="the file as it was read",
                advice="run the command again",
            )
        changes[path] = (old, patch.new_bytes(path))
    undo = keep(changes, base)
    for path, (_, new) in changes.items():
        _replace(path, new)
    return undo


def take_back(base: Path) -> Undo:
    """Put the files of the newest patch back.

    Raises:
        UsageError: There is nothing to undo, or a file was changed since.
        OutputError: A file cannot be written.
    """
    found = kept(base)
    if not found:
        raise UsageError(
            f"there is nothing to undo in {base}",
            expected="a folder in which `fitdoctor fix` or `cure` was used with --apply",
            advice="fitdoctor fix --apply train.py",
        )
    undo = found[0]
    back = {}
    for file in undo.files:
        old = _bytes(file.old)
        if digest(old) != file.old_sha256:
            raise UsageError(
                f"the kept file {file.old} is not what was kept",
                expected=f"SHA-256 {file.old_sha256}",
                advice=f"compare it with {file.path} by hand",
            )
        now = digest(_bytes(file.path))
        if now not in (file.new_sha256, file.old_sha256):
            raise UsageError(
                f"{file.path} was changed after fitdoctor had written it",
                expected="the file as fitdoctor left it",
                advice=f"the file as it was before is {file.old}",
            )
        if now == file.new_sha256:
            back[file.path] = old
    for path, old in back.items():
        _replace(path, old)
    shutil.rmtree(undo.folder)
    return undo


def _replace(path: Path, data: bytes) -> None:
    """Put new bytes in a file's place in one step, with its permissions.

    Raises:
        OutputError: It cannot be written.
    """
    target = path.resolve()  # a link stays a link
    partial = target.with_name(f".{target.name}.{os.getpid()}.fitdoctor")
    try:
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        write_synced(partial, data)
        shutil.copymode(target, partial)
        os.replace(partial, target)
        sync_folder(target.parent)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(
            f"cannot write {path}: {error.strerror}",
            expected="a source file that you may write to",
            advice="fitdoctor fix --diff prints the patch; fitdoctor fix --undo takes back "
            "what was written of it",
        ) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OutputError(
            f"cannot read {path}: {error.strerror}",
            expected="the file that was recorded",
            advice="fitdoctor fix train.py examines the script again",
        ) from error
