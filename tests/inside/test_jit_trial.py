"""A hand-written step under jit: on real JAX."""

from __future__ import annotations

import pytest

from fitdoctor.inside.seams.models.traced_trials import JitTrial

jax = pytest.importorskip("jax")


@pytest.mark.parametrize("read", [float, int, lambda loss: loss.item()])
def test_a_step_that_reads_its_loss_is_traced_all_the_same(read) -> None:
    def step(weight, x):
        loss, gradient = jax.value_and_grad(lambda w: ((w * x) ** 2).sum())(weight)
        return weight - 0.1 * gradient, read(loss)

    trial = JitTrial(jax, step)
    weight, x = jax.numpy.ones(3), jax.numpy.ones(3)
    changed, _ = trial(weight, x)
    assert changed.tolist() == step(weight, x)[0].tolist()
    assert trial.numbers_read == 1
    # Outside of a trial, a traced array has no number.
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda t: float(t.sum()))(x)
    assert float(x.sum()) == 3.0
