"""Control flow: cond, switch, while_loop, fori_loop, scan, map.

Bodies are traced once into Functions; what they capture becomes an operand. A weak carry whose
dtype the body promotes is promoted, and the body is traced once more. Weakness alone may change:
results are as weak as those of the body, and of `cond` and `switch` as those of the first branch
(the false one). Any other difference is an error that names the leaf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.core import Function, Value
from xfront_ir.placed_builder import PlacedBuilder

from .. import binding
from ..base.config import config, while_checkpoint_bytes, while_checkpoints
from ..base.errors import ConcretizationTypeError
from ..base.trees import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
    treedef_tuple,
)
from ..binding.annotations import Array, ArrayLike
from ..eager.operands import index_of, promoted_dtype
from ..running.placement import commitment
from ..running.programs import bind
from ..tracing.following import varies
from ..tracing.regions import manual_axes
from ..tracing.trace import emit, pcast, state
from ..tracing.tracer import Tracer
from ..transforms.flat import Flat, as_operand, kind_of, name_of, placed, trace_call
from ..transforms.float0 import HIDES, flat_values, hidden
from .strict import static_int

Kinds = list[tuple[Any, bool]]

R = TypeVar("R")
T = TypeVar("T")
X = TypeVar("X")
Y = TypeVar("Y")
Carry = TypeVar("Carry")

_ABSENT: Any = object()


# --- tracing bodies -------------------------------------------------------------------------

def trace_body(fun: Callable[..., Any], tree: Any, kinds: Kinds, kind: str,
               origins: Sequence[Any] | None) -> Flat:
    """Trace `fun(*tree_of_leaves)` as a body; `origins` are the leaves outside, if any."""
    outer = state.scope
    state.scope = (*outer, kind)
    try:
        return trace_call(lambda ts: fun(*tree_unflatten(tree, ts)), kinds, name=name_of(fun),
                          kind=kind, staging=True, origins=origins)
    finally:
        state.scope = outer


def join_captures(bodies: Sequence[Flat], n_own: Sequence[int]) -> tuple[list[Any], list[Function]]:
    """The captures of all bodies, each once, and the bodies with parameters (own, all captures)."""
    if not any([body.captures for body in bodies]):
        return [], [body.function for body in bodies]
    union: dict[Any, int] = {}
    values: list[Any] = []
    places = []
    for body in bodies:
        before: dict[Any, int] = {}              # a body may have captured equal literals apart
        places.append([])
        for x in body.captures:
            same = x.value if type(x) is Tracer else id(x)
            before[same] = before.get(same, 0) + 1
            key = same, before[same]
            if key not in union:
                union[key] = len(values)
                values.append(x)
            places[-1].append(union[key])
    made = []
    for body, n, own in zip(bodies, n_own, places, strict=True):
        params = body.function.params
        held = dict(zip(own, params[n:], strict=True))
        given = [held[i] if i in held else Value(kind_of("capture", x)[0])
                 for i, x in enumerate(values)]
        fn = body.function
        made.append(Function(fn.name, (*params[:n], *given), fn.ops, fn.returns,
                             weak_returns=fn.weak_returns))
    return values, made


def _flat(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure of a tree, with nodes for values of a library's own types. These always
    have carriers, so that branches, and turns of a loop, have the same structure."""
    return flat_values(tree, carriers=True)


def captures_in_front(body: Flat) -> Function:
    """The body with its captures as first parameters, as scan and while take them."""
    fn, k = body.function, len(body.captures)
    n = len(fn.params) - k
    return Function(fn.name, (*fn.params[n:], *fn.params[:n]), fn.ops, fn.returns,
                    weak_returns=fn.weak_returns)


def record(definition: Any, operands: Sequence[Any], weaks: Sequence[bool], **attrs: Any) -> list:
    """Record the op on tracers; on arrays, run the program that consists of it alone."""
    if state.current is None and not any(type(x) is Tracer for x in operands):
        types = [kind_of(definition.name, x)[0] for x in operands]
        b = PlacedBuilder(definition.name)
        made = b.emit(definition, *[b.param(t) for t in types], **attrs)
        return bind(b.close(made, tuple(weaks)), operands, name=definition.name)
    results = emit(definition, *operands, **attrs)
    for t, w in zip(results, weaks, strict=True):
        t.weak = w
    return results


