"""Options: global and thread-local values, environment, what is refused."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import xfront
import xfront.numpy
from xfront.base.config import config
from xfront.binding import trace_context

options = importlib.import_module("xfront.base.config")
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.usefixtures("restored")


def test_update_and_attribute() -> None:
    config.update("jax_enable_x64", True)
    assert config.jax_enable_x64 is True and config.x64_enabled
    config.jax_enable_x64 = "false"
    assert config.read("xfront_enable_x64") is False


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'jax_enable_x64'"):
        config.update("jax_enable_x46", True)
    with pytest.raises(AttributeError):
        _ = config.jax_nothing
    assert not hasattr(config, "__wrapped__")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_numpy_rank_promotion", "maybe"),
        ("jax_default_matmul_precision", "bogus"),
        ("jax_enable_x64", "perhaps"),
        ("jax_default_device", 3),
        ("jax_transfer_guard", "never"),
    ],
)
def test_values_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        config.update(name, value)


def test_a_context_manager_is_of_its_thread() -> None:
    seen = []
    with options.enable_x64(True):
        thread = threading.Thread(target=lambda: seen.append(config.jax_enable_x64))
        thread.start()
        thread.join()
        assert config.jax_enable_x64
        with options.enable_x64(False):
            assert not config.jax_enable_x64
        assert config.jax_enable_x64
    assert seen == [False] and not config.jax_enable_x64


def test_the_default_of_a_switch_is_on_and_decorators_work() -> None:
    @options.debug_nans()
    def inside() -> bool:
        return config.jax_debug_nans

    assert inside() and not config.jax_debug_nans
    with options.disable_jit():
        assert config.jax_disable_jit
    with pytest.raises(TypeError, match="called with a value"):
        options.numpy_rank_promotion()
    with pytest.raises(TypeError, match="is an option"):
        bool(options.enable_x64)


def test_one_manager_may_be_nested_in_itself() -> None:
    manager = options.log_compiles(True)
    with manager:
        with manager:
            pass
        assert config.jax_log_compiles
    assert not config.jax_log_compiles


def test_options_that_tracing_reads_are_in_the_key() -> None:
    before = trace_context()
    for manager in (
        options.enable_x64(True),
        options.numpy_dtype_promotion("strict"),
        options.default_matmul_precision("highest"),
        options.numpy_rank_promotion("raise"),
    ):
        with manager:
            assert trace_context() != before
    assert trace_context() == before
    with options.log_compiles(True):
        assert trace_context() == before


def test_staging_is_a_bit_of_the_key() -> None:
    """Inside a staging trace a compiled operator whose signature is known is recorded, not run;
    traces themselves do not depend on it."""
    x = xfront.numpy.ones(3)
    x + x
    before = trace_context()
    traced = xfront.make_jaxpr(lambda: (x + x, trace_context() == before or 1 / 0)[0])()
    assert [op.definition.name for op in traced.ir.ops] == ["add"]


def test_watchers_hear_of_global_values() -> None:
    heard: list = []
    options.option("jax_compilation_cache_dir").watch(heard.append)
    config.update("jax_compilation_cache_dir", "/tmp/x")
    assert heard[-1] == "/tmp/x"


def test_transfer_guard_sets_all_directions() -> None:
    with options.transfer_guard("allow"):
        assert config.jax_transfer_guard_device_to_host == "allow"
        assert config.jax_transfer_guard == "allow"
    assert config.jax_transfer_guard_device_to_host is config.jax_transfer_guard is None
    with options.transfer_guard_host_to_device("log"):
        assert config.jax_transfer_guard is None


def test_ranges_and_rows_are_no_transfers() -> None:
    x = xfront.numpy.arange(3.0)
    with options.transfer_guard("disallow"):
        made = xfront.numpy.arange(2, 5), list(x)
    assert made[0].tolist() == [2, 3, 4] and [r.tolist() for r in made[1]] == [0, 1, 2]


def test_the_platform_in_use_may_be_chosen_again() -> None:
    xfront.numpy.ones(1)
    config.update("jax_platforms", "cpu")
    config.update("jax_platforms", "cpu,tpu")
    with pytest.raises(RuntimeError, match="before the first use"):
        config.update("jax_platforms", "tpu,cpu")


def test_the_default_device_is_one_or_a_platform() -> None:
    with pytest.raises(ValueError, match="name of a platform, got 'bogus'"):
        config.update("jax_default_device", "bogus")
    with options.default_device("cpu"):
        assert xfront.numpy.ones(1).device.platform == "cpu"


def test_environment_variables_set_options() -> None:
    script = (
        "from xfront import config as c;"
        "print(c.jax_enable_x64, c.jax_numpy_rank_promotion, c.jax_default_matmul_precision)"
    )
    env = {
        **os.environ,
        "JAX_ENABLE_X64": "1",
        "XFRONT_NUMPY_RANK_PROMOTION": "warn",
        "JAX_NUMPY_RANK_PROMOTION": "raise",
        "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["True", "warn", "highest"], done.stderr


def test_a_wrong_environment_variable_is_named() -> None:
    env = {**os.environ, "XFRONT_ENABLE_X64": "maybe"}
    done = subprocess.run(
        [sys.executable, "-c", "import xfront.config"],
        env=env, cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "environment variable XFRONT_ENABLE_X64" in done.stderr


def test_platforms_and_cpu_devices_are_chosen_before_the_first_use() -> None:
    script = """
from xfront import config
from xfront import binding
config.update("jax_platforms", "cpu")
config.update("jax_num_cpu_devices", 3)
print(binding.client().device_count())
try:
    config.update("jax_num_cpu_devices", 2)
except RuntimeError as error:
    print(config.jax_num_cpu_devices, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    first, second = done.stdout.splitlines()
    assert first == "3" and second.startswith("3 the number of CPU devices"), done.stderr
