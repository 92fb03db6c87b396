from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.model import OneCall, VectorisedStep
from fitdoctor.contract.evidence.step import LoopAlone
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.places import CallLine
from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.findings.place import Where
from fitdoctor.rules import all_rules
from fitdoctor.rules.model.slow_layer import RULE
from synthetic import MS, copies, layer, model_view, timed


class TestSlow:
    def test_silent_near_the_ceiling(self) -> None:
        # 80 MFLOP at 50 GFLOP/s, three times: 4.8 ms are needed, and it takes less than ten times.
        busy = layer("conv", 6 * MS, alone=15 * MS, flops=80e6, is_user=True)
        assert RULE.detect(model_view(busy)) is None

    def test_silent_on_a_small_share(self) -> None:
        assert RULE.detect(model_view(layer("norm", MS, alone=2 * MS, is_user=True))) is None

    def test_silent_on_the_frameworks_own_layers(self) -> None:
        assert RULE.detect(model_view(layer("dense", 9 * MS, alone=18 * MS))) is None

    @pytest.mark.parametrize("kind", ["LSTM", "GRU", "Bidirectional"])
    def test_silent_on_recurrence(self, kind: str) -> None:
        recurrent = layer("r", 9 * MS, alone=18 * MS, type=kind, is_user=True)
        assert RULE.detect(model_view(recurrent)) is None

    def test_silent_on_host_ops_which_have_their_own_rule(self) -> None:
        host = layer("h", 9 * MS, alone=18 * MS, host_ops=1, is_user=True)
        assert RULE.detect(model_view(host)) is None

    def test_silent_on_groups_that_are_no_slower(self) -> None:
        grouped = layer("conv", 9 * MS, alone=18 * MS, settings={"groups": 8})
        assert RULE.detect(model_view(grouped, found=copies(20 * MS, ungrouped=21 * MS))) is None

    def test_silent_on_groups_where_no_plain_convolution_was_tried(self) -> None:
        grouped = layer("conv", 9 * MS, alone=18 * MS, settings={"groups": 8})
        assert RULE.detect(model_view(grouped)) is None

    def test_a_loop_over_samples(self) -> None:
        row = layer("rows", 9 * MS, alone=15 * MS, loops=1, is_user=True, file="/u/m.py", line=7)
        found = RULE.detect(model_view(row))
        assert found is not None
        assert (found.where.file, found.where.line) == ("/u/m.py", 7)
        # 15 of 20 ms, less what the arithmetic needs.
        assert found.gain.value == pytest.approx(20 / 5.06, rel=0.01)
        assert found.how == "bound"
        assert "vectorise" in found.cure.summary

    def test_silent_on_a_layer_that_does_not_loop(self) -> None:
        own = layer("attention", 9 * MS, alone=15 * MS, is_user=True, file="/u/m.py", line=7)
        assert RULE.detect(model_view(own)) is None

    def test_silent_on_a_layer_around_a_recurrent_one(self) -> None:
        outer = layer("block", 9 * MS, alone=15 * MS, loops=1, is_user=True)
        inner = layer("lstm", 8 * MS, type="LSTM", inside="block")
        assert RULE.detect(model_view(outer, inner)) is None

    def test_layers_of_one_class_are_cured_together(self) -> None:
        mine = {"is_user": True, "type": "Graph", "file": "/u/m.py", "line": 7, "loops": 1}
        rows = [layer(f"graph_{i}", 3 * MS, alone=6 * MS, **mine) for i in range(3)]
        found = RULE.detect(model_view(*rows))
        assert found is not None
        assert "3 layers Graph" in found.message
        # 18 of 20 ms, of which what the arithmetic needs is left: 0.18 ms.
        assert found.gain.value == pytest.approx(20 / 2.18, rel=0.01)
        # One that is as fast as it can be is none of them.
        busy = layer("graph_3", 3 * MS, alone=6 * MS, flops=1e8, **mine)
        again = RULE.detect(model_view(*rows[:2], busy))
        assert again is not None
        assert "2 layers Graph" in again.message

    def test_grouped_convolution_by_trial(self) -> None:
        grouped = layer("conv", 9 * MS, alone=18 * MS, settings={"groups": 8})
        found = RULE.detect(model_view(grouped, found=copies(20 * MS, ungrouped=2 * MS)))
        assert found is not None
        assert found.gain.value == pytest.approx(10, rel=0.1)
        assert found.cure.safety == "advice"
        assert found.evidence["groups"] == 8


class TestOneCall:
    def called_often(self, calls: int, together: float):
        often = layer("encoder", 15 * MS, alone=MS, calls=calls)
        one = timed(OneCall, together, layer="encoder", calls=calls)
        return model_view(often, found=[one])

    def test_silent_where_one_call_is_no_faster(self) -> None:
        assert RULE.detect(self.called_often(16, 15 * MS)) is None

    def test_silent_where_the_layer_was_not_timed(self) -> None:
        one = timed(OneCall, 2 * MS, layer="encoder", calls=18)
        assert RULE.detect(model_view(layer("encoder", 15 * MS), found=[one])) is None

    def test_fires_on_a_layer_that_is_called_again_and_again(self) -> None:
        found = RULE.detect(self.called_often(18, 2 * MS))
        assert found is not None
        assert "18 times" in found.message
        assert found.gain.value == pytest.approx(20 / 4, rel=0.05)  # 18 of 20 ms become 2
        assert found.evidence["one_call_ns"] == 2 * MS

    def test_layers_that_one_loop_calls_are_cured_together(self) -> None:
        # A loop over time steps in a layer of the user's: 18 of 20 ms, its own Python 2 of 12.
        mine = {"is_user": True, "file": "/u/m.py", "line": 7}
        block = layer("block", 2 * MS, alone=18 * MS, type="Block", **mine)
        dense = layer("dense", 6 * MS, inside="block", calls=168)
        norm = layer("norm", 4 * MS, inside="block", calls=168)
        rest = layer("softmax", 0.1 * MS, inside="block", calls=1)
        one = timed(OneCall, 0.2 * MS, layer="dense", calls=168)
        found = RULE.detect(model_view(block, dense, norm, rest, found=[one]))
        assert found is not None
        assert found.where == Where("/u/m.py", 7)
        # 10 of the block's 12 ms are in the two layers.
        assert found.gain.value == pytest.approx(20 / (20 - 18 * 10 / 12.1), rel=0.05)
        assert found.how == "modelled"
        assert "dense (Dense) (and 1 more beside it) is called 168 times" in found.message