def record_groups(definition: Any, groups: Sequence[Sequence[Any]], weaks: Sequence[bool],
                  **attrs: Any) -> list:
    """As `record`, for an op whose operands stand in groups."""
    operands = [v for group in groups for v in group]
    return record(definition, operands, weaks, **definition.regions.sizes(groups), **attrs)


def to_type(x: Any, dtype: Any) -> Any:
    """`x` in another dtype, as an operand."""
    if kind_of("convert", x)[0].dtype is dtype:
        return x
    if type(x) is Tracer or state.current is not None:
        return emit(ops.convert, x, dtype=dtype)
    return binding.put(np.asarray(x).astype(dtype.numpy), commitment(x))


# --- cond -------------------------------------------------------------------------------------

def cond(pred: ArrayLike, true_fun: Callable[..., R], false_fun: Callable[..., R], *operands: Any,
         operand: Any = _ABSENT) -> R:
    """`true_fun(*operands)` where `pred` is true, else `false_fun(*operands)`; one of them runs.

    Args:
      pred: scalar of any dtype; a number is true where it is not zero.
      true_fun, false_fun: functions of the operands that return trees of the same structure and
        types.
    Raises: TypeError where the results of the branches differ, naming the leaf, and where pred is
      not a scalar.

    >>> lax.cond(jnp.array(2.) > 1, jnp.sqrt, jnp.square, jnp.array(4.))
    Array(2., dtype=float32, weak_type=True)
    """
    if not (callable(true_fun) and callable(false_fun)):
        if callable(false_fun) and len(operands) == 2 and callable(operands[1]):
            # the older form: cond(pred, true_operand, true_fun, false_operand, false_fun)
            true_operand, inner_true, (false_operand, inner_false) = true_fun, false_fun, operands
            return cond(pred, lambda: inner_true(true_operand), lambda: inner_false(false_operand))
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable, got "
                        f"{true_fun!r} and {false_fun!r}.")
    if operand is not _ABSENT:
        operands = (operand,)
    index = _predicate(pred)
    if config.jax_disable_jit and type(index) is not Tracer:
        return (true_fun if bool(index) else false_fun)(*operands)
    return _branches("cond", index, [true_fun, false_fun], operands)


def _predicate(pred: Any) -> Any:
    if pred is None or isinstance(pred, (list, tuple, dict, str)):
        raise TypeError(f"Pred must be a scalar, got {pred!r} of type {type(pred)}.")
    t, _ = kind_of("cond", pred)
    if t.shape != ():
        raise TypeError(f"Pred must be a scalar, got an array of type {t}; use jnp.where to choose "
                        "by element, or vmap.")
    if t.dtype.is_key or t.dtype.is_complex:
        raise TypeError(f"Pred type must be either boolean or number, got {t}.")
    if t.dtype is dtypes.bool_:
        return pred if type(pred) is Tracer else pred
    if type(pred) is Tracer:
        return emit(ops.convert, pred, dtype=dtypes.bool_)
    number = np.asarray(pred)
    if t.dtype in (dtypes.f32, dtypes.f64) and abs(number) < np.finfo(number.dtype).tiny:
        return False                             # programs take subnormal numbers for zeros
    return bool(number != 0)


