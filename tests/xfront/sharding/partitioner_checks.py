"""Checks of programs over divided arrays that XLA's partitioner gets wrong as they stand, run with
eight CPU devices: they give what one device does.

`python -m tests.xfront.sharding.partitioner_checks` runs them all and prints a row of JSON for
each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import lax
from xfront.sharding import Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

DEVICES = 8
SQUARE = (2, 2)


def over(shape: tuple[int, ...], spec: P) -> NamedSharding:
    devices = np.array(xfront.devices()[:int(np.prod(shape))]).reshape(shape)
    return NamedSharding(Mesh(devices, ("x", "y")[:len(shape)]), spec)


def expect_alone(f: Callable[..., Any], x: np.ndarray, sharding: NamedSharding) -> None:
    """`f` of x as `sharding` divides it is `f` of x on one device."""
    made = xfront.jit(f)(xfront.device_put(x, sharding))
    for part, wanted in zip(xfront.tree.leaves(made), xfront.tree.leaves(xfront.jit(f)(x)),
                            strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-5, atol=1e-4)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32)


def check_convolutions_over_one_of_two_axes() -> None:
    """With a kernel of the program's own, and gradients by kernels, whose operands are both
    divided."""
    kernel = numbers(2, 2, 3, 3)

    def conv(x: Any, w: Any, by: int) -> Any:
        return lax.conv_general_dilated(x, w, (by, by), ((1, 1), (1, 1)))

    def squares(x: Any, w: Any, by: int) -> Any:
        return (conv(x, w, by) ** 2).sum()

    def all_of(x: Any) -> Any:
        return [(conv(x, kernel, by), xfront.grad(squares, (0, 1))(x, jnp.asarray(kernel), by))
                for by in (1, 2)]

    x = numbers(2, 2, 4, 4)
    for spec in (P(None, None, "x", None), P(None, None, None, "y"), P("y", None, "x", None)):
        expect_alone(all_of, x, over(SQUARE, spec))


def check_convolutions_of_divided_images_by_divided_features() -> None:
    x, kernel = numbers(4, 4, 8, 3), numbers(4, 4, 3, 1)
    for image, of_kernel, of_result in (
            (P(None, None, "x"), P("x"), P()), (P(None, None, "x"), P("y"), P()),
            (P(None, None, "x"), P(None, "y"), P()),
            (P(None, "y", "x"), P("x"), P(None, "y", "x"))):
        divided = over((2, 4), image)

        def conv(x: Any, k: Any, mesh: Any = divided.mesh, spec: P = of_result) -> Any:
            made = lax.conv_general_dilated(x, k, (1, 1), ((1, 1), (0, 0)))
            return lax.with_sharding_constraint(made, NamedSharding(mesh, spec))

        made = xfront.jit(conv)(xfront.device_put(x, divided), xfront.device_put(
            kernel, NamedSharding(divided.mesh, of_kernel)))
        alone = xfront.jit(lambda x, k: lax.conv_general_dilated(x, k, (1, 1), ((1, 1), (0, 0))))
        np.testing.assert_array_equal(made, alone(x, kernel))


def check_convolutions_in_groups_and_by_steps() -> None:
    """With features, batches and axes of windows divided, in the operands and in results."""
    def conv(x: Any, w: Any, by: int, padding: tuple[int, int], apart: int = 1, within: int = 1,
             features: int = 1, batches: int = 1) -> Any:
        return lax.conv_general_dilated(
            x, w, (by,), (padding,), (apart,), (within,), ("NCW", "OIW", "NCW"),
            feature_group_count=features, batch_group_count=batches)

    def all_of(x: Any) -> Any:
        kernel = x.reshape(24, 2, 2)
        mine = NamedSharding(over((4,), P()).mesh, P(None, None, "x"))
        return (conv(x, kernel, 1, (1, 0), features=3),
                conv(x, kernel[:, :, :1], 2, (0, -1), 2, features=3),
                conv(x[:, :2], kernel, 1, (1, 1), batches=2),
                lax.with_sharding_constraint(conv(x[:, :2], kernel, 1, (-1, 2), 2, 2), mine))

    for spec in (P("x"), P(None, None, "x")):
        expect_alone(all_of, numbers(4, 6, 4), over((4,), spec))


def check_padding_between_elements() -> None:
    def some(x: Any) -> Any:
        zero, mine = jnp.zeros((), x.dtype), NamedSharding(over((2,), P()).mesh, P("x"))
        return [lax.with_sharding_constraint(made, mine) for made in [
            lax.pad(x, zero, [(low, high, 1)]) for low, high in ((0, 1), (1, 2), (-1, 2))]]

    for spec in (P(), P("x")):
        expect_alone(some, numbers(8), over((2,), spec))


def check_slices_by_steps_beyond_their_limit() -> None:
    def some(x: Any) -> Any:
        return (lax.slice(x, (0, 1), (4, 2), (1, 3)), lax.slice(x, (1, 0), (4, 4), (2, 3)),
                lax.slice(x, (3, 0), (4, 4), (2, 1)))

    for spec in (P("x"), P(None, "x"), P("x", "y")):
        expect_alone(some, numbers(4, 4), over(SQUARE, spec))


def check_an_array_and_its_first_elements_made_whole() -> None:
    """Where devices hold the same parts of both."""
    for shape, spec in (((2,), P("x")), (SQUARE, P("y"))):
        sharding = over(shape, spec)
        whole = NamedSharding(sharding.mesh, P())
        for n in (2, 8):
            for first in (lambda x, n=n: x[:n - 1],
                          lambda x, n=n: lax.dynamic_slice(x, (0,), (n - 1,)),
                          lambda x: lax.pad(x, 0.0, ((1, -1, 1),))):
                def both(x: Any, first: Any = first, whole: Any = whole) -> Any:
                    return [lax.with_sharding_constraint(v, whole) for v in (first(x), x)]

                for got, wanted in zip(xfront.jit(both)(xfront.device_put(numbers(n), sharding)),
                                       (first(numbers(n)), numbers(n)), strict=True):
                    np.testing.assert_array_equal(got, wanted)


def check_gradients_of_sorts_along_an_axis_that_does_not_divide() -> None:
    """They add up cotangents at places, some of which lie on the device that has fewest."""
    def slope(x: Any) -> Any:
        return xfront.grad(lambda x: jnp.sin(jnp.sort(x[1:], axis=0)).sum())(x)

    def placed(x: Any) -> Any:
        order = jnp.argsort(x[:, 0])[:7]
        return jnp.zeros((8, 3)).at[order].add(jnp.sin(x[1:])), jnp.zeros(8).at[order].set(x[1:, 0])

    for spec in (P("x", None), P("y", None), P(("x", "y"), None)):
        for f in (slope, placed):
            expect_alone(f, numbers(8, 3), over((4, 2), spec))


def check_starts_beyond_the_end_of_a_divided_axis() -> None:
    def sliced(x: Any) -> Any:
        far = x.shape[0] * 3 + jnp.int32(x[0] * 0)
        inner = lax.dynamic_slice(x, (far - 2 * far,), (4,))
        return (lax.dynamic_slice(inner, (far,), (2,)), lax.dynamic_slice(x, (far,), (3,)),
                lax.dynamic_update_slice(x, inner[:2], (far,)),
                lax.dynamic_slice(jnp.roll(x, 1), (far,), (2,)))

    expect_alone(sliced, numbers(8), over((2,), P("x")))


def check_concatenations_of_cropped_arrays_of_one_element_a_device() -> None:
    def joined(x: Any) -> Any:
        zero = jnp.zeros((), x.dtype)
        one, two = lax.pad(x, zero, [(-1, 1, 0)]), lax.pad(x, zero, [(2, -1, 0)])
        return jnp.concatenate([one, two]), jnp.concatenate([two, one, x])

    expect_alone(joined, numbers(4), over((4,), P("x")))


def check_reductions_that_devices_do_not_exchange() -> None:
    def greater(x: Any, y: Any) -> Any:
        keeps = (x[0] > y[0]) | ((x[0] == y[0]) & (x[1] < y[1]))
        return tuple(jnp.where(keeps, a, b) for a, b in zip(x, y, strict=True))

    def reductions(x: Any) -> Any:
        n, flags = x.astype(jnp.int32), x > 0
        places = lax.broadcasted_iota(jnp.int32, n.shape, 0)
        return (lax.reduce_xor(n, (0,)), lax.reduce_and(n, (0, 1)), lax.reduce_or(n, (0,)),
                lax.reduce_xor(flags, (0,)), lax.reduce_and(flags, (0,)),
                lax.reduce((n, places), (np.int32(-9), np.int32(0)), greater, (0,)))

    for spec in (P("x"), P("x", "y"), P(("x", "y"))):
        expect_alone(reductions, numbers(8, 6), over(SQUARE, spec))


def check_scatters_by_divided_index_vectors() -> None:
    numbering = lax.ScatterDimensionNumbers((0, 1), (2,), (1, 0))
    devices = np.array(xfront.devices()).reshape(2, 2, 2)
    mesh = Mesh(devices, ("x", "y", "z"))

    def smaller(x: Any, index: Any, update: Any) -> Any:
        return lax.scatter_min(x, index, update, numbering, mode="drop")

    given = (numbers(2, 2, 17), np.array([1, 0], np.int32), np.full((1, 1), -9, np.float32))
    specs = (P("y", "x", None), P("x"), P(None, None))
    placed = [xfront.device_put(x, NamedSharding(mesh, spec))
              for x, spec in zip(given, specs, strict=True)]
    np.testing.assert_array_equal(xfront.jit(smaller)(*placed), xfront.jit(smaller)(*given))


def check_gathers_by_divided_index_vectors() -> None:
    numbering = lax.GatherDimensionNumbers((0, 1), (2,), (2, 0))
    mesh = Mesh(np.array(xfront.devices()).reshape(2, 2, 2), ("x", "y", "z"))

    def taken(x: Any, index: Any) -> Any:
        return lax.gather(x, index, numbering, (1, 3, 1), mode="clip")

    given = numbers(4, 3, 2), np.array([[1, 0], [1, 3]], np.int32)
    placed = [xfront.device_put(x, NamedSharding(mesh, spec))
              for x, spec in zip(given, (P("x", None, "z"), P(None, "x")), strict=True)]
    np.testing.assert_array_equal(xfront.jit(taken)(*placed), xfront.jit(taken)(*given))


def check_one_index_into_what_devices_took_from_others() -> None:
    """Whose place lies outside the part of most devices."""
    def some(x: Any) -> Any:
        joined = jnp.concatenate([x + 1, x, x])
        return [(joined.at[np.array([n])].min(-100, mode="fill"),
                 joined.at[np.array([n])].add(1, mode="clip"),
                 jnp.take(joined, np.array([n]), mode="clip"),
                 lax.dynamic_update_slice(joined, x[:1], (x[0].astype(int) * 0 + n,)))
                for n in (5, 90)]

    for size in (2, 8):
        expect_alone(some, np.arange(8, dtype=np.float32), over((size,), P("x")))


def check_windows_of_any_kind_along_divided_axes() -> None:
    def windows(x: Any) -> Any:
        return (lax.reduce_window(x, jnp.inf, lax.min, (5, 1), (5, 1), ((1, 0), (0, 0))),
                lax.reduce_window(x, 0., lax.add, (2, 2), (1, 2), ((0, 2), (1, 0)), (2, 1), (1, 2)),
                lax.reduce_window(x, 0., lax.add, (3, 1), (2, 1), ((3, -1), (0, 0)), (1, 1),
                                  (2, 1)),
                lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"))

    for spec in (P("x"), P(None, "x"), P("x", "y"), P(("x", "y"))):
        expect_alone(windows, numbers(4, 4), over(SQUARE, spec))


def check_extrema_keep_nan_between_devices() -> None:
    """In few elements, which devices reduce for themselves first, and in many; by collectives too.
    """
    for shape in ((8, 10), (128, 100)):
        x = numbers(*shape)
        x[5, 7] = np.nan
        for dtype in ("float32", "bfloat16"):
            def all_of(x: Any, dtype: str = dtype) -> Any:
                return [f(x.astype(dtype), axis=axis).astype("float32")
                        for f in (jnp.max, jnp.min, jnp.ptp) for axis in (None, 0, 1)]

            for spec in (P("x"), P(None, "y"), P("x", "y")):
                expect_alone(all_of, x, over(SQUARE, spec))
    x = np.array([1, np.nan, 3, 4], np.float32)
    for how in ("min", "max"):
        def scattered(x: Any, how: str = how) -> Any:
            return getattr(jnp.zeros(3).at[jnp.arange(4) % 3], how)(x)

        expect_alone(scattered, x, over((2,), P("x")))
    mesh = over((2,), P("x")).mesh
    for f, g in ((lax.pmax, jnp.max), (lax.pmin, jnp.min)):
        def parts(x: Any, f: Any = f, g: Any = g) -> Any:
            return f(x, "x"), f(g(x), "x")

        x = numbers(8, 4)
        x[1, 2] = np.nan
        whole, one = xfront.shard_map(parts, mesh=mesh, in_specs=P("x"), out_specs=P())(x)
        assert np.argwhere(np.isnan(whole)).tolist() == [[1, 2]] and np.isnan(one)


CHECKS = checks_in(globals())


if __name__ == "__main__":
    report(CHECKS, DEVICES)
