"""A pack as a grain dataset: any order, since every record can be asked for by its number."""

from __future__ import annotations

from typing import Any

from fitdoctor.pack.extras import needed
from fitdoctor.pack.reading.record_reader import ElementReader, TFRecordSource
from fitdoctor.pack.reading.request import Request
from fitdoctor.pack.reading.torch_data import collated


def grain_dataset(request: Request) -> Any:
    """The dataset, shuffled as a whole: grain needs no buffer for it."""
    grain = needed("grain", "pack")
    data = grain.MapDataset.source(_source(request))
    if request.count > 1:
        # Before the shuffle: readers with different seeds still share without overlap.
        data = data[request.index :: request.count]
    if request.shuffle:
        data = data.seed(request.seed or 0).shuffle()
    reader = ElementReader(request)
    if request.batch is None:
        return data.map(reader)
    data = data.map(reader.values)
    data = data.batch(request.batch, drop_remainder=request.drop_remainder, batch_fn=collated)
    return data.map(request.arranged)


def _source(request: Request) -> Any:
    manifest = request.manifest
    paths = [str(path) for path in manifest.paths]
    if manifest.file_format == "arrayrecord":
        module = needed("array_record.python.array_record_data_source", "pack")
        return module.ArrayRecordDataSource(paths)
    return TFRecordSource(paths, [shard.records for shard in manifest.shards if shard.records])
