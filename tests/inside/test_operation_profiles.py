"""Profiles of the three frameworks become times by layer; small ones, made here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations import jax_profile, tensorflow_profile, torch_profile
from fitdoctor.inside.seams.operations.layer_names import LayerNames
from fitdoctor.inside.seams.operations.profile import Profile, operations, summed


def rows(
    profile: Profile, *layers: str, steps: int = 1
) -> dict[tuple[str | None, str, bool], float]:
    found = summed(profile, steps, list(layers), 1e12)
    return {(one.within, one.op, one.backward): one.ns for one in found.rows}


class TestLayerNames:
    def test_a_scope_that_can_only_be_one_layers_is_settled_first(self) -> None:
        # A graph that was traced again numbers all its scopes.
        names = LayerNames(["conv2d", "conv2d_1"])
        names.learn([("net", "conv2d_1"), ("net", "conv2d_1_2")])
        assert names.layers_on(("net", "conv2d_1")) == ["conv2d"]
        assert names.layers_on(("net", "conv2d_1_2")) == ["conv2d_1"]

    def test_plain_scopes_are_the_layers_of_that_name(self) -> None:
        names = LayerNames(["conv2d", "conv2d_1"])
        names.learn([("conv2d",), ("conv2d_1",)])
        assert names.layers_on(("conv2d_1",)) == ["conv2d_1"]
        assert names.layers_on(("loss",)) == []

    def test_all_layers_on_a_path_the_outermost_first(self) -> None:
        names = LayerNames(["block", "dense"])
        names.learn([("net", "block", "dense")])
        assert names.layers_on(("net", "block", "dense")) == ["block", "dense"]


class TestTensorFlow:
    @staticmethod
    def profile(*events: tuple[str, int, int], mark: bool = True) -> bytes:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2

        space = xplane_pb2.XSpace()
        plane = space.planes.add(name="/host:CPU")
        line = plane.lines.add(name="python", timestamp_ns=1000)
        named = [*events, *([(tensorflow_profile.MARK, 0, 100)] if mark else [])]
        for number, (name, begin, end) in enumerate(named, 1):
            plane.event_metadata[number].name = name
            line.events.add(
                metadata_id=number, offset_ps=begin * 1000, duration_ps=(end - begin) * 1000
            )
        data: bytes = space.SerializeToString()
        return data

    def test_operations_by_layer_with_their_gradients(self) -> None:
        data = self.profile(
            ("ExecutorState::Process", 0, 90),
            ("StatefulPartitionedCall/net/dense_1/MatMul:_MklMatMul", 0, 30),
            ("StatefulPartitionedCall/gradient_tape/net/dense_1/MatMul:_MklMatMul", 30, 60),
            ("adam/AssignSubVariableOp:AssignSubVariableOp", 60, 70),
            ("StatefulPartitionedCall:StatefulPartitionedCall", 0, 90),
        )
        found = rows(tensorflow_profile.read(data), "dense")
        assert found == {
            ("dense", "MklMatMul", False): 30.0,
            ("dense", "MklMatMul", True): 30.0,
            (None, "AssignSubVariableOp", False): 10.0,
        }

    def test_a_profile_without_our_mark_says_so(self) -> None:
        with pytest.raises(NotAvailable, match="when the steps ran"):
            tensorflow_profile.read(self.profile(("a:MatMul", 0, 1), mark=False))

    def test_a_profile_of_nothing_says_so(self) -> None:
        with pytest.raises(NotAvailable, match="no events of the host"):
            tensorflow_profile.read(b"")


class TestJax:
    @staticmethod
    def event(name: str, begin: float, end: float, module: str | None = "jit_step") -> Any:
        stats = [("hlo_op", name), ("hlo_module", module)] if module else []
        return SimpleNamespace(name=name, start_ns=begin, duration_ns=end - begin, stats=stats)

    def data(self, *events: Any) -> Any:
        mark = self.event(jax_profile.MARK, 0, 100, None)
        lines = [SimpleNamespace(events=[mark]), SimpleNamespace(events=events)]
        return SimpleNamespace(planes=[SimpleNamespace(name="/host:CPU", lines=lines)])

    def test_thunks_get_the_names_they_were_traced_under(self) -> None:
        data = self.data(
            self.event("while.2", 0, 60),  # waits for its body
            self.event("dot.1", 0, 20),
            self.event("end: dot.1", 20, 20),
            self.event("fusion.3", 20, 60),
            self.event("copy.7", 60, 70),
        )
        names = {
            "dot.1": "jit(step)/jvp(lstm)/while/body/lstm_cell/dot_general",
            "fusion.3": "jit(step)/transpose(jvp(lstm))/while/body/lstm_cell/mul",
        }
        asked: list[Any] = []

        def known(module: str, instructions: set[str]) -> dict[str, str]:
            asked.append((module, instructions))
            return names

        found = rows(jax_profile.read(data, known), "lstm", "lstm_cell")
        assert found == {
            ("lstm", "dot_general", False): 20.0,
            ("lstm", "mul", True): 40.0,
            (None, "copy", False): 10.0,
        }
        assert asked == [("jit_step", {"while.2", "dot.1", "fusion.3", "copy.7"})]

    def test_a_profile_without_our_mark_says_so(self) -> None:
        empty = SimpleNamespace(planes=[])
        with pytest.raises(NotAvailable, match="when the steps ran"):
            jax_profile.read(empty, lambda *_: {})

    def test_names_in_a_compiled_program(self) -> None:
        text = (
            '  %dot.1 = f32[2] dot(%a, %b), metadata={op_name="jit(f)/dense/dot"}\n'
            '  ROOT fusion.2 = f32[2] fusion(%dot.1), metadata={op_type="x" op_name="jit(f)/add"}\n'
            "  %c = f32[] constant(0)\n"
        )
        assert jax_profile.op_names(text) == {"dot.1": "jit(f)/dense/dot", "fusion.2": "jit(f)/add"}


class TestTorch:
    @staticmethod
    def event(name: str, begin: float, end: float, *, number: int = -1, thread: int = 1) -> Any:
        span = SimpleNamespace(start=begin / 1e3, end=end / 1e3)
        return SimpleNamespace(name=name, thread=thread, sequence_nr=number, time_range=span)

    def test_gradients_belong_to_the_layer_of_their_operation(self) -> None:
        backward = "autograd::engine::evaluate_function: "
        events = [
            self.event(torch_profile.MARK, 0, 100),
            self.event(f"{torch_profile.LAYER}dense", 0, 40),
            self.event("aten::addmm", 10, 30, number=7),
            self.event(f"{backward}AddmmBackward0", 50, 80, number=7, thread=2),
            self.event("aten::mm", 55, 75, number=7, thread=2),
            self.event("aten::add_", 90, 95),
        ]
        found = rows(torch_profile.read(events), "dense")
        assert found == pytest.approx(
            {
                ("dense", torch_profile.PYTHON, False): 20.0,
                ("dense", "addmm", False): 20.0,
                ("dense", "AddmmBackward0", True): 10.0,
                ("dense", "mm", True): 20.0,
                (None, "add_", False): 5.0,
            }
        )

    def test_a_layer_inside_a_layer(self) -> None:
        events = [
            self.event(torch_profile.MARK, 0, 100),
            self.event(f"{torch_profile.LAYER}block", 0, 60),
            self.event(f"{torch_profile.LAYER}dense", 10, 50),
            self.event("aten::addmm", 20, 40),
        ]
        found = summed(torch_profile.read(events), 1, ["block", "dense"], 1e12)
        inner = next(one for one in found.rows if one.op == "addmm")
        assert (inner.layer, inner.within) == ("dense", "block")


def test_times_are_per_step_and_what_is_idle_is_said() -> None:
    events = [TestTorch.event(torch_profile.MARK, 0, 100), TestTorch.event("aten::mm", 0, 30)]
    seen = operations(lambda run: torch_profile.read(events), lambda: None, 2)([])
    assert seen.idle_ns == pytest.approx(35)
    assert seen.count == 0.5
    assert sum(one.ns for one in seen.rows) == pytest.approx(15)


def test_a_profiler_that_sees_nothing_is_no_result() -> None:
    with pytest.raises(NotAvailable, match="saw no operation"):
        operations(lambda run: Profile([[]], 0, 1), lambda: None, 1)
