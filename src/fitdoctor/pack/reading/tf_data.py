"""A pack as a tf.data dataset: shards side by side, parsed batch by batch."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.element import SEPARATOR
from fitdoctor.pack.extras import needed
from fitdoctor.pack.reading.request import Request
from fitdoctor.pack.schema import Feature

# Shards that are read at once; more gain nothing on a local disk.
SHARDS_AT_ONCE = 8
LISTS = {"bytes": "string", "raw": "string", "float": "float32", "int64": "int64"}


def tf_dataset(request: Request) -> Any:
    """The dataset.

    Raises:
        UsageError: TensorFlow cannot read this format, or is not installed.
    """
    if request.manifest.file_format != "tfrecord":
        raise UsageError(
            f"tf.data cannot read {request.manifest.file_format}",
            expected="a pack in the TFRecord format",
            advice='kind="grain", or pack again with --format tfrecord',
        )
    tf = needed("tensorflow", "test")
    data = _records(tf, request)
    if not request.by_shard:
        data = data.shard(request.count, request.index)
    if request.shuffle:
        data = data.shuffle(request.shuffle, seed=request.seed)
    if request.batch is not None:
        data = data.batch(request.batch, drop_remainder=request.drop_remainder)
    if request.manifest.schema:  # else records of which nothing is known
        batches = data if request.batch is not None else data.batch(1)
        parsed = batches.map(_parser(tf, request), num_parallel_calls=tf.data.AUTOTUNE)
        data = parsed if request.batch is not None else parsed.unbatch()
    return data.prefetch(tf.data.AUTOTUNE)


def _records(tf: Any, request: Request) -> Any:
    paths = request.paths
    if not request.by_shard or (request.count == 1 and not request.shuffle):
        # One shard after another, in the pack's order: readers that share shards by taking
        # elements in turn must all count alike.
        return tf.data.TFRecordDataset(paths, buffer_size=1 << 20)
    files = tf.data.Dataset.from_tensor_slices(tf.constant(paths, tf.string))
    if request.shuffle:
        files = files.shuffle(max(1, len(paths)), seed=request.seed)
    return files.interleave(
        lambda path: tf.data.TFRecordDataset(path, buffer_size=1 << 20),
        cycle_length=max(1, min(SHARDS_AT_ONCE, len(paths))),
        block_length=16,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=True,
    )


def _parser(tf: Any, request: Request) -> Any:
    schema = request.schema
    wanted = {f.name: tf.io.FixedLenFeature(f.list_shape, LISTS[f.storage]) for f in schema}

    def parse(records: Any) -> Any:
        parsed = tf.io.parse_example(records, wanted)
        values = {f.name: _value(tf, request, f, parsed[f.name]) for f in schema}
        return request.arranged(values) if request.fields else nested(values)

    return parse


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Dicts inside dicts again, where the names say so."""
    out: dict[str, Any] = {}
    for name, value in values.items():
        *outer, last = name.split(SEPARATOR)
        inner = out
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return out


def _value(tf: Any, request: Request, feature: Feature, value: Any) -> Any:
    if request.is_decoded(feature):
        return _images(tf, request, feature, value)
    if feature.storage == "raw":
        kind = tf.as_dtype(feature.dtype)
        if kind == tf.bool:
            flat = tf.cast(tf.io.decode_raw(value, tf.uint8), tf.bool)
        elif kind in (tf.uint32, tf.uint64):  # decode_raw knows only the signed ones
            flat = tf.bitcast(tf.io.decode_raw(value, f"int{kind.size * 8}"), kind)
        else:
            flat = tf.io.decode_raw(value, kind)
        return tf.reshape(flat, [-1, *feature.shape])
    if feature.storage == "int64":
        return tf.cast(value, feature.dtype)
    return value


def _images(tf: Any, request: Request, feature: Feature, encoded: Any) -> Any:
    shape = request.shape_of_image(feature)

    def decode(data: Any) -> Any:
        image = tf.io.decode_image(data, channels=3, expand_animations=False)
        if request.image_size is not None:
            image = tf.image.resize(image, request.image_size)
            image = tf.cast(tf.clip_by_value(tf.round(image), 0, 255), tf.uint8)
        return tf.ensure_shape(image, shape or (None, None, 3))

    return tf.map_fn(
        decode, encoded, fn_output_signature=tf.TensorSpec(shape or (None, None, 3), tf.uint8)
    )
