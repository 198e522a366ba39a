"""Estimates of XLA's TPU compiler for programs, lowered by us and by another library.

The programs are those below, and calls of public functions at three sizes (`public_calls.py`).

    python benchmarks/estimates.py --against /path/to/python:jax --markdown docs/accelerators.md

Each side lowers every program for a TPU, in its own process; one libtpu then compiles both for a
v5e, which need not be present. The table has the ratios, ours over theirs, of XLA's estimates of
time, flops and bytes accessed, and of the peak of temporary memory. The interpreter that runs this
needs libtpu.
"""

from __future__ import annotations

import argparse
import importlib
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.models import mlp, norm_written_out, transformer_step, uniform  # noqa: E402
from benchmarks.public_calls import calls  # noqa: E402

TOPOLOGY = "v5e:2x2"
MEASURES = ("optimal_seconds", "flops", "bytes accessed", "temporary bytes")
BEGIN, END = "<!-- estimates: begin -->\n", "<!-- estimates: end -->\n"
Program = tuple[Callable[..., Any], tuple[Any, ...]]


# --- the programs -------------------------------------------------------------------------

def single_operations(jax: Any, jnp: Any) -> Iterator[tuple[str, Callable[..., Any], tuple]]:
    """Functions of arrays of floats, with their arguments, by name."""
    x, w = uniform(jnp, 256, 512), uniform(jnp, 512, 256, seed=1)
    image = uniform(jnp, 2, 16, 16, 8)
    index = jnp.asarray(np.random.default_rng(0).integers(0, 256, 64, dtype=np.int32))
    square = uniform(jnp, 32, 32)
    spd = square @ square.T + 2 * jnp.eye(32)
    lax = jax.lax
    yield "matmul", lambda a, c: a @ c, (x, w)
    yield "softmax", lambda a: jax.nn.softmax(a, axis=-1), (x,)
    yield "logsumexp", lambda a: jax.nn.logsumexp(a, axis=-1), (x,)
    yield "layer norm", lambda a: norm_written_out(jax, jnp, a), (x,)
    yield "gelu", jax.nn.gelu, (x,)
    yield "silu", jax.nn.silu, (x,)
    yield "var", lambda a: jnp.var(a, axis=0), (x,)
    yield "cumsum", lambda a: jnp.cumsum(a, axis=1), (x,)
    yield "cumprod", lambda a: jnp.cumprod(a, axis=0), (x,)
    yield "sort", lambda a: jnp.sort(a, axis=-1), (x,)
    yield "max", lambda a: jnp.max(a, axis=1), (x,)
    yield "median", lambda a: jnp.median(a, axis=-1), (x,)
    yield "quantile", lambda a: jnp.quantile(a, 0.3, axis=-1), (x,)
    yield "gather of rows", lambda a, i: a[i], (x, index)
    yield "scatter of rows", lambda a, i: jnp.zeros((256, 512)).at[i].add(a[:64]), (x, index)
    yield "where", lambda a: jnp.where(a > 0, a, jnp.exp(a)), (x,)
    yield "clip", lambda a: jnp.clip(a, -0.5, 0.5), (x,)
    yield "norm", lambda a: jnp.linalg.norm(a, axis=-1), (x,)
    yield "einsum", lambda a, c: jnp.einsum("ij,jk->ki", a, c), (x, w)
    yield "concatenate", lambda a: jnp.concatenate([a, a * 2.0], axis=1), (x,)
    yield "roll", lambda a: jnp.roll(a, 3, axis=1), (x,)
    yield "pad", lambda a: jnp.pad(a, ((1, 2), (3, 4))), (x,)
    yield "convolution 3x3", lambda a, k: lax.conv_general_dilated(
        a, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), (
        image, uniform(jnp, 3, 3, 8, 8))
    yield "max-pool 2x2", lambda a: lax.reduce_window(
        a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (image,)
    yield "average-pool 3x3", lambda a: lax.reduce_window(
        a, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") / 9.0, (image,)
    yield "interleave", lambda a: jnp.stack([a, -a], axis=-1).ravel(), (uniform(jnp, 65_536),)
    yield "associative scan", lambda a: lax.associative_scan(jnp.maximum, a, axis=0), (x,)
    yield "erf", lax.erf, (x,)
    yield "lgamma", lambda a: lax.lgamma(a + 2.0), (x,)
    yield "digamma", lambda a: lax.digamma(a + 2.0), (x,)
    yield "cholesky", jnp.linalg.cholesky, (spd,)
    yield "solve", lambda a, r: jnp.linalg.solve(a, r), (spd, square)
    yield "logdet", lambda a: jnp.linalg.slogdet(a)[1], (spd,)
    yield "eigvalsh", jnp.linalg.eigvalsh, (spd,)


def programs(jax: Any, jnp: Any) -> Iterator[tuple[str, Program]]:
    """Yields every program with its name."""
    for name, f, args in single_operations(jax, jnp):
        def total(*args: Any, f: Any = f) -> Any:
            return jnp.sum(jnp.sin(f(*args)))

        yield name, (f, args)
        yield f"{name}, gradient", (jax.grad(total), args)
        batch = tuple([jnp.stack([a] * 4) for a in args])
        yield f"{name}, vmap", (jax.vmap(f), batch)
    loss, args = mlp(jnp, 4, 128, 64)
    yield "MLP of 4 layers, step", (jax.value_and_grad(loss), args)
    yield "transformer of 4 layers, step", transformer_step(jax, jnp, 4, width=128)
    yield "RNN by scan, gradient", recurrent(jax, jnp)
    yield "leapfrog of a Gaussian", leapfrog(jax, jnp)
    yield "Gaussian process, gradient", gaussian_process(jax, jnp)
    yield "loop under vmap", newton(jax, jnp)
    for name, f, args in calls(jax, jnp):
        yield name, (f, args)


def recurrent(jax: Any, jnp: Any) -> Program:
    """A recurrent network of 64 units over 32 steps."""
    def loss(w: Any, u: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> tuple[Any, Any]:
            h = jnp.tanh(h @ w + x @ u)
            return h, h

        last, hs = jax.lax.scan(step, jnp.zeros((16, 64)), xs)
        return jnp.mean(hs ** 2) + jnp.mean(last)

    return jax.grad(loss, (0, 1)), (uniform(jnp, 64, 64), uniform(jnp, 8, 64, seed=1),
                                    uniform(jnp, 32, 16, 8, seed=2))


def leapfrog(jax: Any, jnp: Any) -> Program:
    """Ten steps of Hamilton's equations in a potential with a full matrix."""
    def run(q: Any, p: Any, a: Any) -> Any:
        slope = jax.grad(lambda q: 0.5 * q @ a @ q)

        def step(i: Any, state: Any) -> Any:
            q, p = state
            p = p - 0.05 * slope(q)
            q = q + 0.1 * p
            return q, p - 0.05 * slope(q)

        return jax.lax.fori_loop(0, 10, step, (q, p))

    square = uniform(jnp, 64, 64)
    return run, (uniform(jnp, 64), uniform(jnp, 64, seed=1), square @ square.T + jnp.eye(64))


def gaussian_process(jax: Any, jnp: Any) -> Program:
    """The gradient of the marginal likelihood of 64 points."""
    def surprise(log_scale: Any, x: Any, y: Any) -> Any:
        gap = (x[:, None] - x[None, :]) / jnp.exp(log_scale)
        factor = jnp.linalg.cholesky(jnp.exp(-0.5 * gap * gap) + 0.1 * jnp.eye(64))
        white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * white @ white + jnp.sum(jnp.log(jnp.diag(factor)))

    x = jnp.linspace(0.0, 4.0, 64)
    return jax.grad(surprise), (jnp.float32(0.0), x, jnp.sin(x))


def newton(jax: Any, jnp: Any) -> Program:
    """Square roots by a batched loop that ends when every lane is done."""
    def root(a: Any) -> Any:
        return jax.lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-4 * a,
                                  lambda x: 0.5 * (x + a / x), a)

    return jax.vmap(root), (jnp.linspace(1.0, 9.0, 128),)


# --- lowering, compiling ------------------------------------------------------------------

def lower_all(library: str, folder: Path, pattern: str) -> None:
    """Write the StableHLO of each program into a folder."""
    jax, jnp = (importlib.import_module(name) for name in (library, f"{library}.numpy"))
    for name in (f"{library}.scipy.linalg", f"{library}.scipy.special", f"{library}.nn"):
        importlib.import_module(name)
    for name, (f, args) in programs(jax, jnp):
        if re.search(pattern, name):
            lowered = jax.jit(f).trace(*args).lower(lowering_platforms=("tpu",))
            (folder / f"{name}.mlir").write_text(lowered.as_text())


def costs(text: str) -> dict[str, float]:
    """XLA's estimates for a module, compiled for one device of the topology."""
    from lowering import compat
    from lowering.context import mlir_context
    from lowering.topologies import described

    device, mlir = described(TOPOLOGY).devices[0], mlir_context()
    with mlir.context:
        module = mlir.ir.Module.parse(text)
    made = device.client.compile(module, compat.device_list([device]),
                                 compat.compile_options(1, 1, [device.id], ()))
    found = made.cost_analysis()
    found = dict(found[0] if isinstance(found, list) else found)
    return {**{name: found.get(name, math.nan) for name in MEASURES[:3]},
            MEASURES[3]: made.get_compiled_memory_stats().temp_size_in_bytes}


def ratio(ours: float, theirs: float) -> float:
    """Ours over theirs; NaN where XLA gave no estimate."""
    if ours == theirs >= 0:
        return 1.0
    return ours / theirs if ours > 0 and theirs > 0 else math.nan


def table(ours: Path, theirs: Path) -> Iterator[str]:
    """Yields the lines of the table: the means, then the programs, the worst first."""
    rows = {}
    for path in sorted(ours.glob("*.mlir")):
        pair = [costs((side / path.name).read_text()) for side in (ours, theirs)]
        rows[path.stem] = [ratio(pair[0][name], pair[1][name]) for name in MEASURES]
        print(path.stem, *[f"{r:.3f}" for r in rows[path.stem]], file=sys.stderr, flush=True)
    yield "| program | time | flops | bytes | temporary memory |"
    yield "|---|---|---|---|---|"
    means = [np.exp(np.nanmean([np.log(r[k]) for r in rows.values()])) for k in range(4)]
    yield f"| mean of {len(rows)} | {' | '.join(f'{m:.2f}' for m in means)} |"
    for name, row in sorted(rows.items(), key=lambda pair: -np.nan_to_num(pair[1][0])):
        if any(not 0.98 <= r <= 1.02 for r in row if not math.isnan(r)):
            yield f"| {name} | {' | '.join('-' if math.isnan(r) else f'{r:.2f}' for r in row)} |"
    same = sum(all(0.98 <= r <= 1.02 or math.isnan(r) for r in row) for row in rows.values())
    yield f"\nThe other {same} are within 2 % in all four."


def main() -> None:
    """Runs the command line that the top of the file describes."""
    parser = argparse.ArgumentParser(description="XLA's estimates for a TPU, ours over another's")
    parser.add_argument("--against", metavar="PYTHON:MODULE", required=False)
    parser.add_argument("--programs", metavar="PATTERN", default="")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--lower", nargs=2, metavar=("MODULE", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.lower:
        lower_all(given.lower[0], Path(given.lower[1]), given.programs)
        return
    if not given.against:
        parser.error("--against is needed")
    python, _, module = given.against.partition(":")
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch) / side for side in ("ours", "theirs")]
        sides = zip(folders, (sys.executable, python), ("xfront", module or "jax"), strict=True)
        for folder, interpreter, library in sides:
            folder.mkdir()
            subprocess.run([interpreter, __file__, "--programs", given.programs, "--lower", library,
                            str(folder)], check=True)
        lines = []
        for line in table(*folders):
            print(line, flush=True)
            lines.append(f"{line}\n")
    if given.markdown:
        head, _, rest = given.markdown.read_text().partition(BEGIN)
        given.markdown.write_text(f"{head}{BEGIN}{''.join(lines)}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
