"""TensorFlow reads what we write, and we read what it writes; the printed code runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packs import elements, framed, images, packed, table

import fitdoctor
from fitdoctor.contract.errors import UsageError
from fitdoctor.pack import tfrecord
from fitdoctor.pack.example import decoder, encoder
from fitdoctor.pack.reading.snippet import snippet
from fitdoctor.pack.schema import schema_of

tf = pytest.importorskip("tensorflow")
ALL = {
    "b": b"\x00\xff bytes",
    "f32": np.array([[1.5, -0.0], [np.inf, 3e-45]], np.float32),
    "f64": np.array(0.1),
    "i64": np.array([-1, 2**62, 0]),
    "u8": np.arange(40, dtype=np.uint8),
    "flag": np.array(True),
    "u64": np.array([2**64 - 1], np.uint64),
    "u32": np.array([2**32 - 1], np.uint32),
    "f16": np.ones((2, 3), np.float16),
    "flags": np.ones(40, np.bool_),
}


def test_bytes_are_tensorflows_own(tmp_path: Path) -> None:
    record = encoder(schema_of(ALL))(ALL)
    # The same length and, in whatever order protobuf writes the map, the same contents.
    theirs = tf.train.Example.FromString(record)
    assert len(theirs.SerializeToString()) == len(record)
    assert tf.train.Example.FromString(theirs.SerializeToString()) == theirs
    assert theirs.features.feature["i64"].int64_list.value[:] == ALL["i64"].tolist()
    assert theirs.features.feature["b"].bytes_list.value[:] == [ALL["b"]]
    assert np.array_equal(theirs.features.feature["f32"].float_list.value, ALL["f32"].ravel())
    records = [record, b"", b"x" * 5000]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for each in records:
            writer.write(each)
    (tmp_path / "ours").write_bytes(framed(*records))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert list(tfrecord.read_records(tmp_path / "theirs")) == records
    assert list(tf.data.TFRecordDataset(str(tmp_path / "ours")).as_numpy_iterator()) == records


def test_examples_that_protobuf_wrote_are_read() -> None:
    schema = schema_of(ALL)
    example = tf.train.Example.FromString(encoder(schema)(ALL))
    again = decoder(schema)(example.SerializeToString())  # any order of the map
    assert {k: v if isinstance(v, bytes) else v.tobytes() for k, v in again.items()} == {
        k: v if isinstance(v, bytes) else v.tobytes() for k, v in ALL.items()
    }


def test_the_printed_code_runs_and_gives_the_elements(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{k: np.stack([v] * 3) for k, v in ALL.items() if k != "b"})
    manifest = packed(tmp_path / "a.npz", tmp_path / "out").manifest
    names: dict[str, Any] = {}
    exec(snippet(manifest), names)
    (batch,) = list(names["data"].as_numpy_iterator())
    for name, value in ALL.items():
        if name != "b":
            assert batch[name].dtype == value.dtype
            assert batch[name][1].tobytes() == value.tobytes()


def test_the_printed_code_for_grain_runs(tmp_path: Path) -> None:
    pytest.importorskip("grain")
    made = packed(table(tmp_path), tmp_path / "out", file_format="arrayrecord").manifest
    names: dict[str, Any] = {}
    exec(snippet(made), names)
    assert sorted(float(e["wide"]) for e in names["data"]) == sorted(
        np.load(tmp_path / "table.npz")["wide"].tolist()
    )


def _values(data: Any, kind: str) -> list[float]:
    found: list[float] = []
    for batch in data:
        value = batch["wide"]
        found += np.atleast_1d(value.numpy() if kind != "grain" else value).tolist()
    return found


@pytest.mark.parametrize("kind", ["tf.data", "torch", "grain"])
@pytest.mark.parametrize("count", [1, 3, 16])
def test_readers_together_read_everything_once(tmp_path: Path, kind: str, count: int) -> None:
    if kind == "grain":
        pytest.importorskip("grain")
    packed(table(tmp_path), tmp_path / "out", shard_bytes=9000)
    expected = np.load(tmp_path / "table.npz")["wide"].tolist()
    found: list[float] = []
    for index in range(count):
        data = fitdoctor.load(
            tmp_path / "out", kind, batch=7, shuffle=50, index=index, count=count, seed=index
        )
        mine = _values(data, kind)
        assert mine
        found += mine
    assert Counter(found) == Counter(expected)
    assert found != expected


@pytest.mark.parametrize("kind", ["tf.data", "torch", "grain"])
def test_order_seed_types_and_shapes(tmp_path: Path, kind: str) -> None:
    if kind == "grain":
        pytest.importorskip("grain")
    packed(table(tmp_path, 100), tmp_path / "out", shard_bytes=2000)
    arrays = np.load(tmp_path / "table.npz")
    assert _values(fitdoctor.load(tmp_path / "out", kind), kind) == arrays["wide"].tolist()
    same = [_values(fitdoctor.load(tmp_path / "out", kind, shuffle=True, seed=5), kind)] * 2
    assert same[0] == same[1] != arrays["wide"].tolist()
    batches = list(fitdoctor.load(tmp_path / "out", kind, batch=32, fields=("x", "y")))
    assert [len(x) for x, _ in batches] == [32, 32, 32, 4]
    x, y = (np.asarray(part) for part in batches[0])
    assert (x.dtype, x.shape, y.dtype) == (np.float32, (32, 4), np.int64)
    assert (x == arrays["x"][:32]).all()
    dropped = fitdoctor.load(tmp_path / "out", kind, batch=32, drop_remainder=True)
    assert len(list(dropped)) == 3


@pytest.mark.parametrize("kind", ["tf.data", "torch"])
def test_images_are_decoded_to_one_shape(tmp_path: Path, kind: str) -> None:
    manifest = packed(images(tmp_path), tmp_path / "out").manifest
    data = fitdoctor.load(tmp_path / "out", kind, batch=20, fields=("image", "label"))
    ((pictures, labels),) = list(data)
    pictures = np.asarray(pictures)
    assert (pictures.dtype, pictures.shape) == (np.uint8, (20, 8, 6, 3))
    assert sorted(np.asarray(labels).tolist()) == [0] * 10 + [1] * 10
    for number, element in enumerate(elements(manifest)):
        value = int(Path(element["name"].decode()).stem) + 100 * int(element["label"])
        assert abs(int(pictures[number].mean()) - value) <= 2
    sized = fitdoctor.load(
        tmp_path / "out", kind, batch=20, image_size=(4, 4), fields=("image", "label")
    )
    assert np.asarray(next(iter(sized))[0]).shape == (20, 4, 4, 3)


def test_a_model_trains_on_it(tmp_path: Path) -> None:
    import keras

    packed(table(tmp_path, 64), tmp_path / "out")
    data = fitdoctor.load(tmp_path / "out", batch=16, shuffle=True, fields=("x", "wide"))
    assert data.element_spec[0].shape.as_list() == [None, 4]
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse")
    history = model.fit(data, epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_torch_workers_share_a_pack(tmp_path: Path) -> None:
    import torch

    packed(table(tmp_path, 200), tmp_path / "out", shard_bytes=2000)

    class Worker:
        num_workers = 2

        def __init__(self, number: int) -> None:
            self.id = number

    found: list[float] = []
    for number in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.utils.data, "get_worker_info", lambda n=number: Worker(n))
            found += _values(fitdoctor.load(tmp_path / "out", "torch", batch=8), "torch")
    assert sorted(found) == sorted(np.load(tmp_path / "table.npz")["wide"].tolist())


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "numpy"},
        {"batch": 0},
        {"index": 2, "count": 2},
        {"count": 0},
        {"shuffle": -1},
        {"fields": ("no such",)},
    ],
)
def test_wrong_arguments_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    packed(table(tmp_path, 10), tmp_path / "out")
    with pytest.raises(UsageError):
        fitdoctor.load(tmp_path / "out", **wrong)


def test_formats_and_missing_shards_are_refused(tmp_path: Path) -> None:
    made = packed(table(tmp_path, 10), tmp_path / "out", file_format="arrayrecord").manifest
    with pytest.raises(UsageError, match=r"tf\.data cannot read"):
        fitdoctor.load(tmp_path / "out")
    made.paths[0].unlink()
    with pytest.raises(UsageError, match="is missing"):
        fitdoctor.load(tmp_path / "out", "grain")


def test_images_of_different_sizes_need_a_size(tmp_path: Path) -> None:
    from packs import picture

    root = images(tmp_path)
    (root / "cat" / "1.png").write_bytes(picture(1, (3, 3), "PNG"))
    packed(root, tmp_path / "out")
    with pytest.raises(UsageError, match="differ in size"):
        fitdoctor.load(tmp_path / "out", batch=4)
    assert len(list(fitdoctor.load(tmp_path / "out", batch=4, decode=False))) == 5
    assert len(list(fitdoctor.load(tmp_path / "out"))) == 20


def test_datasets_of_tensorflow_and_keras_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tf_sources.py").write_text(
        "import keras, numpy as np, tensorflow as tf\n"
        "def data(): return tf.data.Dataset.range(30).map(lambda i: (tf.fill([2], i), i))\n"
        "def endless(): return data().repeat()\n"
        "class Batches(keras.utils.PyDataset):\n"
        "    def __len__(self): return 5\n"
        "    def __getitem__(self, i): return np.full((4, 2), i), np.arange(4)\n"
        "def batches(): return Batches()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    made = elements(packed("tf_sources:data", tmp_path / "a").manifest)
    assert [int(element["y"]) for element in made] == list(range(30))
    rows = elements(packed("tf_sources:batches", tmp_path / "b").manifest)
    assert [(int(e["x"][0]), int(e["y"])) for e in rows] == [
        (i, j) for i in range(5) for j in range(4)
    ]
    with pytest.raises(UsageError, match="has no end"):
        packed("tf_sources:endless", tmp_path / "c")
