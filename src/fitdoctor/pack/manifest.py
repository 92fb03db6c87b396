"""The manifest: what a finished pack holds, how to read it, and its checksums."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fitdoctor import __version__
from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.schema import Feature, Schema
from fitdoctor.pack.shard import Receipt, Skipped, write_json

NAME = "manifest.json"
FORMAT = "fitdoctor-pack"
VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """A finished pack."""

    folder: Path
    file_format: str
    schema: Schema  # empty: records stored as they are, which say nothing about themselves
    shards: tuple[Receipt, ...]
    source: dict[str, Any]
    identity: dict[str, Any]  # of source and options, as the plan had it

    @property
    def records(self) -> int:
        return sum(shard.records for shard in self.shards)

    @property
    def count_bytes(self) -> int:
        return sum(shard.bytes for shard in self.shards)

    @property
    def skipped(self) -> list[Skipped]:
        """The items that were left out."""
        return [bad for shard in self.shards for bad in shard.skipped]

    @property
    def paths(self) -> list[Path]:
        """The shards that hold records."""
        return [self.folder / shard.file for shard in self.shards if shard.records]

    @property
    def classes(self) -> list[str]:
        """Names of the classes, where the source has them."""
        return list(self.source.get("classes") or ())


def write_manifest(manifest: Manifest) -> None:
    """Write it, all of it or nothing.

    Raises:
        OutputError: It cannot be written.
    """
    data = {
        "format": FORMAT,
        "version": VERSION,
        "fitdoctor": __version__,
        "file_format": manifest.file_format,
        "records": manifest.records,
        "bytes": manifest.count_bytes,
        "schema": [feature.to_json() for feature in manifest.schema],
        "classes": manifest.classes,
        "source": manifest.source,
        "identity": manifest.identity,
        "skipped": len(manifest.skipped),
        "shards": [asdict(shard) for shard in manifest.shards],
    }
    write_json(manifest.folder / NAME, data)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a finished pack.

    Raises:
        UsageError: There is none, or it is not one of ours.
    """
    path = folder / NAME
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError("it is no manifest of fitdoctor")
        if data["version"] > VERSION:
            raise ValueError(f"version {data['version']} is newer than this fitdoctor")
        return Manifest(
            folder=folder,
            file_format=str(data["file_format"]),
            schema=tuple(Feature.from_json(each) for each in data["schema"]),
            shards=tuple(Receipt.from_json(each) for each in data["shards"]),
            source=data["source"],
            identity=data["identity"],
        )
    except FileNotFoundError as error:
        raise UsageError(
            f"{folder} holds no finished pack: there is no {NAME}",
            expected="a folder that `fitdoctor pack` finished",
            advice="run the pack command again: it continues where it stopped",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"cannot read {path}: {error!r}",
            expected="a manifest that `fitdoctor pack` wrote",
            advice="pack again into an empty folder",
        ) from error