def switch(index: int | Array, branches: Sequence[Callable[..., R]], *operands: Any,
           operand: Any = _ABSENT) -> R:
    """`branches[index](*operands)`, with `index` clamped to the branches; one of them runs.

    Args:
      index: an integer scalar.
      branches: functions of the operands that return trees of the same structure and types.
    Raises: TypeError where their results differ or index is not an integer scalar; ValueError
      without branches.

    >>> lax.switch(1, [jnp.sqrt, jnp.square], jnp.array(3.))
    Array(9., dtype=float32, weak_type=True)
    """
    if not isinstance(branches, Iterable) or not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables, got "
                        f"{branches!r}.")
    if not branches:
        raise ValueError("Empty branch sequence: lax.switch needs at least one branch")
    if operand is not _ABSENT:
        operands = (operand,)
    t, _ = kind_of("switch", index)
    if t.shape != () or not t.dtype.is_integer:
        raise TypeError(f"Index type must be an integer scalar, got {t}.")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.jax_disable_jit and type(index) is not Tracer:
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    if t.dtype is not dtypes.i32:
        index = _clamped(index, t, len(branches))
    return _branches("switch", index, branches, operands)


def _clamped(index: Any, t: Any, n: int) -> Any:
    """An index of another integer dtype as i32, clamped first so that none wraps."""
    if type(index) is not Tracer:
        return np.int32(min(max(int(index), 0), n - 1))
    literal = index.home.literal
    top = min(n - 1, int(np.iinfo(t.dtype.numpy).max))
    held = emit(ops.clamp, literal(np.zeros((), t.dtype.numpy), ()), index,
                literal(np.asarray(top, t.dtype.numpy), ()))
    return emit(ops.convert, held, dtype=dtypes.i32)


def _branches(what: str, index: Any, funs: Sequence[Callable[..., Any]], operands: tuple) -> Any:
    leaves, tree = (_flat if HIDES else tree_flatten)(list(operands))
    kinds = [kind_of(what, x) for x in leaves]
    bodies = [trace_body(f, tree, kinds, what, leaves) for f in funs]
    if what == "cond":
        bodies.reverse()                         # index 0 is the false branch
        funs = [*reversed(funs)]
    first = bodies[0]
    for k, body in enumerate(bodies[1:], 1):
        if body.out_tree != first.out_tree:
            from .refusals import refuse_branch_structure  # only to say what is wrong

            refuse_branch_structure(what, funs, [b.out_tree for b in bodies], k)
    weaks = []
    for i in range(len(first.function.returns)):
        weaks.append(_agreed(what, funs, bodies, i))
    captures, functions = join_captures(bodies, [len(kinds)] * len(bodies))
    results = record(ops.cond, [index, *[as_operand(x) for x in leaves], *captures], weaks,
                     branches=tuple(functions))
    return tree_unflatten(first.out_tree, results)


def _agreed(what: str, funs: Sequence[Any], bodies: Sequence[Any], i: int) -> bool:
    """Whether result i, of one type in all branches, is weak in the first. Raises: TypeError."""
    first = bodies[0].function
    if all([b.function.returns[i].type is first.returns[i].type for b in bodies]):
        return first.weak_returns[i]
    from .refusals import refuse_branch_types  # only to say what is wrong

    types = [b.function.return_types for b in bodies]
    refuse_branch_types(what, funs, bodies[0].out_tree, [*zip(*types, strict=True)])


# --- while ------------------------------------------------------------------------------------

