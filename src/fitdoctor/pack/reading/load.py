"""`fitdoctor.load`: a pack as the kind of dataset that training wants."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.manifest import read_manifest
from fitdoctor.pack.reading.request import Request, checked_request

# Imported when asked for: each needs its library.
_OPENED_BY = {
    "tf.data": "tf_data:tf_dataset",
    "grain": "grain_data:grain_dataset",
    "torch": "torch_data:torch_dataset",
}


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
    request = checked_request(
        Request(
            read_manifest(Path(dest)),
            fields=fields,
            batch=batch,
            shuffle=shuffle,
            index=index,
            count=count,
            seed=seed,
            decode=decode,
            image_size=image_size,
            drop_remainder=drop_remainder,
        )
    )
    if not request.manifest.schema and kind != "tf.data":
        raise UsageError(
            f"{request.manifest.folder} holds records as another program wrote them",
            expected='kind="tf.data", which gives them as they are',
        )
    module, function = _OPENED_BY[kind].split(":")
    opened = getattr(importlib.import_module(f"fitdoctor.pack.reading.{module}"), function)
    return opened(request)
