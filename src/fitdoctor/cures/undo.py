"""The previous files: kept before a patch is written, put back on request.

A folder per patch under `.fitdoctor/undo/`: the old files and a manifest that names them. It
is complete before the first source file is replaced, so that whatever is interrupted later
can be undone.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import OutputError, UsageError
from fitdoctor.cures.source_text import digest
from fitdoctor.synced_files import sync_folder, write_synced

FOLDER = Path(".fitdoctor") / "undo"
MANIFEST = "manifest.json"
SCHEMA = 1


@dataclass(frozen=True)
class KeptFile:
    """One file as it was, and what it was replaced by."""

    path: Path
    old: Path
    old_sha256: str
    new_sha256: str


@dataclass(frozen=True)
class Undo:
    """One patch that was written, or was about to be."""

    folder: Path
    files: tuple[KeptFile, ...]


def keep(changes: dict[Path, tuple[bytes, bytes]], base: Path) -> Undo:
    """Keep the old bytes of files that are about to get the new ones.

    Raises:
        OutputError: They cannot be kept.
    """
    store = base / FOLDER
    stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    # Hidden until it is complete: an interrupted one is no patch.
    unfinished = store / f".{stamp}.{os.getpid()}"
    try:
        unfinished.mkdir(parents=True)
        ignore = base / FOLDER.parts[0] / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        rows = []
        for number, (path, (old, new)) in enumerate(sorted(changes.items())):
            name = f"{number}_{path.name}"
            write_synced(unfinished / name, old)
            rows.append(
                {
                    "path": str(path),
                    "old": name,
                    "old_sha256": digest(old),
                    "new_sha256": digest(new),
                }
            )
        manifest = {"schema": SCHEMA, "written_unix_ns": time.time_ns(), "files": rows}
        write_synced(unfinished / MANIFEST, json.dumps(manifest, indent=2).encode() + b"\n")
        folder = _free(store, stamp)
        os.replace(unfinished, folder)
        sync_folder(store)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OutputError(
            f"the present files cannot be kept in {store}: {error.strerror}",
            expected="a folder in which fitdoctor may write .fitdoctor/",
            advice="fitdoctor fix --diff prints the patch without writing anything",
        ) from error
    return read(folder)


def _free(store: Path, stamp: str) -> Path:
    names = (stamp, *(f"{stamp}-{number}" for number in range(2, 1000)))
    return next(store / name for name in names if not (store / name).exists())


def kept(base: Path) -> list[Undo]:
    """The patches that can be undone, the newest first."""
    store = base / FOLDER
    folders = [one for one in store.glob("[!.]*") if (one / MANIFEST).is_file()]
    return [read(folder) for folder in sorted(folders, key=_age, reverse=True)]


def _age(folder: Path) -> tuple[int, str]:
    try:
        written = int(json.loads((folder / MANIFEST).read_bytes())["written_unix_ns"])
    except (OSError, ValueError, KeyError, TypeError):
        written = 0
    return written, folder.name


def read(folder: Path) -> Undo:
    """Read a kept patch.

    Raises:
        UsageError: Its manifest is not one of ours.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
        if manifest["schema"] != SCHEMA:
            raise ValueError(f"schema {manifest['schema']}")
        files = tuple(
            KeptFile(
                Path(row["path"]),
                folder / Path(row["old"]).name,
                str(row["old_sha256"]),
                str(row["new_sha256"]),
            )
            for row in manifest["files"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder / MANIFEST} cannot be read: {error}",
            expected=f"a manifest of schema {SCHEMA}",
            advice=f"the old files are in {folder}",
        ) from error
    return Undo(folder, files)