def while_loop(cond_fun: Callable[[T], ArrayLike], body_fun: Callable[[T], T], init_val: T, *,
               checkpoints: int | None = None) -> T:
    """`body_fun` applied to `init_val` repeatedly while `cond_fun` is true.

    Args:
      cond_fun: a function from the carry to a bool scalar.
      body_fun: a function from the carry to a carry of the same structure, shapes and dtypes.
      init_val: the first carry, a tree of arrays.
      checkpoints: the number of iterations whose carry reverse mode keeps (the others are computed
        again); None for the options `while_checkpoints` (64) and `while_checkpoint_bytes` (64 MiB).
    Raises: TypeError where the carry changes type, naming the leaf; ValueError where `checkpoints`
      is not positive.
    Source: Griewank and Walther, "Revolve", ACM TOMS 26 (2000), for reverse mode.

    >>> lax.while_loop(lambda x: x < 10, lambda x: x * 2, jnp.array(3))
    Array(12, dtype=int32, weak_type=True)
    """
    if not callable(cond_fun) or not callable(body_fun):
        raise TypeError("lax.while_loop: cond_fun and body_fun arguments should be callable, got "
                        f"{cond_fun!r} and {body_fun!r}.")
    leaves, tree = (_flat if HIDES else tree_flatten)([init_val])
    budget = _budget(checkpoints)
    if config.jax_disable_jit and not any(type(x) is Tracer for x in leaves):
        from ..base.trees import tree_map  # only where jit is disabled

        value = tree_map(_as_array, init_val)
        while bool(cond_fun(value)):
            value = tree_map(_as_array, body_fun(value))
        return value
    leaves, kinds, body = _carry_body("while_loop", body_fun, tree, leaves,
                                      lambda out_tree: out_tree, tree.children()[0])
    test = trace_body(cond_fun, tree, kinds, "while_cond", leaves)
    returned = test.function.return_types
    if len(returned) != 1 or returned[0].shape != () or returned[0].dtype is not dtypes.bool_ or (
            test.out_tree.num_nodes != 1):
        listed = ", ".join([str(t) for t in returned]) or "nothing"
        raise TypeError(f"cond_fun must return a boolean scalar, but {placed(cond_fun)} returned "
                        f"{listed}; write `x < 3`, for instance.")
    groups = test.captures, body.captures, [as_operand(x) for x in leaves]
    results = record_groups(ops.while_, groups, body.function.weak_returns[:len(kinds)],
                            cond=captures_in_front(test), body=captures_in_front(body), **budget)
    check_varying("while_loop", body_fun, [test, body], tree.children()[0], leaves, results)
    return tree_unflatten(tree.children()[0], results)


def _as_array(x: Any) -> Any:
    """A number as an array, and anything else as it is."""
    return binding.put(x, weak=type(x) in (int, float, complex)) if isinstance(
        x, (bool, int, float, complex, np.generic, np.ndarray)) else x


def _budget(checkpoints: int | None) -> dict[str, Any]:
    """The budget of checkpoints of a loop as an attribute, if it is not the usual one."""
    count = while_checkpoints.value
    if checkpoints is not None and (count := index_of(checkpoints)) < 1:
        raise ValueError(f"while_loop: checkpoints must be positive, got {checkpoints}")
    chosen = (count, while_checkpoint_bytes.value)
    usual = while_checkpoints.default, while_checkpoint_bytes.default
    return {} if chosen == usual else {"budget": chosen}


def _carry_body(what: str, fun: Callable[..., Any], tree: Any, leaves: list,
                carry_of: Callable[[Any], Any], carry_tree: Any, extra: Kinds | None = None,
                more: Sequence[Any] = ()) -> tuple[list, Kinds, Flat]:
    """Trace a loop body, again if needed, until its carry keeps its types. Weak leaves whose dtype
    the body promotes are promoted once. Leaves that vary over axes of a `shard_map` after a turn
    vary from the start, if the body asks for the axes of its carry.

    Args:
      extra: types and weakness of the parameters behind the carry; `more`: their outer values.
    Raises: TypeError where the structure or a type changes.
    """
    n = carry_tree.num_leaves
    extra = extra or []
    for _ in range(3 + len(manual_axes())):
        kinds = [kind_of(what, x) for x in leaves]
        body = trace_body(fun, tree, [*kinds, *extra], what, [*leaves, *more])
        out = carry_of(body.out_tree)
        if out != carry_tree:
            from .refusals import refuse_carry_structure  # only to say what is wrong

            refuse_carry_structure(what, fun, carry_tree, out)
        returned = list(zip(body.function.return_types[:n], body.function.weak_returns[:n],
                            strict=True))
        changed = False
        wrong: list[tuple[int, Any, Any]] = []
        for i, ((t, w), (rt, rw)) in enumerate(zip(kinds, returned, strict=True)):
            if t is rt:
                continue
            dtype, _ = promoted_dtype("carry", [(t.dtype, w), (rt.dtype, rw)])
            if t.shape != rt.shape or (dtype is not t.dtype and not w) or (
                    dtype is t.dtype and t is not rt):
                wrong.append((i, t, rt))
            elif w:
                leaves = [*leaves]
                leaves[i] = _strong(to_type(leaves[i], dtype), dtype)
                changed = True
        if wrong:
            from .refusals import refuse_carry_types  # only to say what is wrong

            refuse_carry_types(what, fun, carry_tree, wrong)
        following = body.trace.following
        if following is not None and following.asked:
            grown = [s - varies(x) for x, s in
                     zip(leaves, following.cast(body.function)[2], strict=False)]
            changed = changed or any(grown)
            leaves = [pcast(x, s) if s else x for x, s in zip(leaves, grown, strict=True)]
        if not changed:
            return leaves, kinds, body
    raise TypeError(f"{what}: the types of the carry change each time the body is traced; convert "
                    "the values that the body returns to fixed dtypes")


