"""A folder of images; folders inside it are the classes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.encoded_images import SUFFIXES, decoded, image_facts
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.shard import Skipped
from fitdoctor.pack.sources.data_source import Block, Range, ranges_by_edges

# Files that a block holds at once; their bytes stay in memory until it is written.
BLOCK_FILES = 256
# Framing, names and labels around the bytes of an image.
_AROUND_BYTES = 96


@dataclass
class ImageFolder:
    """Images in the order of their paths, with the number of their class."""

    root: str
    files: list[tuple[str, int, int]]  # path below root, bytes, number of the class
    classes: list[str]
    stamp: str  # over paths, sizes and times
    decode: bool
    size: tuple[int, int] | None

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "images",
            "path": self.root,
            "count": len(self.files),
            "classes": self.classes,
            "stamp": self.stamp,
            "decode": self.decode,
            "size": list(self.size) if self.size else None,
        }

    def ranges(self, shard_bytes: int, at_least: int) -> list[Range]:
        """By the sizes of the files."""
        sizes = np.array([size + _AROUND_BYTES for _, size, _ in self.files], np.float64)
        return ranges_by_edges(np.cumsum(sizes), shard_bytes, at_least)

    def blocks(self, part: Range) -> Iterator[Block]:
        """Images as they are on the disk, each looked at enough to know that it is whole."""
        labels = [np.array(number, np.int64) for number in range(len(self.classes))]
        for start in range(part.start, part.stop, BLOCK_FILES):
            files = self.files[start : min(start + BLOCK_FILES, part.stop)]
            block = Block(len(files), is_normal=True)
            for path, size, number in files:
                try:
                    element = self._element(path, size, block.images)
                    if labels:
                        element["label"] = labels[number]
                    block.elements.append((path, element))
                except (OSError, BadElement) as error:
                    reason = error.strerror if isinstance(error, OSError) else str(error)
                    block.bad.append(Skipped(path, reason or str(error)))
            yield block

    def _element(self, path: str, size: int, images: list[dict[str, Any]]) -> dict[str, Any]:
        # Plain system calls: a buffered file object costs as much as reading a small image.
        descriptor = os.open(f"{self.root}/{path}", os.O_RDONLY)
        try:
            data = os.read(descriptor, size + 1)
        finally:
            os.close(descriptor)
        if len(data) != size:
            raise BadElement(f"it had {size} bytes when the pack was begun, and has others now")
        facts = image_facts(data)
        element: dict[str, Any] = {"image": data, "name": path.encode()}
        if self.decode:
            element["image"] = decoded(data, self.size)
        else:
            images.append(facts)
        return element


def open_folder(root: Path, *, decode: bool, size: tuple[int, int] | None) -> ImageFolder:
    """Find the images of a folder.

    Raises:
        UsageError: There are none.
    """
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    listed = [sorted(_images(root, name)) for name in classes or [""]]
    files = [(path, length, n) for n, images in enumerate(listed) for path, length, _ in images]
    if not files:
        raise UsageError(
            f"there are no images in {root}",
            expected="images in folders named for their classes: " + " ".join(SUFFIXES),
            advice="the folder that holds one folder per class",
        )
    stamp = hashlib.sha256(repr(list(chain.from_iterable(listed))).encode()).hexdigest()
    return ImageFolder(str(root), files, classes, stamp, decode, size)


def _images(root: Path, name: str) -> list[tuple[str, int, int]]:
    """Path below root, bytes and time of every image below a folder."""
    images = []
    with os.scandir(f"{root}/{name}") as entries:
        for entry in entries:
            path = f"{name}/{entry.name}" if name else entry.name
            if entry.is_dir():
                images += _images(root, path)
            elif entry.name.lower().endswith(SUFFIXES):
                facts = entry.stat()
                images.append((path, facts.st_size, facts.st_mtime_ns))
    return images
