"""Decoding images, where it is asked for; Pillow does it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import BadElement


def decoded(data: bytes, size: tuple[int, int] | None) -> np.ndarray[Any, Any]:
    """An image as uint8, height by width by 3; resized (bilinear) when a size is given.

    Raises:
        BadElement: It cannot be decoded.
    """
    image_module = needed("PIL.Image", "pack")
    try:
        with image_module.open(io.BytesIO(data)) as image:
            picture = image.convert("RGB")
            if size is not None:
                picture = picture.resize((size[1], size[0]), image_module.Resampling.BILINEAR)
            return np.asarray(picture, np.uint8)
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise BadElement(f"the image cannot be decoded: {error}") from error
