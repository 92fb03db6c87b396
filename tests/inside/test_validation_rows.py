"""Rows of a validation set that comes in batches of its own: on real loaders."""

from __future__ import annotations

import numpy as np
import pytest

from fitdoctor.inside.lab.probes.validation_batches import validation_rows
from fitdoctor.inside.seams.not_available import NotAvailable

tf = pytest.importorskip("tensorflow")
X, Y = np.arange(60, dtype="float32").reshape(20, 3), np.arange(20)


def pipeline(size: int = 1):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size)


def test_declines_what_it_cannot_read_or_put_together() -> None:
    with pytest.raises(NotAvailable, match="neither"):
        validation_rows(iter([1]), None)
    with pytest.raises(NotAvailable, match="not known"):
        validation_rows(pipeline().repeat(), None)
    with pytest.raises(NotAvailable, match="no pairs"):
        validation_rows(tf.data.Dataset.range(4).batch(2), None)
    parts = tf.data.Dataset.from_tensor_slices(({"a": X, "b": X}, Y)).batch(2)
    with pytest.raises(NotAvailable, match="several parts"):
        validation_rows(parts, None)
    lengths = tf.data.Dataset.from_generator(
        lambda: ((np.ones((1, n)), np.ones(1)) for n in (2, 3)),
        output_signature=(tf.TensorSpec((1, None)), tf.TensorSpec((1,))),
    )
    with pytest.raises(NotAvailable):
        validation_rows(lengths, 2)


def test_all_rows_of_a_pipeline() -> None:
    found = validation_rows(pipeline(), None)
    assert (found.x == X).all()
    assert (found.y == Y).all()
    assert (found.rows, found.batches, found.parts) == (20, 20, 1.0)


def test_as_many_as_validation_uses() -> None:
    found = validation_rows(pipeline(2).repeat(), 5)
    assert (found.rows, found.batches, found.parts) == (10, 5, 1.0)


def test_a_torch_loader() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    found = validation_rows(torch.utils.data.DataLoader(rows, batch_size=1), None)
    assert (found.x == X).all()
    assert (found.rows, found.batches) == (20, 20)
