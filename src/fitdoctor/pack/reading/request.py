"""What a reader asked for, checked once, in the terms of the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.element import TUPLE_NAMES
from fitdoctor.pack.manifest import Manifest
from fitdoctor.pack.schema import Feature

DEFAULT_SHUFFLE_BUFFER = 10_000


@dataclass(frozen=True)
class Request:
    """A pack to read, and how."""

    manifest: Manifest
    fields: Sequence[str] | None  # given as a tuple in this order; None: a dict of all
    batch: int | None
    shuffle: int  # elements in the buffer; 0 keeps the order; True until it is checked
    index: int
    count: int
    seed: int | None
    decode: bool
    image_size: tuple[int, int] | None
    drop_remainder: bool

    @property
    def schema(self) -> list[Feature]:
        """The features that are asked for."""
        return [
            feature
            for feature in self.manifest.schema
            if self.fields is None or feature.name in self.fields
        ]

    @property
    def paths(self) -> list[str]:
        """The shards of this reader, or all when there are fewer than readers."""
        paths = [str(path) for path in self.manifest.paths]
        return paths[self.index :: self.count] if self.by_shard else paths

    @property
    def by_shard(self) -> bool:
        """Whether each reader has whole shards of its own."""
        return len(self.manifest.paths) >= self.count

    def is_decoded(self, feature: Feature) -> bool:
        """Whether a feature is an encoded image that is to become pixels."""
        return self.decode and feature.image is not None

    def shape_of_image(self, feature: Feature) -> tuple[int, int, int] | None:
        """The shape of the images, where it is known to be one."""
        if self.image_size is not None:
            return (*self.image_size, 3)
        facts = feature.image or {}
        height, width = facts.get("height"), facts.get("width")
        return (int(height), int(width), 3) if height and width else None

    def arranged(self, values: dict[str, Any]) -> Any:
        """The values as the reader wants them."""
        if self.fields is None:
            return values
        picked = tuple(values[name] for name in self.fields)
        return picked[0] if len(picked) == 1 else picked


def checked_request(request: Request) -> Request:
    """Check what was asked for, and fill in what follows from the manifest.

    Raises:
        UsageError: A number or a name cannot be.
    """
    batch, shuffle, index, count = request.batch, request.shuffle, request.index, request.count
    for name, value, least in (("batch", batch, 1), ("count", count, 1), ("index", index, 0)):
        if value is not None and (isinstance(value, bool) or value < least):
            raise UsageError(f"{name}={value!r}", expected=f"{least} or more")
    if index >= count:
        raise UsageError(f"index={index} of count={count}", expected=f"0 to {count - 1}")
    if shuffle < 0:
        raise UsageError(f"shuffle={shuffle}", expected="True, False or the size of a buffer")
    for path in request.manifest.paths:
        if not path.is_file():
            raise UsageError(
                f"the shard {path} is missing",
                expected="all shards of the manifest",
                advice="pack again with --force",
            )
    names = [feature.name for feature in request.manifest.schema]
    fields = request.fields
    if fields is None and set(names) <= set(TUPLE_NAMES):
        # What came as (x, y) is given back as (x, y).
        fields = tuple(name for name in TUPLE_NAMES if name in names)
    for name in fields or ():
        if name not in names:
            raise UsageError(
                f"there is no feature {name!r}",
                expected=", ".join(names),
                advice="one of these names",
            )
    checked = replace(
        request,
        fields=tuple(fields) if fields is not None else None,
        shuffle=DEFAULT_SHUFFLE_BUFFER if shuffle is True else int(shuffle),
    )
    _check_images(checked)
    return checked


def _check_images(request: Request) -> None:
    for feature in request.schema if request.batch is not None else ():
        if request.is_decoded(feature) and request.shape_of_image(feature) is None:
            raise UsageError(
                f"the images in {feature.name!r} differ in size and cannot be batched as they are",
                expected="image_size=(height, width), or decode=False",
            )
