"""Reads options from the command line, for programs that parse theirs with absl."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

_FLAG = re.compile(r"--?(?P<no>no)?(?P<name>(?:jax|xfront|mock)_\w+)(?:=(?P<value>.*))?", re.DOTALL)


def parse_command_line(config: Any, options: Mapping[str, Any]) -> None:
    """Set the options that `sys.argv` names before `--`; other arguments are left alone.

    Where absl is installed, the options become absl flags, so that `absl.app` accepts them. Other
    absl flags can then be read too: they have their defaults until absl parses them.
    Raises: ValueError, NotImplementedError where an option does not accept its value.
    """
    _define_for_absl(options)
    given = list(itertools.takewhile(lambda a: a != "--", sys.argv[1:]))
    for i, argument in enumerate(given):
        found = _FLAG.fullmatch(argument)
        name = found["name"].replace("xfront_", "jax_", 1) if found else ""
        if found is None or name not in options:
            continue
        value: Any = found["value"]
        if isinstance(options[name].default, bool) and value is None:
            value = found["no"] is None
        elif value is None:
            value = given[i + 1] if i + 1 < len(given) else ""
        config.update(name, value)


def _define_for_absl(options: Mapping[str, Any]) -> None:
    flags: Any = sys.modules.get("absl.flags") or _absl_flags()
    if flags is None:
        return
    for name, option in options.items():
        if name not in flags.FLAGS:
            define = flags.DEFINE_boolean if isinstance(option.default, bool) else (
                flags.DEFINE_string)
            define(name, None, option.__doc__)
    flags.FLAGS.mark_as_parsed()


def _absl_flags() -> Any:
    try:
        return import_module("absl.flags")
    except ImportError:
        return None


__all__ = ["parse_command_line"]
