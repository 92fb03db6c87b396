"""Maps over rows and their vectorised twins: what is seen, what is answered, what is put back."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from fitdoctor.inside.seams.models.mapped import MapCall, vectorized_maps

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
ROWS = [[1.0, 2.0], [3.0, 5.0]]


def test_nothing_is_seen_where_nothing_maps() -> None:
    seen: set[MapCall] = set()
    with vectorized_maps(seen):
        tf.reduce_sum(tf.constant(ROWS))
    assert seen == set()


def test_what_was_replaced_is_put_back_whatever_happens() -> None:
    before = tf.map_fn, keras.ops.map
    with pytest.raises(KeyError), vectorized_maps():
        assert tf.map_fn is not before[0]
        raise KeyError
    assert (tf.map_fn, keras.ops.map) == before


def test_the_twins_answer_the_same_and_the_callers_line_is_seen() -> None:
    def centred(row):
        return row - tf.reduce_mean(row)

    def mapped():
        return tf.map_fn(centred, tf.constant(ROWS), fn_output_signature=tf.float32)

    seen: set[MapCall] = set()
    before = mapped()
    with vectorized_maps(seen):
        after = mapped()
    assert before.numpy().tolist() == after.numpy().tolist()
    (call,) = seen
    assert call.name == "map_fn"
    assert os.path.samefile(call.place.file, __file__)
    assert call.place.function == "mapped"


def test_kerass_own_map_too() -> None:
    seen: set[MapCall] = set()
    rows = keras.ops.convert_to_tensor(ROWS)
    before = keras.ops.map(lambda row: row * 2, rows)
    with vectorized_maps(seen):
        after = keras.ops.map(lambda row: row * 2, rows)
    assert keras.ops.convert_to_numpy(before).tolist() == keras.ops.convert_to_numpy(after).tolist()
    assert {call.name for call in seen} == {"map"}


def test_a_traced_function_is_answered_by_the_twin() -> None:
    def step(rows):
        return tf.map_fn(lambda row: row + 1, rows)

    with vectorized_maps():
        traced = tf.function(step).get_concrete_function(tf.TensorSpec((2, 2)))
    assert not any("While" in node.type for node in traced.graph.get_operations())
    looping = tf.function(step).get_concrete_function(tf.TensorSpec((2, 2)))
    assert any("While" in node.type for node in looping.graph.get_operations())


def test_jaxs_map_is_answered_by_vmap_where_keras_runs_on_jax() -> None:
    script = """
import jax, keras
from fitdoctor.inside.seams.models.mapped import vectorized_maps
seen = set()
before = jax.lax.map
rows = jax.numpy.arange(6.0).reshape(3, 2)
one_by_one = jax.lax.map(lambda row: row - row.mean(), rows)
with vectorized_maps(seen):
    at_once = jax.lax.map(lambda row: row - row.mean(), rows)
assert jax.lax.map is before
assert (one_by_one == at_once).all()
print(sorted(call.name for call in seen))
"""
    file = os.path.join(tempfile.mkdtemp(), "maps.py")
    with open(file, "w") as opened:
        opened.write(script)
    ran = subprocess.run(
        [sys.executable, file],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout.strip() == "['lax.map']", ran.stderr
