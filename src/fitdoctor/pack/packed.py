"""`fitdoctor.packed`: a stage of a tf.data pipeline whose output is made once and kept as shards.

    data = files.map(decode).apply(fitdoctor.packed("decoded")).shuffle(1000).batch(32)

The first run makes the elements and writes them; every later one reads them. They come back the
same, in the same order. What is stored belongs to one pipeline: its folder is named by what
TensorFlow says about the pipeline (its ops, their arguments, the names of its files) and by the
first elements, so that a changed pipeline is packed again beside the old one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.stored_tensors import as_records, from_records, not_storable
from fitdoctor.pack.extras import needed
from fitdoctor.pack.manifest import NAME, Manifest, read_manifest
from fitdoctor.pack.packing import Listener, pack
from fitdoctor.pack.shard import Options
from fitdoctor.pack.sources.data_source import Records
from fitdoctor.units import size

# Made and compared at every start: they tell files or Python code that changed.
COMPARED = 4
SAID_EVERY_S = 10.0
READ_BUFFER_BYTES = 1 << 20


def packed(dest: str | os.PathLike[str]) -> Callable[[Any], Any]:
    """A transformation for `Dataset.apply` that keeps the elements so far as shards on disk.

    Put it after deterministic work (decoding, parsing) and before random stages: what comes
    before it is run once, and later runs get what it made. Files that change without
    another name, beyond the first elements, are not noticed: delete the folder then.

    Args:
        dest: The folder; each pipeline has a folder of its own in it.

    Raises:
        UsageError: (when applied) The dataset has no end, or its elements cannot be stored.
        OutputError: (when applied) The folder cannot be written.
    """
    folder = Path(dest)

    def apply(dataset: Any) -> Any:
        tf = needed("tensorflow", "test")
        _check(tf, dataset)
        options = tf.data.Options()
        options.deterministic = True
        records = as_records(tf, dataset).with_options(options)
        identity = _identity(tf, dataset, records)
        manifest = _made(folder / _name(identity), identity, records)
        paths = [str(path) for path in manifest.paths]
        stored = tf.data.TFRecordDataset(paths, buffer_size=READ_BUFFER_BYTES)
        if int(dataset.cardinality()) >= 0:
            stored = stored.apply(tf.data.experimental.assert_cardinality(manifest.records))
        return from_records(tf, stored, dataset.element_spec)

    return apply


def _check(tf: Any, dataset: Any) -> None:
    reason = not_storable(tf, dataset.element_spec)
    if int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
        reason = "it has no end"
    if reason:
        raise UsageError(
            f"the dataset cannot be packed: {reason}",
            expected="a dataset of plain tensors, before repeat()",
        )


def _identity(tf: Any, dataset: Any, records: Any) -> dict[str, Any]:
    return {
        "pipeline": _fingerprint(tf, dataset),
        "elements": repr(dataset.element_spec),
        "first": _digest(islice(records.as_numpy_iterator(), COMPARED)),
    }


def _digest(records: Iterable[bytes]) -> str:
    digests = [hashlib.sha256(record).digest() for record in records]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _fingerprint(tf: Any, dataset: Any) -> str | None:
    """TensorFlow's own digest of the pipeline; None where it cannot tell."""
    try:
        variant = tf.data.experimental.to_variant(dataset)
        return str(int(tf.raw_ops.DatasetFingerprint(input_dataset=variant)))
    except (AttributeError, ValueError, tf.errors.OpError):
        return None


def _name(identity: dict[str, Any]) -> str:
    text = "\n".join(f"{key}={value}" for key, value in sorted(identity.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _made(folder: Path, identity: dict[str, Any], records: Any) -> Manifest:
    if (folder / NAME).exists():
        return _whole(read_manifest(folder))
    _say(f"packing into {folder}: this run writes what later runs read")
    others = _others(folder)
    if others:
        _say(f"{folder.parent} also holds {others}; delete what no script reads any more")
    started = time.monotonic()
    source = Records(identity, lambda: _again(records, identity["first"]))
    # Another process of the same training may be writing it: then this one waits and reads.
    done = pack(source, folder, Options(waits=True), _Progress())
    if not done.was_finished:
        _say(
            f"packed {done.manifest.records:,} elements, {size(done.manifest.count_bytes)}, "
            f"in {time.monotonic() - started:.1f} s"
        )
    return done.manifest


def _again(records: Any, first: str) -> Iterator[bytes]:
    """The records from the beginning, which was read before to tell the pipeline's identity.

    Raises:
        UsageError: They are others this time.
    """
    iterator = records.as_numpy_iterator()
    beginning = list(islice(iterator, COMPARED))
    if _digest(beginning) != first:
        raise UsageError(
            "the dataset gives other elements when it is read a second time",
            expected="elements that are the same in every pass",
            advice="apply packed() before shuffle and random augmentation",
        )
    yield from beginning
    yield from iterator


def _whole(manifest: Manifest) -> Manifest:
    """A finished pack whose shards are all there.

    Raises:
        UsageError: One is missing, or is not as long as it was.
    """
    for shard in manifest.shards:
        path = manifest.folder / shard.file
        if not path.is_file() or path.stat().st_size != shard.bytes:
            raise UsageError(
                f"the shard {path} is missing or not whole",
                expected=f"{shard.bytes} bytes",
                advice=f"delete {manifest.folder}: the next run packs again",
            )
    return manifest


def _others(folder: Path) -> str:
    found = [path for path in folder.parent.glob(f"*/{NAME}") if path.parent != folder]
    total = sum(file.stat().st_size for path in found for file in path.parent.glob("shard-*"))
    return f"{len(found)} other pack{'s' * (len(found) > 1)}, {size(total)}" if found else ""


class _Progress(Listener):
    """A line on stderr now and then: packing a large dataset takes a while."""

    def __init__(self) -> None:
        self._items = self._bytes = 0
        self._said = time.monotonic()

    def report(self, items: int, count_bytes: int) -> None:
        self._items += items
        self._bytes += count_bytes
        if time.monotonic() - self._said >= SAID_EVERY_S:
            self._said = time.monotonic()
            _say(f"packed {self._items:,} elements, {size(self._bytes)} so far")


def _say(text: str) -> None:
    sys.stderr.write(f"fitdoctor: {text}\n")
    sys.stderr.flush()
