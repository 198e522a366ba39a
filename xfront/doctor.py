"""Report what is installed and what needs fixing: `python -m xfront.doctor`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from .dropin.finder import API_LEVEL


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _devices() -> tuple[list[str], list[str]]:
    """Lines about devices, and lines about what to fix."""
    import xfront

    try:
        found = xfront.devices()
    except Exception as error:                   # the report shows any error
        return [f"devices: none, {error}"], [
            "No device can be used: see the error above; xfront needs the plugin of the platform."]
    return [f"platform: {xfront.default_backend()}",
            f"devices: {', '.join(map(str, found))}"], []


def _accelerator(platform_name: str) -> list[str]:
    seen = list(Path("/dev").glob("nvidia[0-9]*"))
    if seen and platform_name == "cpu":
        return ["There are NVIDIA GPUs, but no plugin for them is installed: pip install "
                "'.[cuda13]' or '.[cuda12]' in a clone of xfront."]
    return []


def report() -> tuple[list[str], list[str]]:
    """Lines of facts, and lines about what to fix."""
    import xfront

    facts = [
        f"xfront {xfront.__version__}, API of JAX {API_LEVEL}, in {Path(__file__).parent}",
        f"Python {platform.python_version()} at {sys.executable}, {platform.platform()}",
        *[f"{p}: {_installed(p)}" for p in ("jaxlib", "numpy", "ml_dtypes", "opt_einsum", "jax")],
        *[f"plugin {d.metadata['Name']}: {d.version}" for d in importlib.metadata.distributions()
          if str(d.metadata["Name"]).startswith(("jax-cuda", "jax_cuda", "libtpu"))],
        *[f"{name}={value}" for name, value in sorted(os.environ.items())
          if name.startswith(("XFRONT_", "JAX_", "XLA_"))],
    ]
    devices, fixes = _devices()
    fixes += _accelerator(xfront.default_backend() if not fixes else "")
    if _installed("jax") != "not installed":
        facts.append("The package jax is installed too; only one of the two can be used in a "
                     "process, and `python -m xfront` uses xfront.")
    return [*facts, *devices], fixes


def main() -> int:
    """Print the report; return 1 where something needs fixing, else 0."""
    facts, fixes = report()
    print("\n".join(facts))
    print("\n".join(f"To fix: {line}" for line in fixes) if fixes else "Nothing to fix.")
    return 1 if fixes else 0


if __name__ == "__main__":
    sys.exit(main())
