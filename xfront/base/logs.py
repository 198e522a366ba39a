"""Writes to the loggers that programs expect: `jax` and those below it."""

from __future__ import annotations

import logging
import sys

DISPATCH = "jax._src.dispatch"
COMPILING = "jax._src.interpreters.pxla"
TRACING = "jax._src.interpreters.partial_eval"

_handlers: dict[str, logging.Handler] = {}


def configure(level: str | None, modules: str) -> None:
    """Set the level of the logger `jax`, and send the loggers in `modules` to standard error."""
    logging.getLogger("jax").setLevel(level or "NOTSET")
    wanted = {name.strip() for name in modules.split(",") if name.strip()}
    for name in [*_handlers]:
        if name not in wanted:
            logging.getLogger(name).removeHandler(_handlers.pop(name))
            logging.getLogger(name).setLevel("NOTSET")
    for name in wanted - {*_handlers}:
        handler = _handlers[name] = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s: %(message)s"))
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel("DEBUG")


def write(logger: str, loud: bool, message: str) -> None:
    """Log at WARNING where `loud`, else at DEBUG."""
    logging.getLogger(logger).log(logging.WARNING if loud else logging.DEBUG, "%s", message)


def is_heard(logger: str) -> bool:
    """Whether the logger is enabled at DEBUG."""
    return logging.getLogger(logger).isEnabledFor(logging.DEBUG)


__all__ = ["COMPILING", "DISPATCH", "TRACING", "configure", "is_heard", "write"]
