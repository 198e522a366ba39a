"""`import jax` finds xfront: identity of modules, names under `jax._src`, what absent names say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import xfront
from tests.xfront.dropin.running import output, python
from xfront.dropin.finder import API_LEVEL

_IDENTITY = """
import importlib.util, jaxlib, sys
import jax, jax.numpy as jnp, xfront
from jax import Array, grad, jit, lax, random, tree_util
import jax.scipy.stats.norm, jax.extend.core.primitives, jax.nn.initializers
import jax.experimental.array_serialization.tensorstore_impl
from jax.experimental import mesh_utils, multihost_utils, pjit
from jax.experimental.shard_map import shard_map
from jax.example_libraries import stax

assert jnp is xfront.numpy and lax is xfront.lax and jit is xfront.jit and Array is xfront.Array
assert jax.scipy.stats.norm is importlib.import_module("xfront.scipy.stats.norm")
assert jax.__version__ == jaxlib.__version__
assert ".".join(map(str, jax.__version_info__)) == jaxlib.__version__
assert xfront.numpy.__spec__.name == "xfront.numpy" and jnp.__name__ == "xfront.numpy"
twice = [m for n, m in sys.modules.items() if n.startswith("jax.") and "_src" not in n
         and sys.modules.get("xfront" + n[3:], m) is not m]
assert not twice, twice
assert "grad" in dir(jax) and "numpy" in dir(jax)
jax.hello = 3                                # what is set on jax is set on xfront
assert xfront.hello == 3
del jax.hello
assert not hasattr(xfront, "hello")
assert not hasattr(jax, "no_such_name")
importlib.import_module("jax")
assert importlib.util.find_spec("jax.nn") is not None
"""

_PRIVATE = """
from jax._src import core, dtypes, traceback_util, tree_util
import jax._src.literals, jax._src.sharding_impls, jax._src.named_sharding, jax._src.dispatch
import jax.core, jax.lib, jax.numpy as jnp, jax.version, jaxlib
import xfront

assert core.ShapedArray is jax.core.ShapedArray is xfront.core.ShapedArray
assert dtypes.canonicalize_dtype is xfront.dtypes.canonicalize_dtype
assert tree_util.flatten_one_level is xfront.tree_util.flatten_one_level
for tree in ([1, [2]], (1, 2), {"b": 1, "a": (2,)}, None, jax.tree_util.Partial(max, 3)):
    entry = tree_util._registry[type(tree)]
    children, aux = entry.to_iter(tree)
    again = entry.from_iter(aux, children)
    assert type(again) is type(tree) and xfront.tree.flatten(again) == xfront.tree.flatten(tree)
assert int not in tree_util._registry
assert isinstance(jnp.ones(2), jax._src.array.ArrayImpl)
made = jax._src.sharding_impls.make_single_device_sharding(jax.devices()[0])
assert made == jnp.ones(2).sharding
assert not isinstance(jnp.ones(2), jax._src.literals.TypedNdArray)
assert jax.lib.__version__ == jax.version.__version__ == jaxlib.__version__
assert jax._src.distributed.global_state.process_id == 0
jax._src.dispatch.wait_for_tokens()
from jax._src.numpy.util import promote_dtypes, promote_dtypes_complex, promote_dtypes_inexact
a, b = promote_dtypes_complex(jnp.ones(2, jnp.float16), 1)
assert a.dtype == b.dtype == jnp.complex64 and not b.weak_type
assert [x.weak_type for x in promote_dtypes_inexact(1, 2)] == [True, True]
assert [str(x.dtype) for x in promote_dtypes(1, jnp.ones(2))] == ["float32"] * 2
from jax._src.numpy.ufuncs import ufunc
assert ufunc is jnp.ufunc and jax._src.numpy.ufunc_api.ufunc is ufunc
from jax._src.public_test_util import check_close
check_close({"a": jnp.ones(4)}, {"a": jnp.ones(4) + 3e-6})
for other, error in ((jnp.ones(4) + 1e-4, AssertionError), ({"b": 1.0}, ValueError)):
    try:
        check_close(jnp.ones(4), other)
    except error:
        continue
    raise AssertionError(other)
