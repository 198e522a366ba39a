"""Record what the programs of tests/programs compute.

Run with an interpreter that has the library of reference:

    python tests/recorded/record_programs.py > tests/recorded/programs.json
"""

import json
import subprocess
import sys
from pathlib import Path

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.py"))


def recorded() -> dict[str, list[float]]:
    """The numbers of each program, which a process of its own prints last."""
    made = {}
    for program in PROGRAMS:
        done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True,
                              check=True)
        made[program.stem] = json.loads(done.stdout.splitlines()[-1])
    return made


if __name__ == "__main__":
    print(json.dumps(recorded(), indent=1))
