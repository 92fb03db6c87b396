from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from fitdoctor.contract.evidence.validation import ValidationPasses
from fitdoctor.inside.lab.probes.validation_passes import validation_passes
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs import tf_stages
from fitdoctor.inside.seams.not_available import NotAvailable

tf = pytest.importorskip("tensorflow")


@pytest.fixture(autouse=True)
def watched():
    recorder = Recorder(SimpleNamespace(write=lambda line: None))
    tf_stages.watch_datasets(recorder, importlib.import_module(tf_stages.DATASET_MODULE))
    yield
    recorder.patches.undo()


def passes(data, steps=3200):
    arguments = {"validation_data": data, "validation_steps": steps}
    return validation_passes(SimpleNamespace(arguments=arguments))


def rows(count=3200):
    return tf.data.Dataset.range(count)


def test_declines_what_has_an_end_or_an_unknown_length() -> None:
    with pytest.raises(NotAvailable, match="have an end"):
        passes(rows().batch(32))
    with pytest.raises(NotAvailable, match="have an end"):
        passes(rows().batch(32).repeat(3))
    with pytest.raises(NotAvailable, match="not known"):
        passes(rows().filter(lambda x: x > 3).batch(32).repeat())
    with pytest.raises(NotAvailable, match="have an end"):
        # What a window of shuffled elements makes of the number is another matter.
        passes(rows().repeat().shuffle(10).batch(32))
    with pytest.raises(NotAvailable, match=r"no tf\.data"):
        passes([1, 2])
    with pytest.raises(NotAvailable, match="not given"):
        passes(rows().repeat(), None)


def test_batches_of_one_pass() -> None:
    assert passes(rows().batch(32).cache().repeat()) == ValidationPasses(steps=3200, batches=100)
    assert passes(rows().batch(32).repeat(-1).prefetch(2)).batches == 100
    assert passes(rows(3201).repeat().map(lambda x: x).batch(32).prefetch(2)).batches == 101
