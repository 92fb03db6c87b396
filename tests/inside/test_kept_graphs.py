import pytest

from fitdoctor.inside.seams.models.kept_graphs import graph_size

torch = pytest.importorskip("torch")


def test_a_sum_of_losses_keeps_the_graph_of_each() -> None:
    weight = torch.ones(3, requires_grad=True)
    total = (weight * 2).sum()
    alone = graph_size(total)
    for _ in range(10):
        total = total + (weight * 2).sum()
    assert alone >= 2
    assert graph_size(total) >= 10 * alone


def test_a_number_keeps_none() -> None:
    assert graph_size(torch.ones(3)) == 0
    assert graph_size(1.0) == 0