def check_varying(what: str, fun: Callable[..., Any], bodies: Sequence[Flat], tree: Any,
                  inits: Sequence[Any], results: Sequence[Any]) -> None:
    """Refuse a carry that varies over axes of a `shard_map` only because the number of turns does,
    if a body has asked for its axes, and got those of the initial value. Raises: TypeError."""
    if not any([body.trace.following is not None and body.trace.following.asked
                for body in bodies]):
        return
    for i, (x, made) in enumerate(zip(inits, results, strict=False)):
        if varies(made) != varies(x):
            from .refusals import refuse_carry_axes  # only to say what is wrong

            refuse_carry_axes(what, fun, tree, i, varies(made) - varies(x))


def _strong(x: Any, dtype: Any) -> Any:
    """`x` without weakness."""
    if type(x) is Tracer:
        return Tracer(x.home, x.value, False)
    if isinstance(x, binding.ArrayImpl):
        return binding.rewrap(x, weak=False)
    return np.asarray(x, dtype.numpy)


def _unrolled(name: str, unroll: Any, n: int) -> int:
    """How many of `n` steps one iteration has. Raises: TypeError where `unroll` is neither bool
    nor integer, ValueError where it is negative."""
    if isinstance(unroll, bool):
        return max(n, 1) if unroll else 1
    steps = static_int(f"{name}: unroll", unroll)
    if steps < 0:
        raise ValueError(f"{name}: unroll must not be negative, got {unroll}")
    return max(steps, 1)