kinds = []
jax.jit(lambda x: kinds.append(type(x)) or x)(1.0)
assert kinds == [jax.core.Tracer] and kinds[0].__module__ == "jax.core"
import jax._src.compiler, xfront.dropin.compiling
jax._src.compiler.backend_compile_and_load = print
assert xfront.dropin.compiling.backend_compile_and_load is print
assert not hasattr(jax._src.core, "no_such_name")
from jax._src.lib import jaxlib_extension_version
assert type(jaxlib_extension_version) is int and not hasattr(jax.lib, "jaxlib_extension_version")
from jax._src.interpreters import ad
assert issubclass(ad.CustomVJPException, Exception)
jax.config.update("jax_traceback_filtering", "remove_frames")
try:
    jax.jit(lambda: 1 / 0)()
except ZeroDivisionError as error:
    assert isinstance(error.__cause__, traceback_util.UnfilteredStackTrace)
"""

_WHOLE = """
import sys
import jax, jax.lax as lax, jax.scipy.special, jax.scipy.stats, jax.sharding
jnp = jax.numpy
jnp.sin(1.0), dir(jnp), hasattr(jnp, "no_such_name")
assert "xfront.numpy.polynomials" not in sys.modules
for module in (jnp, lax, jax.scipy.special, jax.scipy.stats, jax.sharding):
    assert vars(module).keys() >= {*module.__all__} and vars(module) is module.__dict__
assert "median" in vars(jnp) and vars(jnp)["median"] is jnp.median
jnp.another = 3
assert vars(jnp)["another"] == 3
del jnp.another
assert not hasattr(jnp, "another")
import pickle
assert pickle.loads(pickle.dumps(jnp.median)) is jnp.median
"""

_KEPT = """
import importlib, pickle, sys, timeit, types
from unittest import mock
import xfront
import jax, jax.core, jax.extend.core, jax.experimental.pallas as pallas
import jax.interpreters.mlir, jax.lax, jax.numpy, jax.random, jax.tree_util, jax.nn
from jax._src import core, config

names = [
    (jax, "grad"), (jax, "tree"), (jax, "typeof"), (jax, "_src"), (jax, "__version__"),
    (jax.core, "Primitive"), (jax.core, "Jaxpr"), (jax._src, "core"), (config, "config"),
    (core, "Jaxpr"), (core, "ShapedArray"), (jax.extend.core, "Jaxpr"),
    (jax.extend.core.primitives, "add_p"), (jax.lax, "add_p"), (jax.lax, "add"),
    (jax.lax.linalg, "qdwh"), (jax.lax.linalg, "svd_p"), (jax.random, "random_gamma_p"),
    (jax.numpy, "sin"), (jax.custom_derivatives, "custom_jvp_call_p"), (jax.nn, "relu"),
    (jax.interpreters.mlir, "ir"), (pallas, "BlockSpec"), (jax.tree_util, "tree_map")]
plain = types.ModuleType("plain")
plain.name = 1
def seconds(module, name):
    read = eval(f"lambda m: ({f'm.{name}, ' * 8})")
    return min(timeit.repeat(lambda: read(module), number=200, repeat=20))
for module, name in names:
    shown = dir(module)
    first = getattr(module, name)
    assert name in types.ModuleType.__getattribute__(module, "__dict__"), (module, name)
    assert getattr(module, name) is first and dir(module) == shown, (module, name)
    assert seconds(module, name) < 12 * seconds(plain, "name"), (module, name)

assert jax.grad is xfront.grad and jax.typeof is xfront.typeof and core.Jaxpr is jax.core.Jaxpr
for one in (jax, xfront):                    # what is set on one is on both, read before or not
    for name in ("grad", "vmap", "new_name"):
        before = getattr(jax, name, None)
        with mock.patch.object(one, name, 3, create=True):
            assert getattr(jax, name) == getattr(xfront, name) == 3
        assert getattr(jax, name, None) is getattr(xfront, name, None) is before
with mock.patch("jax._src.core.ShapedArray", 3), mock.patch("jax._src.core.Tracer", 4):
    assert core.ShapedArray == jax.core.ShapedArray == 3 and jax.core.Tracer == core.Tracer == 4
