"""Docstrings of generated functions: a text, and an example that runs."""

from __future__ import annotations

import re


def with_example(doc: str, function: str, shows: str) -> str:
    """`doc` and a call of `function`, such as `jnp.sin`.

    Args:
      shows: the elements of its operands and of its result, `[0., 1.] -> [0.   , 0.841]`, followed
        by the dtype unless it is float32, `[1, 2], [3, 4] -> [4, 6] int32`.
    """
    given, _, made = shows.partition(" -> ")
    elements, dtype = re.fullmatch(r"(.*?)(?: ([a-z]+\d*))?", made).groups()  # type: ignore
    operands = re.sub(r"\[[^]]*\]", r"jnp.array(\g<0>)", given)
    return f"{doc}\n\n>>> {function}({operands})\nArray({elements}, dtype={dtype or 'float32'})"


__all__ = ["with_example"]
