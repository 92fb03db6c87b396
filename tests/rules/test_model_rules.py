from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.rules.compilation import exploding_trace, harmful_compilation
from fitdoctor.rules.model import (
    dense_embedding_update,
    dominant_layer,
    host_op_in_model,
    padding_waste,
    slow_layer,
    unhelpful_precision,
)
from synthetic import MS, fit_workload, view, windows

CEILING = {"flops_per_s": 50e9, "bytes_per_s": 10e9}


def layer(name: str, ns: float, *, alone: float | None = None, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "type": "Dense",
        "ns": ns,
        "parameters": 1000,
        "flops": 1e6,
        "bytes": 1e5,
        "is_model": False,
        "is_user": False,
        "settings": {},
        **more,
    }
    if alone is not None:
        row["alone"] = windows(alone)
    return row


def model_view(*layers: dict[str, Any], step: int = 20 * MS, **probes: dict[str, Any]):
    all_probes: dict[str, dict[str, Any]] = {
        "frozen_batch": windows(step),
        "machine_ceiling": CEILING,
        **probes,
    }
    if layers:
        all_probes["layers"] = {"layers": list(layers), "without_fixed_price": True}
    return view(fit_workload(period=step, step=step, probes=all_probes))


def copies(as_is: float, **changed: float) -> dict[str, Any]:
    return {
        "copy_as_is": windows(as_is),
        **{f"copy_{name}": windows(ns, first_ns=10**9) for name, ns in changed.items()},
    }