assert core.ShapedArray is jax.core.ShapedArray is xfront.core.ShapedArray
assert core.Tracer is jax.core.Tracer is xfront.core.Tracer and isinstance(core.Tracer, type)
import jaxlib
assert importlib.reload(jax) is jax and jax.grad is xfront.grad
assert jax.__version__ == jaxlib.__version__
del sys.modules["jax"]
import jax as again
assert again is jax
assert importlib.reload(xfront) is xfront and jax.jit is xfront.jit
assert pickle.loads(pickle.dumps(jax.vmap)) is jax.vmap
assert jax._src.xla_bridge._backends is not jax._src.xla_bridge._backends   # computed anew
"""

_METADATA = """
import importlib.metadata as metadata
import sys
import jax

assert sys.modules["jax.tree_util"] is jax.tree_util

assert metadata.version("jax") == jax.__version__ == metadata.metadata("jax")["Version"]
assert metadata.version("jaxlib") and metadata.distribution("jax").name == "jax"
metadata.packages_distributions(), metadata.entry_points()
try:
    metadata.version("no_such_package")
except metadata.PackageNotFoundError:
    pass
"""

_SAID = """
import jax

for code, said in CASES:
    try:
        exec(code)
    except (AttributeError, ImportError, NotImplementedError) as error:
        assert said in str(error), (code, str(error))
    else:
        raise AssertionError(code)
"""

_CASES = [
    ("jax.tree_map", "JAX has removed xfront.tree_map; use jax.tree.map"),
    ("from jax import tree_map", "JAX has removed jax.tree_map; use jax.tree.map"),
    ("import jax.numpy; jax.numpy.sinn", "did you mean 'sin'?"),
    ("from jax.numpy import alltrue", "use jnp.all"),
    ("from jax.nn import rellu", "did you mean 'relu'?"),
    ("import jax.experimental.jax2tf", "jax.experimental.jax2tf is outside what xfront offers"),
    ("from jax.experimental import pallas; pallas.pallas_call(None, None)",
     "jax.experimental.pallas.pallas_call is outside what xfront offers"),
    ("from jax.experimental.pallas import tpu; tpu.VMEM((8,), float)",
     "jax.experimental.pallas.tpu.VMEM is outside what xfront offers"),
    ("from jax.experimental.pallas import triton; triton.loadd", "did you mean 'load'?"),
    ("from jax.tree_util import tree_mapp", "did you mean 'tree_map'?"),
    ("from xfront.tree_util import tree_mapp", "did you mean 'tree_map'?"),
    ("from xfront.numpy import zeross", "did you mean 'zeros'?"),
    ("from xfront.random import normall", "did you mean 'normal'?"),
    ("from xfront.lax import scann", "did you mean 'scan'?"),
    ("from xfront.experimental import checkifi", "did you mean 'checkify'?"),
    ("from jax.lax import psum_scatter_start", "write lax.psum_scatter"),
    ("import jax; jax.sharding.no_collectives", "is chosen while a program is compiled"),
    ("import jax.experimental.fused", "is outside what xfront offers"),
    ("import jax.no_such_thing", "module 'jax' has no attribute 'no_such_thing'"),
    ("import jax.arrays", "module 'jax' has no attribute 'arrays'"),
    ("from jax._src import no_such_thing", "has no attribute 'no_such_thing'"),
]


def test_modules_of_jax_are_those_of_xfront() -> None:
    output("-m", "xfront", "-c", _IDENTITY)


def test_private_names_that_libraries_import_have_a_meaning() -> None:
    output("-m", "xfront", "-c", _PRIVATE)


def test_a_name_that_was_read_is_an_attribute_like_any_other() -> None:
    output("-m", "xfront", "-c", _KEPT)


def test_the_version_of_the_package() -> None:
    output("-m", "xfront", "-c", _METADATA)


def test_the_dictionary_of_a_module_has_all_its_names() -> None:
    output("-m", "xfront", "-c", _WHOLE)


def test_a_name_that_is_absent_says_so() -> None:
    output("-m", "xfront", "-c", f"CASES = {_CASES!r}\n{_SAID}")


def test_xfront_itself_says_what_is_not_here_yet() -> None:
    with pytest.raises(AttributeError, match="did you mean 'value_and_grad'"):
        _ = xfront.value_and_gradd  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"use jax\.tree\.leaves"):
        _ = xfront.tree_leaves  # type: ignore[attr-defined]


_FOR_EACH_WAY = """
import sys
import jax.numpy as jnp
def summed(n):
    import jax.numpy
    return float(jax.numpy.arange(n).sum()), "xfront" in jax.numpy.__file__
