"""Start-up: the import, and the time to a process's first results, with a cold and a warm cache.

These rows start processes of their own, so they take the side instead of the library. Seconds are
measured inside the process, and include the import.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Side, environment, row, scaled

IMPORT = "import {m} as jax, {m}.numpy as jnp"
OPERATIONS = """
x = jnp.arange(8.0)
y = jnp.sin(x) * x + 1.0
float(y.sum()), y[2], y.reshape(2, 4)
"""
JITTED = """
step = jax.jit(jax.value_and_grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)))
value, slope = step(jnp.ones((4, 4)), jnp.ones((3, 4)))
float(value)
"""
MLP = """
from benchmarks.models import mlp
loss, args = mlp(jnp, 8, 64, 32)
value, slopes = jax.jit(jax.value_and_grad(loss))(*args)
float(value)
"""
STEP = """
from benchmarks.models import transformer_step
step, args = transformer_step(jax, jnp, {layers})
params, value = jax.jit(step)(*args)
float(value)
"""
JAXS_CACHE = {
    "JAX_COMPILATION_CACHE_DIR": "{cache}",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
"""Variables that switch on JAX's cache on disk, which is off by default."""


def seconds(side: Side, body: str, cache: str, **more: str) -> float:
    """The seconds that a fresh process takes for the import and the body."""
    script = (
        "import time; start = time.perf_counter()\n"
        + IMPORT.format(m=side.module)
        + "\n"
        + body
        + "\nprint(time.perf_counter() - start)"
    )
    return printed(side, script, cache, **more)


def printed(side: Side, script: str, cache: str, **more: str) -> float:
    """The number that a script prints in a fresh process."""
    (number,) = numbers_printed(side, script, cache, **more)
    return number