class TestSlowLayer:
    def test_silent_near_the_ceiling(self) -> None:
        # 30 GFLOP at 50 GFLOP/s: three times 0.2 s would be needed; it takes less than ten times.
        busy = layer("conv", 6 * MS, alone=15 * MS, flops=80e6)
        assert slow_layer.RULE.detect(model_view(busy)) is None

    def test_silent_on_a_small_share(self) -> None:
        assert slow_layer.RULE.detect(model_view(layer("norm", MS, alone=2 * MS))) is None

    def test_silent_where_one_call_is_no_faster(self) -> None:
        often = layer("encoder", 15 * MS, alone=MS, calls=16)
        together = windows(15 * MS, layer="encoder", calls=16)
        assert slow_layer.RULE.detect(model_view(often, one_call=together)) is None

    def test_fires_on_a_layer_that_is_called_again_and_again(self) -> None:
        often = layer("encoder", 15 * MS, alone=MS, calls=18)
        together = windows(2 * MS, layer="encoder", calls=18)
        found = slow_layer.RULE.detect(model_view(often, one_call=together))
        assert found is not None
        assert "18 times" in found.message
        assert found.gain.value == pytest.approx(20 / 4, rel=0.05)  # 18 of 20 ms become 2

    @pytest.mark.parametrize("kind", ["LSTM", "GRU", "Bidirectional"])
    def test_silent_on_recurrence(self, kind: str) -> None:
        assert (
            slow_layer.RULE.detect(model_view(layer("r", 9 * MS, alone=18 * MS, type=kind))) is None
        )

    def test_silent_on_host_ops_which_have_their_own_rule(self) -> None:
        assert (
            slow_layer.RULE.detect(model_view(layer("h", 9 * MS, alone=18 * MS, host_ops=1)))
            is None
        )

    def test_silent_on_groups_that_are_no_slower(self) -> None:
        grouped = layer("conv", 9 * MS, alone=18 * MS, settings={"groups": 8})
        found = slow_layer.RULE.detect(model_view(grouped, **copies(20 * MS, ungrouped=21 * MS)))
        assert found is None or found.gain.value < 1.05

    def test_a_loop_over_samples(self) -> None:
        row = layer("rows", 9 * MS, alone=15 * MS, loops=1, is_user=True, file="/u/m.py", line=7)
        finding = slow_layer.RULE.detect(model_view(row))
        assert finding is not None
        assert (finding.where.file, finding.where.line) == ("/u/m.py", 7)
        assert finding.gain.value == pytest.approx(20 / 5, rel=0.1)
        assert "vectorise" in finding.cure.summary

    def test_layers_of_one_class_are_cured_together(self) -> None:
        mine = {"is_user": True, "type": "Graph", "file": "/u/m.py", "line": 7}
        rows = [layer(f"graph_{i}", 3 * MS, alone=6 * MS, **mine) for i in range(3)]
        finding = slow_layer.RULE.detect(model_view(*rows))
        assert finding is not None
        assert "3 layers Graph" in finding.message
        # 18 of 20 ms, of which three times what the arithmetic needs is left: 0.54 ms.
        assert finding.gain.value == pytest.approx(20 / 2.54, rel=0.01)
        # One that is as fast as it can be is none of them.
        busy = layer("graph_3", 3 * MS, alone=6 * MS, flops=1e8, **mine)
        again = slow_layer.RULE.detect(model_view(*rows[:2], busy))
        assert again is not None
        assert "2 layers Graph" in again.message

    def mapped(self, vectorised: float, call: str = "map_fn", **others: Any):
        row = layer("rows", 9 * MS, alone=15 * MS, loops=1, is_user=True, file="/u/m.py", line=7)
        calls = [{"call": call, "file": "/u/m.py", "line": 9}]
        return model_view(row, step_vectorised=windows(vectorised, calls=calls), **others)

    def test_a_faster_step_behind_a_slow_loop_gains_nothing(self) -> None:
        loop = windows(19.8 * MS, alone=windows(1 * MS))
        finding = slow_layer.RULE.detect(self.mapped(4 * MS, loop_alone=loop))
        assert finding is None or finding.gain.value < 1.05

    def test_a_faster_step_is_left_with_the_loop_around_it(self) -> None:
        loop = windows(8 * MS, alone=windows(1 * MS))
        finding = slow_layer.RULE.detect(self.mapped(4 * MS, loop_alone=loop))
        assert finding is not None
        assert finding.gain.value == pytest.approx(20 / 8, rel=0.05)

    def test_a_loop_that_hides_behind_its_step_is_no_limit(self) -> None:
        loop = windows(8 * MS, alone=windows(7 * MS))
        finding = slow_layer.RULE.detect(self.mapped(4 * MS, loop_alone=loop))
        assert finding is not None
        assert finding.gain.value == pytest.approx(5, rel=0.05)

    def test_a_vectorised_map_that_is_no_faster_is_not_offered(self) -> None:
        finding = slow_layer.RULE.detect(self.mapped(20 * MS))
        assert finding is None or finding.cure.edits == ()

    def test_a_map_over_rows_is_priced_by_its_vectorised_twin(self) -> None:
        finding = slow_layer.RULE.detect(self.mapped(4 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(5, rel=0.05)
        assert (finding.where.file, finding.where.line) == ("/u/m.py", 9)
        (edit,) = finding.cure.edits
        assert edit.in_words() == "call vectorized_map() instead of map_fn()"
        assert finding.cure.safety == "unsafe"

    def test_a_loss_that_maps_over_its_rows(self) -> None:
        calls = [{"call": "map_fn", "file": "/u/loss.py", "line": 9}]
        tried = windows(4 * MS, calls=calls)
        finding = slow_layer.RULE.detect(model_view(layer("dense", MS), step_vectorised=tried))
        assert finding is not None
        assert finding.message.startswith("the loss maps over its rows one by one")
        assert (finding.where.file, finding.where.line) == ("/u/loss.py", 9)
        assert finding.gain.value == pytest.approx(5, rel=0.05)

    def test_a_map_of_jax_becomes_vmap(self) -> None:
        finding = slow_layer.RULE.detect(self.mapped(4 * MS, call="lax.map"))
        assert finding is not None
        assert finding.cure.summary.startswith("jax.vmap instead of lax.map")
        (edit,) = finding.cure.edits
        assert edit.in_words() == "jax.vmap(f)(rows) instead of jax.lax.map(f, rows)"
        assert finding.cure.safety == "unsafe"

    def test_grouped_convolution_by_trial(self) -> None:
        grouped = layer("conv", 9 * MS, alone=18 * MS, settings={"groups": 8})
        finding = slow_layer.RULE.detect(model_view(grouped, **copies(20 * MS, ungrouped=2 * MS)))
        assert finding is not None
        assert finding.gain.value == pytest.approx(10, rel=0.1)
        assert finding.cure.safety == "advice"


def python_in_step(share: float) -> dict[str, Any]:
    place = ["/user/train.py", 12, "mine", 40]
    place[3] = round(60 * share)
    return {"samples": 60, "user_share": share, "functions": [place], "lines": [place]}


class TestHostOp:
    def test_silent_where_python_is_hardly_ever_seen_in_the_step(self) -> None:
        assert host_op_in_model.RULE.detect(model_view(step_python=python_in_step(0.05))) is None

    def test_silent_on_a_thread_that_runs_without_steps_too(self) -> None:
        seen = python_in_step(0.9)
        seen["without_steps"] = [["/user/train.py", 12, "mine", 30]]
        assert host_op_in_model.RULE.detect(model_view(step_python=seen)) is None

    def test_silent_where_no_function_of_the_users_was_seen(self) -> None:
        seen = {**python_in_step(0.9), "functions": []}
        assert host_op_in_model.RULE.detect(model_view(step_python=seen)) is None

    def test_fires_on_python_anywhere_in_a_compiled_step(self) -> None:
        found = host_op_in_model.RULE.detect(model_view(step_python=python_in_step(0.6)))
        assert found is not None
        assert (found.where.file, found.where.line) == ("/user/train.py", 12)
        assert found.gain.value == pytest.approx(1 / (1 - 0.57), rel=0.05)
        assert found.gain.low == pytest.approx(1 / 0.7, rel=0.05)

    def test_silent_without_host_ops(self) -> None:
        assert (
            host_op_in_model.RULE.detect(model_view(layer("dense", 9 * MS, alone=15 * MS))) is None
        )

    def test_silent_on_a_small_share(self) -> None:
        assert (
            host_op_in_model.RULE.detect(model_view(layer("np", MS, alone=MS // 2, host_ops=1)))
            is None
        )

    def test_priced_by_the_layer_alone(self) -> None:
        finding = host_op_in_model.RULE.detect(
            model_view(layer("np", 9 * MS, alone=15 * MS, host_ops=1))
        )
        assert finding is not None
        assert finding.gain.value == pytest.approx(4, rel=0.1)
        assert "keras.ops" in finding.cure.summary


class TestCopies:
    @pytest.mark.parametrize(
        "rule",
        [
            dense_embedding_update.RULE,
            unhelpful_precision.RULE,
            harmful_compilation.RULE,
            padding_waste.RULE,
        ],
    )
    def test_silent_where_nothing_was_tried(self, rule: Any) -> None:
        assert rule.detect(model_view()) is None

    @pytest.mark.parametrize(
        ("rule", "copy"),
        [(dense_embedding_update.RULE, "sgd"), (unhelpful_precision.RULE, "float32")],
    )
    def test_silent_where_the_copy_is_no_faster(self, rule: Any, copy: str) -> None:
        assert rule.detect(model_view(**{f"step_{copy}": windows(19.5 * MS)})) is None

    @pytest.mark.parametrize(
        ("rule", "copy"),
        [(dense_embedding_update.RULE, "sgd"), (unhelpful_precision.RULE, "float32")],
    )
    def test_priced_by_the_copy(self, rule: Any, copy: str) -> None:
        finding = rule.detect(model_view(**{f"step_{copy}": windows(5 * MS)}))
        assert finding is not None
        assert finding.gain.value == pytest.approx(4, rel=0.05)
        assert finding.cure.safety != "safe"

    def test_jit_that_helps_is_left_alone(self) -> None:
        assert harmful_compilation.RULE.detect(model_view(jit_off=windows(30 * MS))) is None

    def test_jit_that_hurts(self) -> None:
        finding = harmful_compilation.RULE.detect(model_view(jit_off=windows(10 * MS)))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2, rel=0.05)


class TestPadding:
    def padded(self, shorter: float | None):
        data: dict[str, Any] = {"length": 500, "real": 35.0, "bucketed": 48, "rows": 32}
        data["boundaries"] = [17, 33]
        if shorter is not None:
            data.update(windows(shorter))
        return model_view(padding=data)

    def test_silent_where_batches_are_full(self) -> None:
        assert padding_waste.RULE.detect(self.padded(None)) is None

    def test_silent_where_length_does_not_matter(self) -> None:
        assert padding_waste.RULE.detect(self.padded(19 * MS)) is None

    def test_the_step_at_the_length_it_needs(self) -> None:
        finding = padding_waste.RULE.detect(self.padded(2.5 * MS))
        assert finding is not None
        # 2.5 ms for the step, and 32 sequences to be put into their buckets.
        assert finding.gain.value == pytest.approx(20 / (2.5 + 32 * 0.022), rel=0.05)
        assert "93 %" in finding.message
        assert "bucket_boundaries=[17, 33]" in finding.cure.summary


class TestDominantLayer:
    def test_silent_where_one_of_many_equal_layers_was_timed_alone(self) -> None:
        cheap = [layer(f"conv{i}", 0.3 * MS) for i in range(16)]
        one = layer("conv_first", 0.5 * MS, alone=1.5 * MS)
        assert dominant_layer.RULE.detect(model_view(one, *cheap)) is None

    def test_silent_on_the_layers_inside_a_layer(self) -> None:
        inner = [layer(f"dense{i}", MS, alone=4 * MS, inside="block") for i in range(2)]
        block = layer("block", MS, alone=9 * MS, is_user=True, flops=1e9)
        other = layer("other", 3 * MS, alone=9 * MS)
        assert dominant_layer.RULE.detect(model_view(block, other, *inner)) is None

    def test_the_measured_half_width_is_the_price(self) -> None:
        found = dominant_layer.RULE.detect(
            model_view(
                layer("big", 90 * MS),
                layer("small", MS),
                **copies(20 * MS, half=12 * MS, gru=15 * MS),
            )
        )
        assert found is not None
        assert found.gain.value == pytest.approx(20 / 12, rel=0.05)
        assert "as a GRU" in found.cure.summary


class TestExplodingTrace:
    def started(self, first: int, *, epochs: int = 1, rolled: bool = True):
        workload = fit_workload(period=20 * MS, step=20 * MS, steps=16, detail={"epochs": epochs})
        from dataclasses import replace

        call = replace(workload.calls[0], start_up=first)
        probes = copies(20 * MS, rolled=40 * MS) if rolled else {}
        probes["unrolled"] = {"types": ["GRU", "LSTM"]}
        made = fit_workload(probes={"frozen_batch": windows(20 * MS), **probes}).probes
        return view(replace(workload, calls=(call,), probes=made))

    def test_silent_on_a_usual_start(self) -> None:
        assert exploding_trace.RULE.detect(self.started(10**9)) is None

    def test_silent_on_a_long_run(self) -> None:
        assert exploding_trace.RULE.detect(self.started(10 * 10**9, epochs=5000)) is None

    def test_silent_where_the_start_is_not_tracing(self) -> None:
        assert exploding_trace.RULE.detect(self.started(10 * 10**9, rolled=False)) is None

    def test_the_whole_run_is_priced(self) -> None:
        finding = exploding_trace.RULE.detect(self.started(10 * 10**9))
        assert finding is not None
        # 10 s and 16 steps of 20 ms, against 1 s and 16 steps of 40 ms.
        assert finding.gain.value == pytest.approx(10.32 / 1.64, rel=0.05)
        assert "pay off after 450 steps" in finding.cure.summary
        words = [edit.in_words() for edit in finding.cure.edits]
        assert words == ["remove unroll from GRU()", "remove unroll from LSTM()"]
