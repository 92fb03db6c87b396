"""`fitdoctor.load`: a pack as the kind of dataset that training wants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.manifest import read_manifest
from fitdoctor.pack.reading.grain_data import grain_dataset
from fitdoctor.pack.reading.request import Request, checked_request
from fitdoctor.pack.reading.tf_data import tf_dataset
from fitdoctor.pack.reading.torch_data import torch_dataset

_OPENED_BY = {"tf.data": tf_dataset, "grain": grain_dataset, "torch": torch_dataset}


def load(
    dest: str | os.PathLike[str],
    kind: str = "tf.data",
    *,
    batch: int | None = None,
    shuffle: bool | int = False,
    index: int = 0,
    count: int = 1,
    seed: int | None = None,
    fields: tuple[str, ...] | list[str] | None = None,
    decode: bool = True,
    image_size: tuple[int, int] | None = None,
    drop_remainder: bool = False,
) -> Any:
    """Open a pack for reading.

    Args:
        dest: The folder that `fitdoctor pack` wrote.
        kind: "tf.data", "grain" or "torch".
        batch: Elements per batch; None gives them one by one.
        shuffle: True, or the size of the buffer that shards read in random order go through.
        index: Which reader this is, when several share a pack.
        count: How many readers there are; together they read every element once.
        seed: Makes the shuffling repeatable.
        fields: Names to give as a tuple, as in ("image", "label"); None gives a dict of all,
            or (x, y) where the pack was made from such tuples.
        decode: Whether encoded images become pixels.
        image_size: Height and width to resize decoded images to.
        drop_remainder: Whether a last batch that is not full is left out.

    Raises:
        UsageError: The folder is no finished pack, or an argument cannot be.

    Example:
        data = fitdoctor.load("packed", batch=32, shuffle=True, fields=("image", "label"))
        model.fit(data)
    """
    if kind not in _OPENED_BY:
        raise UsageError(f"kind={kind!r}", expected=", ".join(_OPENED_BY))
    manifest = read_manifest(Path(dest))
    if not manifest.schema and kind != "tf.data":
        raise UsageError(
            f"{manifest.folder} holds records as another program wrote them",
            expected='kind="tf.data", which gives them as they are',
        )
    request = Request(
        manifest, fields, batch, shuffle, index, count, seed, decode, image_size, drop_remainder
    )
    return _OPENED_BY[kind](checked_request(request))
