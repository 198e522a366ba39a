"""Records what JAX's type promotion answers for every pair of types. Run with a real JAX:

    python -W ignore tests/recorded/record_promotion.py tests/recorded/promotion.json

The file holds, for 64-bit mode off and on, a matrix of cells: "name", "name*" (weak) or "-"
(refused).
"""

import importlib
import json
import sys

import numpy as np

# The system under observation; nothing in the project imports it.
jax = importlib.import_module("jax")
dtypes = importlib.import_module("jax.dtypes")

STRONG = """
bool uint2 uint4 uint8 uint16 uint32 uint64 int2 int4 int8 int16 int32 int64
bfloat16 float16 float32 float64 complex64 complex128
float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz
float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn
""".split()
WEAK = "int8 int32 int64 uint8 bfloat16 float16 float32 float64 complex64 complex128".split()
KINDS = STRONG + [name + "*" for name in WEAK]
PYTHON = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def answers(x64: bool) -> dict:
    """The matrix of one mode: tracers of each kind, asked two at a time."""
    wide = ("int64", "uint64", "float64", "complex128")
    kinds = [kind for kind in KINDS if x64 or kind.rstrip("*") not in wide]
    args = [
        jax.ShapeDtypeStruct((), np.dtype(getattr(jax.numpy, k.rstrip("*"))), weak_type="*" in k)
        for k in kinds
    ]
    rows = []

    def ask(*tracers: object) -> None:
        assert [t.weak_type for t in tracers] == [k.endswith("*") for k in kinds]
        assert [t.dtype.name for t in tracers] == [k.rstrip("*") for k in kinds]
        for a in tracers:
            rows.append(" ".join(answer(a, b) for b in (*tracers, *PYTHON.values())))

    jax.eval_shape(ask, *args)
    return {"kinds": kinds + list(PYTHON), "rows": rows}


def answer(a: object, b: object) -> str:
    """What two values promote to, as a cell."""
    try:
        dtype, weak = dtypes.result_type(a, b, return_weak_type_flag=True)
    except dtypes.TypePromotionError:
        return "-"
    return dtype.name + "*" * weak


def main() -> None:
    """Writes the file named on the command line."""
    command = "python -W ignore tests/recorded/record_promotion.py tests/recorded/promotion.json"
    record = {"command": command, "jax": jax.__version__}
    for x64 in (False, True):
        jax.config.update("jax_enable_x64", x64)
        for mode in ("standard", "strict"):
            jax.config.update("jax_numpy_dtype_promotion", mode)
            record[f"{mode} x64={x64}"] = answers(x64)
    with open(sys.argv[1], "w") as file:
        json.dump(record, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
