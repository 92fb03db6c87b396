"""Weights on torch whose gradients nobody uses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from fitdoctor.inside.seams.models.idle_gradients import idle_weights, without_gradients


def trained(*, frozen: bool = False) -> tuple[torch.nn.Sequential, torch.optim.Optimizer]:
    """A body and a head; only the head is given to the optimizer."""
    body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    model = torch.nn.Sequential(body, head)
    if frozen:
        body.requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), 0.1)
    model(torch.ones(2, 3)).mean().backward()
    return model, optimizer


def test_none_where_all_is_trained() -> None:
    model, _ = trained()
    assert idle_weights([model], [torch.optim.SGD(model.parameters(), 0.1)]) == []


def test_none_where_the_body_is_frozen() -> None:
    model, optimizer = trained(frozen=True)
    assert idle_weights([model], [optimizer]) == []


def test_none_where_an_optimizer_keeps_its_weights_to_itself() -> None:
    model, _ = trained()
    assert idle_weights([model], [SimpleNamespace()]) == []


def test_none_of_a_model_that_another_step_trains() -> None:
    model, _ = trained()
    other = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1)
    assert idle_weights([model], [other]) == []


def test_the_weights_of_the_body_are_idle() -> None:
    model, optimizer = trained()
    assert [name for name, _ in idle_weights([model], [optimizer])] == ["0.weight", "0.bias"]


def test_a_context_takes_them_out_and_puts_them_back() -> None:
    model, optimizer = trained()
    weights = [weight for _, weight in idle_weights([model], [optimizer])]
    held = [weight.grad.clone() for weight in weights]
    with pytest.raises(KeyError), without_gradients(weights):
        assert not any(weight.requires_grad for weight in weights)
        model(torch.ones(2, 3)).mean().backward()
        raise KeyError
    assert all(weight.requires_grad for weight in weights)
    assert all(torch.equal(w.grad, before) for w, before in zip(weights, held, strict=True))