class TestOneHot:
    def encoded(self, ns: float, width: int = 1):
        row = layer("city", ns / 3, alone=ns, type="CategoryEncoding", input=(32, width))
        rest = layer("dense", 2 * MS, alone=8 * MS)
        return model_view(row, rest)

    def test_silent_where_several_ids_make_one_row(self) -> None:
        assert RULE.detect(self.encoded(12 * MS, width=7)) is None

    def test_silent_on_a_small_share(self) -> None:
        assert RULE.detect(self.encoded(1 * MS)) is None

    def test_a_row_of_zeros_for_every_id_is_a_bound(self) -> None:
        found = RULE.detect(self.encoded(12 * MS))
        assert found is not None
        assert found.how == "bound"
        assert found.gain.value == pytest.approx(20 / 8, rel=0.05)
        assert "city" in found.message and "Embedding" in found.cure.summary


class TestMapped:
    def mapped(self, vectorised: float, *more: object, call: str = "map_fn"):
        row = layer("rows", 9 * MS, alone=15 * MS, loops=1, is_user=True, file="/u/m.py", line=7)
        calls = (CallLine(call, "/u/m.py", 9),)
        return model_view(row, found=[timed(VectorisedStep, vectorised, calls=calls), *more])

    def in_loop(self, ns: float, alone: float) -> LoopAlone:
        return timed(LoopAlone, ns, alone=timed(Timed, alone))

    def test_a_faster_step_in_a_slow_loop_gains_nothing(self) -> None:
        found = RULE.detect(self.mapped(4 * MS, self.in_loop(19.8 * MS, 1 * MS)))
        assert found is None or found.how == "bound"

    def test_a_vectorised_map_that_is_no_faster_is_not_offered(self) -> None:
        found = RULE.detect(self.mapped(20 * MS))
        assert found is not None  # the layer is slow all the same
        assert found.cure.edits == ()

    def test_a_faster_step_is_left_with_the_loop_around_it(self) -> None:
        found = RULE.detect(self.mapped(4 * MS, self.in_loop(8 * MS, 1 * MS)))
        assert found is not None
        assert found.gain.value == pytest.approx(20 / 8, rel=0.05)

    def test_a_loop_that_its_step_hides_is_no_limit(self) -> None:
        found = RULE.detect(self.mapped(4 * MS, self.in_loop(8 * MS, 7 * MS)))
        assert found is not None
        assert found.gain.value == pytest.approx(5, rel=0.05)

    def test_the_vectorised_step_is_the_gain(self) -> None:
        found = RULE.detect(self.mapped(4 * MS))
        assert found is not None
        assert found.gain.value == pytest.approx(5, rel=0.05)
        assert (found.where.file, found.where.line) == ("/u/m.py", 9)
        assert found.message == (
            "the layer rows (Dense) maps over its rows one by one: a step takes 20.0 ms, "
            "with all rows at once 4.00 ms"
        )
        (edit,) = found.cure.edits
        assert edit.in_words() == "call vectorized_map() instead of map_fn()"
        assert found.cure.safety == "unsafe"

    def test_a_loss_that_maps_over_its_rows(self) -> None:
        calls = (CallLine("map_fn", "/u/loss.py", 9),)
        tried = timed(VectorisedStep, 4 * MS, calls=calls)
        found = RULE.detect(model_view(layer("dense", MS), found=[tried]))
        assert found is not None
        assert found.message.startswith("the loss maps over its rows one by one")
        assert (found.where.file, found.where.line) == ("/u/loss.py", 9)
        assert found.gain.value == pytest.approx(5, rel=0.05)
        assert found.evidence["layer"] is None

    def test_a_map_of_jax_becomes_vmap(self) -> None:
        found = RULE.detect(self.mapped(4 * MS, call="lax.map"))
        assert found is not None
        assert found.cure.summary.startswith("jax.vmap instead of lax.map")
        (edit,) = found.cure.edits
        assert edit.in_words() == "jax.vmap(f)(rows) instead of jax.lax.map(f, rows)"
        assert found.cure.safety == "unsafe"


def test_too_few_cores_explain_a_slow_layer() -> None:
    found = RULE.detect(model_view(layer("mine", 9 * MS, alone=15 * MS, loops=1, is_user=True)))
    assert found is not None
    threads = replace(found, rule="EN002")
    assert one_cause_each((found, threads), all_rules()) == (threads,)


def test_the_page_has_the_thresholds() -> None:
    assert "is 20 % of the step or more" in RULE.page
    assert "at least 10 times what its multiplications" in RULE.page
    assert "4 times or more in a step" in RULE.page
    assert "For other loops a bound" in RULE.page
