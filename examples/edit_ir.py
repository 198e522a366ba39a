"""A program as text: print its IR, change a line, parse it, verify it, run and differentiate it.

Run it: `python examples/edit_ir.py`.
"""

from __future__ import annotations

from typing import Any

import xfront as jax
import xfront.numpy as jnp
import xfront_ir


def wave(x: Any) -> Any:
    """What the text starts from."""
    return jnp.sum(jnp.sin(x) * x)


def edit(text: str) -> str:
    """The same program with tanh where it had sin."""
    changed = text.replace("= sin(", "= tanh(")
    if changed == text:
        raise ValueError("the program has no sin to replace")
    return changed


def break_type(text: str) -> str:
    """The program with a result that claims to have one element more than it has."""
    return text.replace(": f32[3] = tanh(", ": f32[4] = tanh(")


def main() -> dict[str, Any]:
    """Goes from Python to text and back; gives the numbers on the way."""
    x = jnp.array([0.5, 1.0, 1.5])
    function = jax.make_jaxpr(wave)(x).ir
    text = str(function)
    print(f"the IR of wave:\n\n{text}\n")

    assert xfront_ir.same_structure(xfront_ir.parse(text), function)
    print("parsed again it is the same program\n")

    changed = edit(text)
    parsed = xfront_ir.parse(changed)
    xfront_ir.verify(parsed)
    print(f"with tanh in place of sin:\n\n{changed}\n")

    run = jax.from_ir(parsed)
    found = {"wave": wave(x), "changed": run(x), "slope": jax.grad(run)(x)}
    for name, value in found.items():
        print(f"{name:>8}: {value}")

    print("\nand what comes of a line with a wrong type:\n")
    try:
        xfront_ir.verify(xfront_ir.parse(break_type(changed)))
    except xfront_ir.IRError as error:
        print(f"{type(error).__name__}: {error}")
        found["refused"] = error
    return found


if __name__ == "__main__":
    main()
