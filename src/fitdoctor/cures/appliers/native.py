"""Functions that a step calls in NumPy, written with keras.ops.

`tf.numpy_function(sine, [x], tf.float32)` becomes `sine(x)`, and `np.sin` in `sine` becomes
`keras.ops.sin`. Only functions of plain arithmetic are rewritten: a loop over rows, or a call
that keras.ops has no twin of, is for a person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.calls import called_name, keyword_argument, positional
from fitdoctor.cures.draft import DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import in_known_names
from fitdoctor.findings.edits import KERAS, UseKerasOps

# The same name, the same arguments and the same meaning in NumPy and in keras.ops.
TWINS = frozenset(
    {
        *(
            "add",
            "divide",
            "multiply",
            "negative",
            "power",
            "reciprocal",
            "sqrt",
            "square",
            "subtract",
        ),
        *("abs", "absolute", "ceil", "clip", "floor", "maximum", "minimum", "round", "sign"),
        *("exp", "expm1", "log", "log10", "log1p", "log2"),
        *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh"),
        *("cos", "cosh", "sin", "sinh", "tan", "tanh"),
        *(
            "equal",
            "greater",
            "greater_equal",
            "isfinite",
            "isnan",
            "less",
            "less_equal",
            "not_equal",
        ),
        *("logical_and", "logical_not", "logical_or", "where"),
        *("argmax", "argmin", "cumprod", "cumsum", "max", "mean", "min", "prod", "sum", "var"),
        *("dot", "einsum", "matmul", "outer"),
        *("concatenate", "expand_dims", "flip", "reshape", "roll", "squeeze", "stack", "transpose"),
        *("full_like", "ones_like", "zeros_like"),
    }
)
RENAMED = {"array": "convert_to_tensor", "asarray": "convert_to_tensor"}
KEYWORDS = frozenset({"axis", "keepdims"})
CONSTANTS = frozenset({"e", "inf", "nan", "newaxis", "pi"})
FLOATS = ("float32", "float16", "bfloat16")
HOST_CALLS = ("numpy_function", "py_function", "pure_callback")
# Decorators under which the gradient is the user's own; elsewhere a call of NumPy has none.
OWN_GRADIENT = ("custom_gradient", "custom_jvp", "custom_vjp", "defjvp", "defvjp")
_PLAIN = (
    cst.BinaryOperation,
    cst.UnaryOperation,
    cst.Comparison,
    cst.Name,
    cst.Integer,
    cst.Float,
    cst.Tuple,
    cst.List,
    cst.Subscript,
)


@applied.register
def use_keras_ops(edit: UseKerasOps, draft: Draft) -> Draft:
    """Write every function that is called on the host with the framework's operations."""
    ops = in_known_names(draft, "keras.ops.cast", KERAS)
    if ops is None:
        raise DeclinedEdit("`import keras` is not at the top of this file")
    calls = [call for call in draft.nodes(cst.Call) if called_name(call) in HOST_CALLS]
    if not calls:
        raise DeclinedEdit(f"no function is called through {' or '.join(HOST_CALLS)} in this file")
    return _Rewriting(draft, ops.removesuffix(".cast")).done(calls)