def numbers_printed(side: Side, script: str, cache: str, **more: str) -> list[float]:
    """The numbers that a script prints in a fresh process, a line each."""
    done = subprocess.run(
        [side.python, "-c", script],
        capture_output=True,
        text=True,
        env=environment(cache) | more,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return [float(line) for line in done.stdout.split()]


def first_and_second(side: Side, body: str, **more: str) -> dict[str, float]:
    """The seconds of a process with an empty cache, and of the better of two later processes."""
    with tempfile.TemporaryDirectory(prefix="xfront-bench-") as cache:
        more = {name: value.format(cache=cache) for name, value in more.items()}
        first = seconds(side, body, cache, **more)
        second = min(seconds(side, body, cache, **more) for _ in range(2))
    return {"cold process": first, "second process": second}


@row("import")
def import_time(side: Side) -> float:
    """The import of the library and its numpy."""
    with tempfile.TemporaryDirectory(prefix="xfront-bench-") as cache:
        return min(seconds(side, "", cache) for _ in range(3))


@row("memory after import", unit="MB")
def memory(side: Side) -> dict[str, float]:
    """The memory of the process, and the part of it that is no file's; processes share files."""
    script = (
        IMPORT.format(m=side.module) + "\nfor line in open('/proc/self/smaps_rollup'):\n"
        "    name, _, rest = line.partition(':')\n"
        "    if name == {name!r}: print(int(rest.split()[0]) / 1024)"
    )
    with tempfile.TemporaryDirectory(prefix="xfront-bench-") as cache:
        return {
            label: printed(side, script.replace("{name!r}", repr(name)), cache)
            for label, name in (("all", "Rss"), ("no file's", "Anonymous"))
        }


@row("first operations")
def first_operations(side: Side) -> dict[str, float]:
    """Eight eager operations on a small array."""
    return first_and_second(side, OPERATIONS)


@row("first jitted gradient")
def first_jitted(side: Side) -> dict[str, float]:
    """A small jitted value_and_grad."""
    return first_and_second(side, JITTED)


@row("first MLP gradient")
def first_mlp(side: Side) -> dict[str, float]:
    """The jitted value_and_grad of eight layers."""
    return first_and_second(side, MLP)


@row("first MLP gradient, each side's cache on disk switched on")
def first_mlp_cached(side: Side) -> dict[str, float]:
    """The same with JAX's cache on disk switched on."""
    return first_and_second(side, MLP, **JAXS_CACHE)


@row("first step of a 12-layer transformer", repeats=2)
def first_step(side: Side) -> dict[str, float]:
    """Loss, gradient and update of all layers, unrolled and jitted."""
    return first_and_second(side, STEP.format(layers=scaled(12, 2)))


@row("first step of a 12-layer transformer, each side's cache on disk switched on", repeats=2)
def first_step_cached(side: Side) -> dict[str, float]:
    """The same with JAX's cache on disk switched on."""
    return first_and_second(side, STEP.format(layers=scaled(12, 2)), **JAXS_CACHE)


AS_JAX = {"xfront": "import xfront; xfront.install_as_jax()\n"}
"""What has `import jax` find a library."""

NAMES = {
    "of jax": "jax.vmap",
    "of jax.numpy": "jnp.sin",
    "of jax.core": "core.Tracer",
    "of jax._src.core": "private.ShapedArray",
}


@row("a name of a module, for programs that import jax")
def names_of_modules(side: Side) -> dict[str, float]:
    """An attribute of each kind of module, read before."""
    script = AS_JAX.get(side.module, "") + (
        "import timeit, jax, jax.numpy as jnp\nfrom jax import core\n"
        "from jax._src import core as private\n"
        f"for name in {list(NAMES.values())!r}:\n"
        "    print(min(timeit.repeat(name, globals=globals(), repeat=9, number=100_000)) / 1e5)"
    )
    with tempfile.TemporaryDirectory(prefix="xfront-bench-") as cache:
        return dict(zip(NAMES, numbers_printed(side, script, cache), strict=True))


PROGRAMS = Path(__file__).parents[1] / "tests" / "programs"
FIRST_STEPS = {
    "cnn": ("for i in range(20):", "step(params, random.PRNGKey(0))"),
    "flow": ("for _ in range(60):", "jax.grad(loss)(params)"),
    "gan": ("for i in range(40):", "step(d, g, random.fold_in(random.key(2), 0))"),
    "kalman": ("for _ in range(40):", "objective(p)"),
    "mlp": ("for _ in range(3):", "update(params, images[:64], targets[:64])"),
    "nbody": ("drift =", "end"),
    "pinn": ("for _ in range(25):", "newton(vector, damping)"),
    "rnn": ("for i in range(30):", "step(p, random.fold_in(random.key(1), 0))"),
    "transformer": (
        "for i in range(30):",
        "step(params, momentum, random.fold_in(random.key(1), 0))",
    ),
    "vae": ("RESULT =", "losses"),
}
"""For each program, the line at which its steps begin, and the code of the first step."""


def until_first_step(side: Side, program: str, cache: str) -> list[float]:
    """Seconds from the start of a process to the result of a program's first step, and how many of
    them processors worked for it, in all threads."""
    steps, first = FIRST_STEPS[program]
    source, found, _ = (PROGRAMS / f"{program}.py").read_text().partition(f"\n{steps}")
    if not found:
        raise RuntimeError(f"{program}.py has no line {steps!r}")
    script = (
        f"{AS_JAX.get(side.module, '')}{source}\nimport jax, time\njax.block_until_ready({first})\n"
        f"print(time.time() - {time.time()!r}, time.process_time())"
    )
    return numbers_printed(side, script, cache)


def _first_step_of(program: str) -> None:
    @row(f"first step of the program {program}")
    def first_step_of(side: Side) -> dict[str, float]:
        with tempfile.TemporaryDirectory(prefix="xfront-bench-") as cache:
            cold, second = [until_first_step(side, program, cache) for _ in range(2)]
            return {
                "cold process": cold[0],
                "second process": second[0],
                "cold process, processors' time": cold[1],
                "second process, processors' time": second[1],
            }


for _program in FIRST_STEPS:
    _first_step_of(_program)
