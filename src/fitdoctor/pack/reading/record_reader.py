"""The records of a pack in plain Python: in shuffled order, or by number."""

from __future__ import annotations

import mmap
import random
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from fitdoctor.pack import tfrecord
from fitdoctor.pack.encoded_images import decoded
from fitdoctor.pack.example import decoder
from fitdoctor.pack.reading.request import Request
from fitdoctor.pack.verify import records_of


def reading_order(request: Request, seed: int | None) -> Iterator[bytes]:
    """Records of this reader; shards in random order and then through a buffer, if shuffled."""
    chance = random.Random(seed)
    paths = request.paths
    if request.shuffle:
        chance.shuffle(paths)
    records = _own(request, paths)
    if not request.shuffle:
        yield from records
        return
    buffer: list[bytes] = []
    for record in records:
        if len(buffer) < request.shuffle:
            buffer.append(record)
            continue
        place = chance.randrange(len(buffer))
        yield buffer[place]
        buffer[place] = record
    chance.shuffle(buffer)
    yield from buffer


def _own(request: Request, paths: list[str]) -> Iterator[bytes]:
    number = 0
    # Readers that share shards must agree on numbers: in the order of the pack.
    for path in paths if request.by_shard else sorted(paths):
        for record in records_of(Path(path), request.manifest.file_format):
            if request.by_shard or number % request.count == request.index:
                yield record
            number += 1


class ElementReader:
    """Turns records into what the reader asked for."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._decode = decoder(request.manifest.schema)
        self._images = [f.name for f in request.manifest.schema if request.is_decoded(f)]

    def values(self, record: bytes) -> dict[str, Any]:
        """All values of an element."""
        values = self._decode(record)
        for name in self._images:
            values[name] = decoded(values[name], self._request.image_size)
        return values

    def __call__(self, record: bytes) -> Any:
        """An element as it was asked for."""
        return self._request.arranged(self.values(record))


class TFRecordSource:
    """Records of TFRecord files by their number; the files are looked through when first used."""

    def __init__(self, paths: list[str], counts: list[int]) -> None:
        self._paths = paths
        self._ends = list(accumulate(counts))
        self._open: dict[int, tuple[mmap.mmap, list[tuple[int, int]]]] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getstate__(self) -> dict[str, Any]:
        """Open files do not travel to other processes."""
        return self.__dict__ | {"_open": {}}

    def __getitem__(self, number: int) -> bytes:
        if not 0 <= number < len(self):
            raise IndexError(number)
        shard = bisect_right(self._ends, number)
        mapped, places = self._file(shard)
        at, length = places[number - (self._ends[shard - 1] if shard else 0)]
        return mapped[at : at + length]

    def _file(self, shard: int) -> tuple[mmap.mmap, list[tuple[int, int]]]:
        if shard not in self._open:
            path = Path(self._paths[shard])
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._open[shard] = (mapped, tfrecord.offsets(path))
        return self._open[shard]
