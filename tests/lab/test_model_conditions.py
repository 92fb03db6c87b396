"""Probes of the model: tried where there is a suspicion, silent without it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fake_context import MS, FakeModel, fake_call, fake_context, probe_named, quick_windows

from fitdoctor.contract.evidence.model import Layers, LayerTime
from fitdoctor.contract.evidence.operations import Operations, OperationTime
from fitdoctor.inside.lab.probe import NotAvailable, probes_of
from fitdoctor.inside.lab.probes import (
    changed_copies,
    changed_steps,
    frozen_layers,
    layers,
    optimizer_update,
    padding,
    recurrent_settings,
    repeated_calls,
    vectorised_maps,
)

pytestmark = pytest.mark.usefixtures(quick_windows.__name__)


def layer(kind: str = "Dense", **attributes: Any) -> Any:
    """A layer as far as conditions look at it."""
    methods = {"count_params": lambda self: attributes.get("parameters", 0)}
    given = {"name": kind.lower(), "weights": [], "trainable": True, **attributes}
    return type(kind, (), {"__module__": "keras.src.layers", **methods, **given})()


def row(name: str = "dense", ns: int = 100, **more: Any) -> LayerTime:
    return LayerTime(**{"name": name, "type": "Dense", "ns": ns, **more})


def context(step_ms: float | None, *model_layers: Any, rows: Any = (), **more: Any) -> Any:
    call = fake_call(model=FakeModel(*model_layers), executions=more.pop("executions", 1))
    found = (Layers(tuple(rows)),) if rows else ()
    return fake_context(step_ms, found=found, call=call, **more)


def changed(key: str) -> Any:
    return probe_named(changed_steps, f"step_{key}")


def copied(key: str) -> Any:
    return probe_named(changed_copies, f"copy_{key}")


class TestLayers:
    probe = probes_of(layers)[0]

    def test_short_and_eager_steps_are_left_alone(self) -> None:
        assert not self.probe.wanted(context(2.9, layer()))
        assert not self.probe.wanted(context(9, layer(), eager=True))
        assert not self.probe.wanted(context(None, layer()))
        assert self.probe.wanted(context(3, layer()))

    def test_the_users_own_layers_are_timed_in_shorter_steps(self) -> None:
        class Own:  # in a file of the user's: this one
            layers = None

        assert self.probe.wanted(context(0.3, Own()))
        assert not self.probe.wanted(context(0.1, Own()))
        assert not self.probe.wanted(context(0.3, Own(), backend="torch"))

    def test_what_needs_the_layers_waits_for_them(self) -> None:
        for module in (optimizer_update,):
            (probe,) = probes_of(module)
            assert not probe.wanted(context(9, layer()))
            assert probe.wanted(context(9, layer(), rows=[row()]))

    def test_costly_layers_are_timed_alone(self) -> None:
        def forward(one: Any, ns: int) -> Any:
            return row(one.name, ns), SimpleNamespace(layer=one)

        small, large = layer("Dense"), layer("Conv2D")
        pairs = [forward(small, 5), forward(large, 95)]
        assert [pair[0].name for pair in layers._worth_timing(pairs)] == ["conv2d"]


class TestOneCall:
    (probe,) = probes_of(repeated_calls)

    def test_only_on_torch_and_only_for_many_calls(self) -> None:
        often = [row(calls=4)]
        assert self.probe.wanted(context(9, layer(), rows=often, backend="torch"))
        assert not self.probe.wanted(context(9, layer(), rows=often))
        assert not self.probe.wanted(context(9, layer(), rows=[row(calls=3)], backend="torch"))
        is_model = [row(calls=4, is_model=True)]
        assert not self.probe.wanted(context(9, layer(), rows=is_model, backend="torch"))


class TestVectorised:
    (probe,) = probes_of(vectorised_maps)

    def test_only_the_users_loops(self) -> None:
        assert not self.probe.wanted(context(9, layer(), rows=[row(loops=1)]))
        assert not self.probe.wanted(context(9, layer(), rows=[row(is_user=True)]))
        assert self.probe.wanted(context(9, layer(), rows=[row(loops=1, is_user=True)]))

    def test_a_loss_of_the_users_own(self) -> None:
        given = context(9, layer())
        given.recorder.compiled_with = {given.fit.model: {"loss": lambda a, b: 0}}
        assert self.probe.wanted(given)
        given.recorder.compiled_with = {given.fit.model: {"loss": "mse"}}
        assert not self.probe.wanted(given)


class TestChangedSteps:
    def test_a_plain_model_gives_no_suspicion(self) -> None:
        given = context(9, layer(), rows=[row()])
        assert [probe.key for probe in probes_of(changed_steps) if probe.wanted(given)] == []

    def test_several_steps_per_execution_cannot_be_compared_with(self) -> None:
        low = layer(dtype_policy=SimpleNamespace(compute_dtype="bfloat16"))
        assert changed("float32").wanted(context(9, low))
        assert not changed("float32").wanted(context(9, low, executions=4))
        assert not changed("float32").wanted(context(9, low, eager=True))

    def test_precision(self) -> None:
        low = layer(dtype_policy=SimpleNamespace(compute_dtype="float16"))
        assert changed("bfloat16").wanted(context(3, layer(), gpu=True))
        assert not changed("bfloat16").wanted(context(2, layer(), gpu=True))
        assert not changed("bfloat16").wanted(context(3, layer()))
        assert not changed("bfloat16").wanted(context(3, low, gpu=True))

    def test_large_tables_under_an_optimizer_that_touches_all_of_them(self) -> None:
        table = layer("Embedding", parameters=1_000_000)
        assert changed("sgd").wanted(context(1, table))
        assert not changed("sgd").wanted(context(1, layer("Embedding", parameters=999_999)))
        given = context(1, table)
        given.fit.model.optimizer = type("SGD", (), {})()
        assert not changed("sgd").wanted(given)

    def test_metrics(self) -> None:
        class Own:
            def update_state(self) -> None:
                pass

        given = context(1, layer())
        given.recorder.compiled_with = {given.fit.model: {"metrics": ["mae"]}}
        assert changed("without_metrics").wanted(given)
        long = context(30, layer())
        long.recorder.compiled_with = {long.fit.model: {"metrics": ["mae"]}}
        assert not changed("without_metrics").wanted(long)
        outside = (OperationTime(op="Cumsum", ns=30e6),)
        long.keep(Operations(5, 30e6, 0.0, 99.0, outside), "operations")
        assert changed("without_metrics").wanted(long)
        del long.results["operations"]
        long.recorder.compiled_with = {long.fit.model: {"metrics": [Own()]}}
        assert changed("without_metrics").wanted(long)

    def test_a_layer_that_leaves_for_python_and_keeps_the_shape(self) -> None:
        host = {"host_ops": 1, "input": (4, 2)}
        assert changed("native").wanted(context(1, layer(), rows=[row(**host, output=(4, 2))]))
        assert not changed("native").wanted(context(1, layer(), rows=[row(**host, output=(4,))]))

    def test_it_is_timed_beside_the_step_as_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        low = layer(dtype_policy=SimpleNamespace(compute_dtype="float16"))
        change = changed_steps.Change(lambda *_: True, lambda *_: None)  # type: ignore[arg-type, return-value]
        monkeypatch.setitem(changed_steps.CHANGES, "x", change)
        probe = changed_steps.ChangedStepProbe("x")
        found = probe.run(context(9, low))
        assert len(found.ns) == len(found.base_ns or ())
        assert found.first_ns is not None


class TestRecurrent:
    unrolled, dropping, unusual = probes_of(recurrent_settings)

    def test_plain_layers_are_not_reported(self) -> None:
        for probe in probes_of(recurrent_settings):
            assert not probe.wanted(context(1, layer("LSTM")))
        assert not self.unrolled.wanted(context(None, layer("LSTM", unroll=True)))

    def test_unrolled(self) -> None:
        given = context(1, layer("LSTM", unroll=True), layer("GRU", unroll=True))
        assert self.unrolled.wanted(given)
        assert self.unrolled.run(given).types == ("GRU", "LSTM")
        assert copied("rolled").wanted(given)

    def test_a_cell_is_part_of_its_layer(self) -> None:
        cell = layer("LSTMCell", recurrent_dropout=0.1)
        given = context(1, layer("LSTM", recurrent_dropout=0.1, cell=cell), cell)
        assert self.dropping.wanted(given)
        assert self.dropping.run(given).types == ("LSTM",)
        assert changed("fused").wanted(given)


class TestCopies:
    @pytest.fixture(autouse=True)
    def no_output_layers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(changed_copies, "output_layers", lambda _: {"head"})

    def keys(self, *rows: LayerTime, step_ms: float | None = 9, **more: Any) -> set[str]:
        given = context(step_ms, layer(), rows=rows, **more)
        return {probe.key for probe in probes_of(changed_copies) if probe.wanted(given)}

    def test_without_a_dominant_layer_nothing_is_copied(self) -> None:
        assert self.keys() == set()
        assert self.keys(row("a"), row("b"), row("c")) == set()

    def test_a_dominant_layer_is_narrowed(self) -> None:
        assert self.keys(row("a", 900), row("b")) == {"as_is", "half", "quarter"}

    def test_an_lstm_is_also_tried_as_a_gru(self) -> None:
        assert "gru" in self.keys(row("a", 900, type="LSTM"), row("b"))

    def test_a_layer_that_gives_the_result_keeps_its_width(self) -> None:
        assert self.keys(row("head", 900), row("b")) == set()

    def test_not_where_training_waits_for_something_else(self) -> None:
        assert self.keys(row("a", 900), row("b"), period_ns=11 * MS) == set()
        assert self.keys(row("a", 900), row("b"), eager=True) == set()

    def test_groups_are_tried_as_one_first(self) -> None:
        grouped = row("a", 900, settings={"groups": 8})
        assert self.keys(grouped, row("b")) == {"as_is", "ungrouped"}
        assert self.keys(row("a", 19, settings={"groups": 8}), row("b", 81)) >= {"half"}

    def test_without_an_unchanged_copy_there_is_no_measure(self) -> None:
        given = context(9, layer(), rows=[row("a", 900), row("b")])
        with pytest.raises(NotAvailable, match="an unchanged copy could not be made"):
            copied("half").run(given)


class TestOthers:
    def test_frozen_layers_in_long_steps(self) -> None:
        (probe,) = probes_of(frozen_layers)
        frozen = layer(weights=[1], trainable=False)
        assert probe.wanted(context(3, frozen))
        assert not probe.wanted(context(2, frozen))
        assert not probe.wanted(context(3, layer(weights=[1])))
        assert not probe.wanted(context(3, frozen, eager=True))

    def test_padding_where_the_model_walks_along_sequences(self) -> None:
        (probe,) = probes_of(padding)
        assert probe.wanted(context(2, layer("LSTM")))
        assert not probe.wanted(context(1, layer("LSTM")))
        assert not probe.wanted(context(2, layer("Dense")))