def fori_loop(lower: int | Array, upper: int | Array, body_fun: Callable[[Array, T], T],
              init_val: T, *, unroll: int | bool | None = None, checkpoints: int | None = None
              ) -> T:
    """`init_val` passed through `body_fun(i, value)` for i from `lower` to `upper` (exclusive).

    With bounds known while tracing it is a scan; otherwise it is a while loop, with `checkpoints`
    as in `while_loop`. Bounds may be two floats; i is then a float, too.

    >>> lax.fori_loop(0, 3, lambda i, x: x + i, jnp.array(10))
    Array(13, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: body_fun argument should be callable, got {body_fun!r}.")
    (low, low_weak), (high, high_weak) = _bound("lower", lower), _bound("upper", upper)
    mixed = low.is_float is not high.is_float
    if low is not high and (mixed or (not low_weak and not high_weak)):
        raise TypeError(f"lower and upper arguments to fori_loop must have equal types, got "
                        f"{low.name} and {high.name}")
    dtype, _ = promoted_dtype("fori_loop", [(low, low_weak), (high, high_weak)])
    _budget(checkpoints)
    if type(lower) is not Tracer and type(upper) is not Tracer:
        first, length = _steps(lower, upper, low.is_float)

        def step(carry: Any, _: Any) -> Any:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        vars(step)["body_of_loop"] = body_fun    # errors name it
        (_, value), _ = scan(step, (first, init_val), None, length,
                             unroll=_unrolled("fori_loop", unroll or False, length))
        return value
    if unroll not in (None, False, 1):
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically "
                         "known.")

    def body(carry: Any) -> Any:
        i, end, value = carry
        return i + 1, end, body_fun(i, value)

    vars(body)["body_of_loop"] = body_fun        # as above
    bounds = [to_type(x, dtype) for x in (lower, upper)]
    return while_loop(_is_before_end, body, (*bounds, init_val), checkpoints=checkpoints)[2]


def _is_before_end(carry: Any) -> Any:
    return carry[0] < carry[1]


def _steps(lower: Any, upper: Any, floats: bool) -> tuple[int | float, int]:
    """The first index as a Python number, so that it is weak, and the number of iterations."""
    if not floats:
        first = index_of(lower)
        return first, max(index_of(upper) - first, 0)
    first, end = float(lower), float(upper)
    if not math.isfinite(end - first):
        raise ValueError(f"fori_loop: the bounds must be finite, got {first} and {end}; write "
                         "lax.while_loop")
    return first, max(math.ceil(end - first), 0)


def _bound(name: str, x: Any) -> tuple[Any, bool]:
    t, w = kind_of("fori_loop", x)
    if t.shape != () or not (t.dtype.is_integer or t.dtype.is_float):
        raise TypeError(f"fori_loop: {name} must be an integer or float scalar, got {t}")
    if type(x) is int and not (info := np.iinfo(t.dtype.numpy)).min <= x <= info.max:
        raise OverflowError(f"fori_loop: {name}={x} does not fit into {t.dtype.name}")
    return t.dtype, w


# --- scan ---------------------------------------------------------------------------------------

def scan(f: Callable[[Carry, X], tuple[Carry, Y]], init: Carry, xs: X | None = None,
         length: int | None = None, reverse: bool = False, unroll: int | bool = 1,
         _split_transpose: bool = False) -> tuple[Carry, Y]:
    """The final carry and stacked results of a loop over the leading axis of `xs`.

    Args:
      f: `(carry, x) -> (carry, y)`; the carry keeps its structure, shapes and dtypes.
      init: the first carry.
      xs: a tree of arrays with the same leading size, or None.
      length: the number of steps, needed where xs is None or has no leaves.
      reverse: whether to go from the last x to the first (ys keep the order of xs).
      unroll: the number of steps in one iteration of the compiled loop; True means all, 0 one.
      _split_transpose: allows reverse mode to split its loop, which is never done.
    Returns: (last carry, stacked ys).
    Raises: TypeError where the carry changes type, naming the leaf; ValueError where sizes differ.

    >>> lax.scan(lambda total, x: (total + x, total), jnp.array(0), jnp.array([1, 2, 3]))
    (Array(6, dtype=int32), Array([0, 1, 3], dtype=int32, weak_type=True))
    """
    if not callable(f):
        raise TypeError(f"lax.scan: f argument should be a callable, got {f!r}.")
    xs_leaves, xs_tree = (_flat if HIDES else tree_flatten)(xs)
    n = _scan_length(xs, xs_leaves, length)
    init_leaves, init_tree = (_flat if HIDES else tree_flatten)(init)
    slices = []
    for x in xs_leaves:
        t, w = kind_of("scan", x)
        if t.sharding is not None and t.dims[0]:
            raise ValueError(f"scan: 0th dimension of all xs should be replicated. Got {t}, which "
                             "would go over the devices one by one: reshard it, "
                             "`xfront.sharding.reshard(xs, P(None, ...))`, or use vmap")
        slices.append((t.without(0), w))
    # without a step the types of ys are known from a trace alone
    if config.jax_disable_jit and n and not any(
            type(x) is Tracer for x in [*init_leaves, *xs_leaves]):
        return _scan_in_python(f, init, xs, n, reverse)
    _, tree = (_flat if HIDES else tree_flatten)([init, xs])
    if HIDES:
        from ..transforms.high import has_high, one_of  # loaded already

        if has_high(xs):
            tree = treedef_tuple((init_tree, one_of(xs_tree, n)))

    def carry_of(out_tree: Any) -> Any:
        children = out_tree.children()
        if len(children) != 2 or out_tree.node_data()[0] not in (tuple, list):
            raise TypeError(f"scan body output must be a pair, got {out_tree} from {placed(f)}.")
        return children[0]

    init_leaves, kinds, body = _carry_body("scan", f, tree, init_leaves,
                                           carry_of, init_tree, slices, xs_leaves)
    n_carry, n_out = len(kinds), len(body.function.returns)
    steps = _unrolled("scan", unroll, n)
    weaks = body.function.weak_returns[:n_out]
    leaves = [as_operand(x) for x in [*init_leaves, *xs_leaves]]
    groups = (body.captures, leaves[:n_carry], leaves[n_carry:])
    results = record_groups(ops.scan, groups, weaks, body=captures_in_front(body), length=n,
                            reverse=bool(reverse), unroll=steps)
    _, ys_tree = body.out_tree.children()
    if body.hides and HIDES:
        from ..transforms.high import batch_of  # as above

        ys_tree = batch_of(ys_tree, n)
    return (tree_unflatten(init_tree, results[:n_carry]),
            tree_unflatten(ys_tree, results[n_carry:]))


def _scan_length(xs: Any, leaves: list, length: Any) -> int:
    """The number of steps. Raises: ValueError where sizes differ or none is given."""
    sizes = []
    for (path, x) in tree_flatten_with_path(hidden(xs) if HIDES else xs)[0]:
        t, _ = kind_of("scan", x)
        if not t.shape:
            raise ValueError(f"scan got value with no leading axis to scan over: xs{keystr(path)} "
                             f"has type {t}")
        sizes.append(t.shape[0])
    if length is not None:
        try:
            if isinstance(length, (float, np.floating, np.bool_)) and length == int(length):
                length = int(length)
            n = index_of(length, "length")
        except TypeError:
            if type(length) is not Tracer:
                raise
            raise ConcretizationTypeError(length, "The `length` argument to `scan` must be a "
                                          "concrete int; write lax.fori_loop or lax.while_loop for "
                                          "a traced number of iterations.") from None
        if any(s != n for s in sizes):
            raise ValueError(f"scan got `length` argument of {n} which disagrees with leading axis "
                             f"sizes {sizes}.")
        return n
    if not leaves:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    if len(set(sizes)) > 1:
        from .refusals import refuse_sizes  # only to say what is wrong

        refuse_sizes(xs, sizes)
    return sizes[0]


def _scan_in_python(f: Callable[..., Any], init: Any, xs: Any, n: int, reverse: bool) -> Any:
    from ..base.trees import tree_map
    from .shape import stack  # only where jit is disabled

    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, tree_map(lambda x: x[i], xs))  # noqa: B023  f runs before i moves on
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, tree_map(lambda *y: stack(y), *ys)


def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """`f` applied to each element along the leading axis of `xs` in turn, with the results stacked.

    With `batch_size`, that many elements at a time go through `vmap(f)`.
    Raises: ValueError for a batch size below 1.

    >>> lax.map(lambda x: x ** 2, jnp.array([1, 2, 3]))
    Array([1, 4, 9], dtype=int32)
    """
    if batch_size is None:
        def step(_: Any, x: Any) -> Any:
            return (), f(x)

        return scan(step, (), xs)[1]
    from ..base.trees import tree_map
    from ..transforms.vmap import vmap  # only for batches
    from .shape import concatenate, reshape

    if index_of(batch_size, "map: batch_size") < 1:
        raise ValueError(f"map: batch_size must be a positive integer or None, got {batch_size}")
    n = kind_of("map", tree_leaves(xs)[0])[0].shape[0]
    whole = n // batch_size * batch_size
    batched = vmap(f)
    parts = []
    if whole:
        n_blocks = whole // batch_size
        blocks = tree_map(
            lambda x: reshape(x[:whole], (n_blocks, batch_size, *x.shape[1:])), xs)
        done = scan(lambda _, x: ((), batched(x)), (), blocks)[1]
        parts.append(tree_map(lambda y: reshape(y, (whole, *y.shape[2:])), done))
    if whole < n or not parts:
        parts.append(batched(tree_map(lambda x: x[whole:], xs)))
    return parts[0] if len(parts) == 1 else tree_map(lambda *y: concatenate(y, 0), *parts)


__all__ = [
    "cond", "fori_loop", "map", "scan", "switch", "while_loop",
]  # fmt: skip
