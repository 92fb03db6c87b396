"""How fast packs are written and read, beside TensorFlow's own writer and plain files.

    python -m benchmarks.pack [--images 10000] [--rows 1000000] [--rounds 3]

Writing: `fitdoctor pack` with one and two workers; a loop over tf.io.TFRecordWriter with
tf.train.Example, as tutorials have it; the same loop over 8 shards with a hash per key, as tfds
writes. Every figure is the median of rounds taken in turn. Starting Python and importing is
counted for none of them; starting the worker processes and syncing to disk is counted for ours.
Reading: fitdoctor.load against the files one by one, against TFRecordDataset without parsing,
and against what disk and memory of this machine can give; one reader and two at once.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import io
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.pack_limits import limit_rows, reader_rows

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "pack.json"
COLUMNS = 10
SHARDS = 8


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--plain-rows", type=int, default=100_000, help="rows of the slow loops")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        images, table = make_images(folder, options.images), make_table(folder, options.rows)
        rows = [*image_rows(folder, images, options), *table_rows(folder, table, options)]
        rows += reading_rows(folder, images, options)
        rows += break_even_rows(folder, images, options)
        rows += limit_rows(folder / "pixels", options.rounds)
        rows += reader_rows(folder / "encoded", options.rounds)
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    for row in rows:
        print(_line(row), flush=True)
    data = {"date": str(date.today()), "machine": machine, "rows": rows}
    RESULT.write_text(json.dumps(data, indent=1) + "\n")
    return 0


def make_images(folder: Path, count: int) -> Path:
    """Small JPEGs of noise and gradients, about 1.5 to 3 kB each."""
    import numpy as np
    from PIL import Image

    chance, root = np.random.default_rng(0), folder / "images"
    for number in range(10):
        (root / f"class_{number}").mkdir(parents=True)
    base = np.add.outer(np.arange(64), np.arange(64))[..., None] * np.array([1, 2, 3])
    for number in range(count):
        pixels = (base + chance.integers(0, 40, (64, 64, 3)) + number).astype(np.uint8)
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "JPEG", quality=75)
        (root / f"class_{number % 10}" / f"{number:06d}.jpg").write_bytes(out.getvalue())
    return root


def make_table(folder: Path, count: int) -> Path:
    """Float columns and a label."""
    import numpy as np

    chance = np.random.default_rng(0)
    path = folder / "table.npz"
    x = chance.normal(size=(count, COLUMNS)).astype(np.float32)
    np.savez(path, x=x, y=chance.integers(0, 10, count))
    return path


def image_rows(folder: Path, images: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rates of writing the images."""

    def found() -> list[tuple[Path, int]]:
        # Ours looks for the files, too, so it counts for all.
        paths = (Path(path) for path in sorted(glob.glob(f"{images}/*/*.jpg")))
        return [(path, int(path.parent.name[6:])) for path in paths]

    def plain(dest: Path) -> int:
        import tensorflow as tf

        files = found()
        with tf.io.TFRecordWriter(str(dest / "all.tfrecord")) as writer:
            for path, label in files:
                writer.write(image_example(tf, path.read_bytes(), label, path.name))
        return len(files)

    def tfds_style(dest: Path) -> int:
        import tensorflow as tf

        files = found()
        # tfds: serialise, order by a hash of the key, then write the shards.
        rows = []
        for path, label in files:
            key = hashlib.md5(path.name.encode(), usedforsecurity=False).digest()
            rows.append((key, image_example(tf, path.read_bytes(), label, path.name)))
        write_shards(tf, dest, sorted(rows))
        return len(files)

    def copied(dest: Path) -> int:
        shutil.copytree(images, dest / "copy")
        return options.images  # type: ignore[no-any-return]

    return _writing("images", folder, images, options, plain, tfds_style, copied)


def image_example(tf: Any, data: bytes, label: int, name: str) -> bytes:
    """As tutorials make it."""
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[name.encode()])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()  # type: ignore[no-any-return]