if __name__ == "__main__":
    import subprocess
    def annotated(x: int): pass
    assert annotated.__annotations__ == {"x": int}      # not text, as a __future__ would make it
    print(float(jnp.sum(jnp.arange(4.0))), sys.argv[1:], __name__)
    child = "import jax.numpy, sys; print('xfront' in jax.numpy.__file__)"
    print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout)
    if sys.argv[0] != "-c":                              # whose functions no other process has
        import multiprocessing
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(summed, (4,)))
"""


@pytest.mark.parametrize("way", ["file", "module", "code"])
def test_a_program_runs_and_so_do_its_children(way: str, tmp_path: Path) -> None:
    file = tmp_path / "plain_program.py"
    file.write_text(_FOR_EACH_WAY)
    given = {"file": [str(file)], "module": ["-m", "plain_program"], "code": ["-c", _FOR_EACH_WAY]}
    said = output("-m", "xfront", *given[way], "--flag", "value", path=str(tmp_path))
    first, child, _, spawned, *_ = said.split("\n") + [""]
    assert (first, child) == ("6.0 ['--flag', 'value'] __main__", "True")
    assert spawned == ("" if way == "code" else "(6.0, True)")


def test_whether_a_module_is_there_can_be_asked() -> None:
    said = output("-c", "import xfront\nxfront.install_as_jax()\n"
                        "from importlib.util import find_spec\n"
                        "names = 'jax', 'jax.numpy', 'jax._src.core', 'jax.no', 'jax.numpy.no'\n"
                        "print([find_spec(name) is not None for name in names])\n"
                        "try: import jax.no\n"
                        "except ModuleNotFoundError as e: print(e)\n")
    assert said == "[True, True, True, False, False]\nmodule 'jax' has no attribute 'no'\n"


def test_the_folder_for_pythonpath() -> None:
    folder = output("-m", "xfront", "--path").strip()
    said = output("-c", "import jax.numpy as jnp, jax, xfront\n"
                        "print(jnp is xfront.numpy, jax.__version__)", path=folder)
    assert said == f"True {API_LEVEL}\n"


def test_another_jax_that_is_installed_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("")
    folder = str(tmp_path)
    output("-c", "import xfront\nxfront.install_as_jax(); xfront.install_as_jax()\nimport jax\n"
                 "assert jax.jit is xfront.jit", path=folder)
    refused = python("-c", "import jax\nimport xfront", path=folder)
    assert "jax is loaded here already" in refused.stderr


def test_arguments_that_make_no_sense_are_refused() -> None:
    for arguments, said in ((["--no-such"], "no option --no-such"),
                            (["-m"], "-m needs the name of a module"),
                            (["no_such_file.py"], "no_such_file.py: No such file")):
        refused = python("-m", "xfront", *arguments)
        assert refused.returncode == 1 and said in refused.stderr


def test_nothing_of_it_is_loaded_by_the_import() -> None:
    said = output("-c", "import sys, xfront\n"
                        "print([m for m in sys.modules if 'dropin' in m or 'absent' in m])")
    assert said == "[]\n"
    assert sys.modules.get("jax") is None


def test_the_doctor_tells_what_there_is() -> None:
    said = output("-m", "xfront.doctor")
    assert f"API of JAX {API_LEVEL}" in said and "jaxlib: " in said and "devices: " in said


_SETS_VARIABLES = """
import os
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
os.environ["JAX_NUM_CPU_DEVICES"] = "3"
os.environ["XLA_FLAGS"] = "--xla_cpu_enable_fast_math=false"
import jax
from jax import numpy as jnp
print(jnp.ones(2).dtype, jax.config.jax_numpy_rank_promotion, jax.device_count())
os.environ["JAX_ENABLE_X64"] = "0"
import jax.random
print(jnp.ones(2).dtype)
"""


def test_variables_that_a_program_sets_before_it_imports_jax() -> None:
    assert output("-m", "xfront", "-c", _SETS_VARIABLES).splitlines() == [
        "float64 raise 3", "float64"]
    late = "import xfront\nxfront.config.update('jax_enable_x64', False)\n" + _SETS_VARIABLES
    assert output("-m", "xfront", "-c", late).splitlines() == ["float64 raise 3", "float64"]
    wrong = python("-m", "xfront", "-c",
                   "import os; os.environ['JAX_ENABLE_X64'] = 'maybe'; import jax")
    assert "environment variable JAX_ENABLE_X64" in wrong.stderr
