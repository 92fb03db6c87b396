"""Batches made here: of a PyDataset and a torch DataLoader, as they would make them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fitdoctor.inside.seams.inputs.second_reader import batch_maker
from fitdoctor.inside.seams.not_available import NotAvailable


class Rows:
    """As a PyDataset and as a torch dataset."""

    num_batches = 2

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        return np.full(2, index, "float32")


def test_data_that_is_not_made_by_code_says_so() -> None:
    with pytest.raises(NotAvailable, match="not made by Python"):
        batch_maker(SimpleNamespace(), "arrays")


def test_batches_of_a_pydataset_come_round() -> None:
    make = batch_maker(SimpleNamespace(py_dataset=Rows()), "PyDataset")
    assert [make()[0] for _ in range(3)] == [0.0, 1.0, 0.0]


def test_a_data_loader_collates_its_samples() -> None:
    torch = pytest.importorskip("torch")
    from keras.src.trainers.data_adapters.torch_data_loader_adapter import TorchDataLoaderAdapter

    loader = torch.utils.data.DataLoader(Rows(), batch_size=4)
    make = batch_maker(TorchDataLoaderAdapter(loader), "DataLoader")
    assert make()[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    single = torch.utils.data.DataLoader(Rows(), batch_size=None)
    with pytest.raises(NotAvailable, match="no batches"):
        batch_maker(SimpleNamespace(_dataloader=single), "DataLoader")