def write_shards(tf: Any, dest: Path, rows: list[tuple[bytes, bytes]]) -> None:
    """Sorted rows into shards, one after another."""
    size = -(-len(rows) // SHARDS)
    for shard in range(SHARDS):
        with tf.io.TFRecordWriter(str(dest / f"{shard}.tfrecord")) as writer:
            for _, record in rows[shard * size : (shard + 1) * size]:
                writer.write(record)


def table_rows(folder: Path, table: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rates of writing the rows."""
    import numpy as np

    count = min(options.plain_rows, options.rows)
    arrays = np.load(table)
    x, y = arrays["x"][:count], arrays["y"][:count]

    def example(tf: Any, row: int) -> bytes:
        feature = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=x[row])),
            "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[y[row]])),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()  # type: ignore[no-any-return]

    def plain(dest: Path) -> int:
        import tensorflow as tf

        with tf.io.TFRecordWriter(str(dest / "all.tfrecord")) as writer:
            for row in range(count):
                writer.write(example(tf, row))
        return count

    def tfds_style(dest: Path) -> int:
        import tensorflow as tf

        def key(row: int) -> bytes:
            return hashlib.md5(str(row).encode(), usedforsecurity=False).digest()

        write_shards(tf, dest, sorted((key(row), example(tf, row)) for row in range(count)))
        return count

    return _writing("rows", folder, table, options, plain, tfds_style, None)


def _writing(
    what: str,
    folder: Path,
    source: Path,
    options: argparse.Namespace,
    plain: Callable[[Path], int],
    tfds_style: Callable[[Path], int],
    copied: Callable[[Path], int] | None,
) -> list[dict[str, Any]]:
    import tensorflow  # noqa: F401 - its import is no part of a round

    ways: dict[str, Callable[[Path], Any]] = {
        "pack, 1 worker": lambda dest: _packed(source, dest, 1),
        "pack, 2 workers": lambda dest: _packed(source, dest, 2),
        "tf.io.TFRecordWriter loop": plain,
        "tfds-style loop": tfds_style,
    }
    if copied is not None:
        ways["copy of the files"] = copied
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    counts: dict[str, int] = {}
    memory: dict[str, float] = {}
    for _ in range(options.rounds):
        for way, write in ways.items():
            dest = folder / "dest"
            dest.mkdir()
            started = time.perf_counter()
            done = write(dest)
            took = time.perf_counter() - started
            if isinstance(done, dict):
                took, memory[way], done = done["seconds"], done["peak_rss_mb"], done["records"]
            seconds[way].append(took)
            counts[way] = done
            shutil.rmtree(dest)
    rates = {way: counts[way] / statistics.median(times) for way, times in seconds.items()}
    base = rates["tf.io.TFRecordWriter loop"]
    return [
        {
            "what": f"write {what}",
            "way": way,
            "items": counts[way],
            "items_per_s": rates[way],
            "against_plain": rates[way] / base,
            "peak_rss_mb": memory.get(way),
            "seconds": seconds[way],
        }
        for way in ways
    ]


def break_even_rows(
    folder: Path, images: Path, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """An epoch of decoded images from files, from the pack as encoded, and packed as pixels."""
    import tensorflow as tf

    import fitdoctor

    files = [str(path) for path in sorted(images.rglob("*.jpg"))]

    def decode(path: Any) -> Any:
        return tf.io.decode_jpeg(tf.io.read_file(path), channels=3)

    def from_files() -> Any:
        data = tf.data.Dataset.from_tensor_slices(files)
        data = data.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
        return data.batch(256).prefetch(2)

    made = {name: folder / name for name in ("encoded", "pixels")}
    costs = {
        "files, decoded every epoch": 0.0,
        "pack, decoded every epoch": _packed(images, made["encoded"], 2)["seconds"],
        "pack of pixels (--decode)": _packed(images, made["pixels"], 2, "decode")["seconds"],
    }
    epochs: dict[str, Callable[[], Any]] = {
        "files, decoded every epoch": from_files,
        "pack, decoded every epoch": lambda: fitdoctor.load(
            made["encoded"], batch=256, fields=("image",)
        ),
        "pack of pixels (--decode)": lambda: fitdoctor.load(
            made["pixels"], batch=256, fields=("image",)
        ),
    }
    seconds: dict[str, list[float]] = {way: [] for way in epochs}
    for _ in range(options.rounds):
        for way, data in epochs.items():
            started = time.perf_counter()
            for _ in data():
                pass
            seconds[way].append(time.perf_counter() - started)
    middle = {way: statistics.median(times) for way, times in seconds.items()}
    base = middle["files, decoded every epoch"]
    rows = []
    for way, took in middle.items():
        saved = base - took
        rows.append(
            {
                "what": "one epoch",
                "way": way,
                "items": len(files),
                "items_per_s": len(files) / took,
                "pack_s": costs[way],
                "break_even_epochs": costs[way] / saved if costs[way] and saved > 0 else None,
                "seconds": seconds[way],
            }
        )
    return rows


def _packed(source: Path, dest: Path, workers: int, *more: str) -> dict[str, Any]:
    """The command in a process of its own, from its start to its end; peak memory of all."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pack_once", str(source), str(dest), str(workers), *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return found | {"with_start_up": time.perf_counter() - started}


def reading_rows(folder: Path, images: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Rates of reading the packed images."""
    import tensorflow as tf

    import fitdoctor

    dest = folder / "packed"
    _packed(images, dest, 2)
    paths = sorted(str(path) for path in dest.glob("*.tfrecord"))
    size = sum(os.path.getsize(path) for path in paths)
    files = [str(path) for path in sorted(images.rglob("*.jpg"))]

    def count(data: Any) -> None:
        for _ in data:
            pass

    def from_files() -> None:
        data = tf.data.Dataset.from_tensor_slices(files)
        data = data.map(tf.io.read_file, num_parallel_calls=tf.data.AUTOTUNE)
        count(data.batch(256).prefetch(2))

    def read_bytes() -> None:
        for path in paths:
            Path(path).read_bytes()

    load = fitdoctor.load
    ways: dict[str, Callable[[], None]] = {
        "files one by one (tf.data)": from_files,
        "load tf.data, encoded": lambda: count(load(dest, batch=256, decode=False)),
        "load tf.data, shuffled": lambda: count(
            load(dest, batch=256, decode=False, shuffle=1000, seed=0)
        ),
        "load torch, encoded": lambda: count(load(dest, kind="torch", batch=256, decode=False)),
        "load grain, encoded": lambda: count(load(dest, kind="grain", batch=256, decode=False)),
        "TFRecordDataset, no parsing": lambda: count(tf.data.TFRecordDataset(paths).batch(256)),
        "bytes of the shards (page cache)": read_bytes,
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, read in ways.items():
            started = time.perf_counter()
            read()
            seconds[way].append(time.perf_counter() - started)
    rows = []
    for way, times in seconds.items():
        took = statistics.median(times)
        rows.append(
            {
                "what": "read images",
                "way": way,
                "items": len(files),
                "items_per_s": len(files) / took,
                "mb_per_s": size / took / 1e6,
                "seconds": times,
            }
        )
    return rows


def _line(row: dict[str, Any]) -> str:
    parts = [f"{row['what']:<12} {row['way']:<34} {row['items_per_s']:>12,.0f}/s"]
    if "mb_per_s" in row:
        parts.append(f"{row['mb_per_s']:8,.0f} MB/s")
    if "against_plain" in row:
        parts.append(f"{row['against_plain']:6.2f}x the loop")
    if "against_one" in row:
        parts.append(f"{row['against_one']:6.2f}x one reader")
    if row.get("break_even_epochs"):
        parts.append(f"pays after {row['break_even_epochs']:.1f} epochs")
    if row.get("peak_rss_mb"):
        parts.append(f"peak {row['peak_rss_mb']:.0f} MB")
    return "  ".join(parts)


def peak_rss_mb(workers: int) -> float:
    """Peak memory of this process and its workers: at most this much together."""
    # Not getrusage: a process that was started by a large one counts that one's memory as its own.
    status = Path("/proc/self/status").read_text()
    own = int(status.split("VmHWM:")[1].split()[0])
    return (own + workers * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1e3


if __name__ == "__main__":
    sys.exit(main())
