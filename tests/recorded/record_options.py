"""Record the options that users expect, with their defaults.

Run with an interpreter that has the library of reference:

    python tests/recorded/record_options.py LIBRARY > tests/recorded/options.json
"""

import enum
import importlib
import json
import sys

library = importlib.import_module(sys.argv[1])


def plain(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    return value


print(json.dumps({k: plain(v) for k, v in sorted(library.config.values.items())}, indent=1))
