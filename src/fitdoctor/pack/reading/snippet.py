"""The code that reads a pack without fitdoctor, printed after packing."""

from __future__ import annotations

from fitdoctor.pack.manifest import Manifest
from fitdoctor.pack.reading.tf_data import LISTS
from fitdoctor.pack.schema import Feature


def snippet(manifest: Manifest) -> str:
    """Python code for this pack; it runs as it stands."""
    return _tf_data(manifest) if manifest.file_format == "tfrecord" else _grain(manifest)


def _tf_data(manifest: Manifest) -> str:
    folder = str(manifest.folder.resolve())
    features = [
        f"    {f.name!r}: tf.io.FixedLenFeature({f.list_shape}, tf.{LISTS[f.storage]}),\n"
        for f in manifest.schema
    ]
    texts = {f.name: _tf_value(f) for f in manifest.schema}
    values = [f"    values[{name!r}] = {text}\n" for name, text in texts.items() if text]
    return f"""import glob

import tensorflow as tf

features = {{
{"".join(features)}}}


def parse(records):
    values = tf.io.parse_example(records, features)
{"".join(values)}    return values


paths = sorted(glob.glob({folder + "/shard-*.tfrecord"!r}))
data = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths))
data = data.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
data = data.shuffle(10_000).batch(32)
data = data.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
"""


def _tf_value(feature: Feature) -> str:
    value = f"values[{feature.name!r}]"
    if feature.storage == "raw":
        raw = {"bool": "uint8", "uint32": "int32", "uint64": "int64"}.get(
            feature.dtype, feature.dtype
        )
        text = f"tf.reshape(tf.io.decode_raw({value}, tf.{raw}), {[-1, *feature.shape]})"
        if feature.dtype == "bool":
            return f"tf.cast({text}, tf.bool)"
        return f"tf.bitcast({text}, tf.{feature.dtype})" if raw != feature.dtype else text
    if feature.storage == "int64" and feature.dtype != "int64":
        return f"tf.cast({value}, tf.{feature.dtype})"
    if feature.image and feature.image.get("height") and feature.image.get("width"):
        return (
            f"tf.map_fn(lambda one: tf.io.decode_image(one, 3, expand_animations=False), "
            f"{value}, fn_output_signature=tf.uint8)"
        )
    return ""


def _grain(manifest: Manifest) -> str:
    folder = str(manifest.folder.resolve())
    names = {f.name: (f.storage, f.dtype, f.shape) for f in manifest.schema}
    return f"""import glob

import grain
import numpy as np
from array_record.python.array_record_data_source import ArrayRecordDataSource
from tensorflow.train import Example

schema = {names!r}


def parse(record):
    found = Example.FromString(record).features.feature
    values = {{}}
    for name, (storage, dtype, shape) in schema.items():
        if storage in ("float", "int64"):
            kept = getattr(found[name], storage + "_list").value
            values[name] = np.array(kept, dtype).reshape(shape)
        else:
            value = found[name].bytes_list.value[0]
            values[name] = np.frombuffer(value, dtype).reshape(shape) if storage == "raw" else value
    return values


paths = sorted(glob.glob({folder + "/shard-*.arrayrecord"!r}))
data = grain.MapDataset.source(ArrayRecordDataSource(paths)).seed(0).shuffle().map(parse)
"""