@dataclass
class _Rewriting:
    draft: Draft
    ops: str
    splices: list[Splice] = field(default_factory=list)

    def done(self, calls: list[cst.Call]) -> Draft:
        functions = {}
        for call in calls:
            function = self._function(call)
            functions[function.name.value] = function
            self._call_it(call, function)
        for function in functions.values():
            self._refuse_other_uses(function, calls)
            self._body(function)
        return self.draft.spliced(*self.splices)

    # -- the calls -----------------------------------------------------------------

    def _function(self, call: cst.Call) -> cst.FunctionDef:
        first = positional(call)[0].value if positional(call) else None
        name = first.value if isinstance(first, cst.Name) else None
        found = [one for one in self.draft.nodes(cst.FunctionDef) if one.name.value == name]
        if name is None or len(found) != 1:
            raise DeclinedEdit(f"what {called_name(call)}() calls is not one function of this file")
        return found[0]

    def _call_it(self, call: cst.Call, function: cst.FunctionDef) -> None:
        """`tf.numpy_function(f, [x], tf.float32)` becomes `f(x)`, as the host call types it."""
        arguments = self._arguments(call)
        taken = function.params
        if len(taken.params) != len(arguments) or taken.star_kwarg or taken.kwonly_params:
            raise DeclinedEdit(
                f"{function.name.value} does not take the arguments that it is given"
            )
        text = f"{function.name.value}({', '.join(map(self.draft.code, arguments))})"
        dtype = self._dtype(call)
        if dtype is not None and dtype != _returned_dtype(function):
            text = f'{self.ops}.cast({text}, "{dtype}")'
        if called_name(call) != "py_function" and not self._has_own_gradient(call):
            text = f"{self.ops}.stop_gradient({text})"
        self.splices.append(self.draft.instead(call, text))

    def _arguments(self, call: cst.Call) -> list[cst.BaseExpression]:
        given = positional(call)
        if called_name(call) == "pure_callback":
            return [one.value for one in given[2:]]
        named = keyword_argument(call, "inp")
        inputs = named.value if named is not None else given[1].value if len(given) > 1 else None
        if not isinstance(inputs, cst.List | cst.Tuple):
            raise DeclinedEdit(f"the inputs of {called_name(call)}() are not written out")
        return [one.value for one in inputs.elements]

    def _dtype(self, call: cst.Call) -> str | None:
        """The type that TensorFlow is given; JAX is given the type of an argument."""
        if called_name(call) == "pure_callback":
            return None
        named = keyword_argument(call, "Tout")
        given = positional(call)
        dtype = named.value if named is not None else given[2].value if len(given) > 2 else None
        if isinstance(dtype, cst.Attribute) and dtype.attr.value in FLOATS:
            return dtype.attr.value
        raise DeclinedEdit(f"{called_name(call)}() does not return one floating-point tensor")

    def _has_own_gradient(self, call: cst.Call) -> bool:
        return any(
            self.draft.code(decorator.decorator).rpartition(".")[2] in OWN_GRADIENT
            for one in self.draft.ancestors(call)
            if isinstance(one, cst.FunctionDef)
            for decorator in one.decorators
        )

    def _refuse_other_uses(self, function: cst.FunctionDef, calls: list[cst.Call]) -> None:
        name = function.name.value
        uses = [one for one in self.draft.nodes(cst.Name) if one.value == name]
        known = {id(positional(call)[0].value) for call in calls} | {id(function.name)}
        if any(id(one) not in known for one in uses):
            raise DeclinedEdit(f"{name} is used elsewhere as well")

    # -- the functions -------------------------------------------------------------

    def _body(self, function: cst.FunctionDef) -> None:
        name = function.name.value
        if function.decorators or not isinstance(function.body, cst.IndentedBlock):
            raise DeclinedEdit(f"{name} is decorated, or on one line")
        for line in function.body.body:
            small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
            if isinstance(small, cst.Assign | cst.Return) and small.value is not None:
                self._expression(small.value, name)
            elif not m.matches(line, m.SimpleStatementLine([m.Expr(m.SimpleString())])):
                raise DeclinedEdit(f"{name} is more than arithmetic")

    def _expression(self, node: cst.BaseExpression, function: str) -> None:
        if isinstance(node, cst.Call):
            self._call(node, function)
        elif isinstance(node, cst.Attribute):
            if not (_is_numpy(node.value) and node.attr.value in CONSTANTS):
                raise DeclinedEdit(f"{function} uses `{self.draft.code(node)[:40]}`")
        elif not isinstance(node, _PLAIN):
            raise DeclinedEdit(f"{function} is more than arithmetic")
        else:
            for child in _expressions_in(node):
                self._expression(child, function)

    def _call(self, call: cst.Call, function: str) -> None:
        code, func = self.draft.code(call), call.func
        if not isinstance(func, cst.Attribute):
            raise DeclinedEdit(f"{function} calls `{code[:40]}`")
        name = func.attr.value
        if name == "astype" and not _is_numpy(func.value):
            self._cast(call, func, function)
            return
        if not _is_numpy(func.value) or name not in TWINS | RENAMED.keys():
            raise DeclinedEdit(f"{function} calls `{code[:40]}`, which keras.ops has no twin of")
        for argument in call.args:
            if argument.star or (argument.keyword and argument.keyword.value not in KEYWORDS):
                raise DeclinedEdit(f"{function} calls `{code[:40]}` with arguments of NumPy's own")
        self.splices.append(self.draft.instead(func, f"{self.ops}.{RENAMED.get(name, name)}"))
        for argument in call.args if name not in RENAMED else call.args[:1]:
            self._expression(argument.value, function)

    def _cast(self, call: cst.Call, func: cst.Attribute, function: str) -> None:
        """`y.astype(np.float32)` becomes `keras.ops.cast(y, "float32")`."""
        dtype = _dtype_name(call.args[0].value if len(call.args) == 1 else None)
        if dtype is None:
            raise DeclinedEdit(f"{function} casts to what is not written out")
        begin, end = self.draft.start(func.value), self.draft.end(func.value)
        for _ in func.value.lpar:  # parentheses are not counted as a part of what they hold
            begin = self.draft.text.rindex("(", 0, begin)
            end = self.draft.text.index(")", end) + 1
        self.splices.append(Splice(begin, begin, f"{self.ops}.cast("))
        self.splices.append(Splice(end, self.draft.end(call), f', "{dtype}")'))
        self._expression(func.value, function)


def _returned_dtype(function: cst.FunctionDef) -> str | None:
    """The type that a function casts its result to."""
    cast = m.Call(func=m.Attribute(attr=m.Name("astype")), args=[m.Arg()])
    returned = m.findall(function, m.Return(cast))
    if len(returned) != 1 or len(m.findall(function, m.Return())) != 1:
        return None
    value = cst.ensure_type(cst.ensure_type(returned[0], cst.Return).value, cst.Call)
    return _dtype_name(value.args[0].value)


def _dtype_name(dtype: cst.BaseExpression | None) -> str | None:
    if isinstance(dtype, cst.Attribute) and _is_numpy(dtype.value):
        return dtype.attr.value
    return str(dtype.evaluated_value) if isinstance(dtype, cst.SimpleString) else None


def _is_numpy(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value in ("np", "numpy")


def _expressions_in(node: cst.CSTNode) -> Iterable[cst.BaseExpression]:
    for child in node.children:
        if isinstance(child, cst.BaseExpression):
            yield child
        elif not isinstance(child, cst.BaseBinaryOp | cst.BaseUnaryOp | cst.BaseCompOp):
            yield from _expressions_in(child)
