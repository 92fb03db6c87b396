"""Sources and short ways to pack and read, for the tests of packing."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.pack.example import decoder
from fitdoctor.pack.manifest import Manifest
from fitdoctor.pack.packing import pack
from fitdoctor.pack.shard import Options
from fitdoctor.pack.sources.opening import open_source
from fitdoctor.pack.tfrecord import footer, header
from fitdoctor.pack.verify import records_of

SOURCE = str(Path(__file__).parents[2] / "src")


def packed(source: object, dest: Path, *, opening: dict[str, Any] | None = None, **how: Any) -> Any:
    return pack(open_source(str(source), **(opening or {})), dest, Options(**how))


def framed(*records: bytes) -> bytes:
    return b"".join(header(len(one)) + one + footer(one) for one in records)


def elements(manifest: Manifest) -> list[dict[str, Any]]:
    decode = decoder(manifest.schema)
    return [
        decode(record)
        for path in manifest.paths
        for record in records_of(path, manifest.file_format)
    ]


def command(*args: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fitdoctor", "pack", *map(str, args)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE, "COLUMNS": "200"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def table(folder: Path, rows: int = 1000) -> Path:
    chance = np.random.default_rng(0)
    path = folder / "table.npz"
    np.savez(
        path,
        x=chance.normal(size=(rows, 4)).astype(np.float32),
        y=chance.integers(-5, 300, rows),
        wide=chance.normal(size=rows),
    )
    return path


def picture(value: int, size: tuple[int, int] = (8, 6), kind: str = "JPEG") -> bytes:
    from PIL import Image

    out = io.BytesIO()
    pixels = np.full((*size, 3), value, np.uint8)
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def images(folder: Path, per_class: int = 10) -> Path:
    root = folder / "images"
    for number, name in enumerate(("cat", "dog")):
        (root / name).mkdir(parents=True)
        for image in range(per_class):
            data = picture(image % 100 + 100 * number, kind="PNG" if image % 2 else "JPEG")
            (root / name / f"{image}.{'png' if image % 2 else 'jpg'}").write_bytes(data)
    return root
