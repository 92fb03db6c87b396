"""Arguments that a JAX step has deleted, for calling it again."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from fitdoctor.inside.seams.inputs.given_away import with_living_arrays


def deleted(array: jax.Array) -> jax.Array:
    array.delete()
    return array


def test_living_arguments_stay_the_very_same() -> None:
    given = (jnp.ones(3), np.ones(2), "text", None, 4)
    living = with_living_arrays(given)
    assert all(one is other for one, other in zip(living, given, strict=True))


def test_deleted_arrays_are_replaced_in_their_places() -> None:
    state = {"w": deleted(jnp.ones((3, 2))), "step": deleted(jnp.zeros((), "int32"))}
    (living, kept), _ = with_living_arrays(((state, jnp.ones(2)), {}))
    assert living["w"].shape == (3, 2)
    assert living["w"].dtype == jnp.float32
    assert living["step"].dtype == jnp.int32
    assert float(living["w"].sum() + kept.sum()) > 0


def test_random_keys_are_keys_again() -> None:
    key = deleted(jax.random.key(3))
    living = with_living_arrays([key])[0]
    assert jax.random.normal(living, (2,)).shape == (2,)
