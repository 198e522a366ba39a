"""A pytest plugin that gives one file another source: `MUTANT=FILE=SOURCE`."""

import os
from importlib.machinery import SourceFileLoader
from types import CodeType

_path, _, _source = os.environ["MUTANT"].partition("=")
_get_code = SourceFileLoader.get_code


def _planted(self: SourceFileLoader, fullname: str) -> CodeType | None:
    if self.path != _path:
        return _get_code(self, fullname)
    with open(_source, encoding="utf-8") as f:
        return compile(f.read(), _path, "exec")


SourceFileLoader.get_code = _planted
