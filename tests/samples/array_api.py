"""The special cases of the array API standard, as tables.

Written from the text of the standard, 2024.12, section "Special cases" of each function under
https://data-apis.org/array-api/2024.12/API_specification/elementwise_functions.html and
https://data-apis.org/array-api/2024.12/API_specification/statistical_functions.html.

A line is `function operands -> results`. Each word for an operand stands for a set of numbers, and
a line for all combinations of them; other words are numbers themselves. `a|b` as a result allows
both; `±x` leaves the sign open, and `+` and `-` leave all but the sign.
"""

import itertools
import math

INF, NAN = math.inf, math.nan
POSITIVE = (5e-3, 0.5, 1.0, 1.5, 2.0, 37.0)
NEGATIVE = tuple(-x for x in POSITIVE)
FINITE = (0.0, -0.0, *POSITIVE, *NEGATIVE)

WORDS = {
    "nan": (NAN,), "inf": (INF,), "-inf": (-INF,), "±inf": (INF, -INF),
    "0": (0.0,), "-0": (-0.0,), "±0": (0.0, -0.0), "1": (1.0,), "-1": (-1.0,), "±1": (1.0, -1.0),
    "positive": POSITIVE, "negative": NEGATIVE, "nonzero": POSITIVE + NEGATIVE, "finite": FINITE,
    "any": (*FINITE, INF, -INF), "anything": (*FINITE, INF, -INF, NAN),
    ">0": (*POSITIVE, INF), "<0": (*NEGATIVE, -INF),
    ">1": (1.0000001, 2.0, 1e30, INF), "<1": (0.9999999, 0.5, 0.0, -0.0, -3.0, -INF),
    "<-1": (-1.0000001, -2.0, -1e30, -INF), "|x|>1": (1.5, -1.5, 2.0, -2.0, 1e30, -1e30),
    "|x|<1": (0.5, -0.5, 5e-3, -5e-3, 0.0, -0.0),
    "odd": (1.0, 3.0, 7.0), "even": (2.0, 4.0, 6.0), "fraction": (0.5, 1.5, 2.5),
    "-odd": (-1.0, -3.0, -7.0), "-even": (-2.0, -4.0), "-fraction": (-0.5, -1.5, -2.5),
    "±fraction": (0.5, 1.5, -0.5, -2.5),
    "whole": (0.0, -0.0, 1.0, -1.0, 2.0, -7.0, 1e10, -1e10),
}
"""What the words for operands stand for."""

VALUES = {"nan": NAN, "inf": INF, "0": 0.0, "1": 1.0, "pi": math.pi, "pi/2": math.pi / 2,
          "pi/4": math.pi / 4, "3pi/4": 3 * math.pi / 4, "2": 2.0}
"""What the words for results stand for, apart from a sign before them."""

ONE = """
abs       nan -> nan ; -0 -> 0 ; ±inf -> inf ; 0 -> 0
acos      nan -> nan ; >1 -> nan ; <-1 -> nan ; 1 -> 0
acosh     nan -> nan ; <1 -> nan ; 1 -> 0 ; inf -> inf
asin      nan -> nan ; >1 -> nan ; <-1 -> nan ; 0 -> 0 ; -0 -> -0
asinh     nan -> nan ; 0 -> 0 ; -0 -> -0 ; inf -> inf ; -inf -> -inf
atan      nan -> nan ; 0 -> 0 ; -0 -> -0 ; inf -> pi/2 ; -inf -> -pi/2
atanh     nan -> nan ; >1 -> nan ; <-1 -> nan ; 1 -> inf ; -1 -> -inf ; 0 -> 0 ; -0 -> -0
ceil      whole -> same ; inf -> inf ; -inf -> -inf ; nan -> nan
cos       nan -> nan ; ±0 -> 1 ; ±inf -> nan
cosh      nan -> nan ; ±0 -> 1 ; ±inf -> inf
exp       nan -> nan ; ±0 -> 1 ; inf -> inf ; -inf -> 0
expm1     nan -> nan ; 0 -> 0 ; -0 -> -0 ; inf -> inf ; -inf -> -1
floor     whole -> same ; inf -> inf ; -inf -> -inf ; nan -> nan
log       nan -> nan ; <0 -> nan ; ±0 -> -inf ; 1 -> 0 ; inf -> inf
log1p     nan -> nan ; <-1 -> nan ; -1 -> -inf ; -0 -> -0 ; 0 -> 0 ; inf -> inf
log2      nan -> nan ; <0 -> nan ; ±0 -> -inf ; 1 -> 0 ; inf -> inf
log10     nan -> nan ; <0 -> nan ; ±0 -> -inf ; 1 -> 0 ; inf -> inf
reciprocal nan -> nan ; 0 -> inf ; -0 -> -inf ; inf -> 0 ; -inf -> -0
round     whole -> same ; inf -> inf ; -inf -> -inf ; nan -> nan ; 0.5 -> 0 ; 1.5 -> 2 ; 2.5 -> 2
round     -0.5 -> -0 ; -1.5 -> -2 ; -2.5 -> -2
sign      negative -> -1 ; ±0 -> 0|-0 ; positive -> 1 ; nan -> nan
sin       nan -> nan ; 0 -> 0 ; -0 -> -0 ; ±inf -> nan
sinh      nan -> nan ; 0 -> 0 ; -0 -> -0 ; inf -> inf ; -inf -> -inf
sqrt      nan -> nan ; <0 -> nan ; 0 -> 0 ; -0 -> -0 ; inf -> inf
tan       nan -> nan ; 0 -> 0 ; -0 -> -0 ; ±inf -> nan
tanh      nan -> nan ; 0 -> 0 ; -0 -> -0 ; inf -> 1 ; -inf -> -1
trunc     whole -> same ; inf -> inf ; -inf -> -inf ; nan -> nan
"""
"""Functions of one real number."""

TWO = """
add          nan anything -> nan ; anything nan -> nan ; inf -inf -> nan ; -inf inf -> nan
add          inf inf -> inf ; -inf -inf -> -inf ; inf finite -> inf ; finite inf -> inf
add          -inf finite -> -inf ; finite -inf -> -inf ; -0 -0 -> -0 ; -0 0 -> 0 ; 0 ±0 -> 0
add          ±0 nonzero -> second ; nonzero ±0 -> first ; 37 -37 -> 0 ; -1.5 1.5 -> 0
subtract     nan anything -> nan ; anything nan -> nan ; inf inf -> nan ; -inf -inf -> nan
subtract     inf finite -> inf ; finite -inf -> inf ; -0 0 -> -0 ; 0 ±0 -> 0 ; -0 -0 -> 0
multiply     nan anything -> nan ; anything nan -> nan ; ±inf ±0 -> nan ; ±0 ±inf -> nan
multiply     inf >0 -> inf ; inf <0 -> -inf ; -inf >0 -> -inf ; -inf <0 -> inf
multiply     >0 inf -> inf ; <0 inf -> -inf ; 0 positive -> 0 ; 0 negative -> -0 ; >0 -inf -> -inf
multiply     <0 -inf -> inf ; -0 positive -> -0 ; -0 negative -> 0 ; positive -0 -> -0
multiply     negative 0 -> -0 ; negative -0 -> 0 ; 0 0 -> 0 ; -0 -0 -> 0 ; 0 -0 -> -0 ; -0 0 -> -0
multiply     positive positive -> + ; negative negative -> + ; positive negative -> -
divide       nan anything -> nan ; anything nan -> nan ; ±inf ±inf -> nan ; ±0 ±0 -> nan
divide       0 >0 -> 0 ; -0 >0 -> -0 ; 0 <0 -> -0 ; -0 <0 -> 0 ; >0 0 -> inf ; >0 -0 -> -inf
divide       <0 0 -> -inf ; <0 -0 -> inf ; inf positive -> inf ; inf negative -> -inf
divide       -inf positive -> -inf ; -inf negative -> inf ; positive inf -> 0 ; positive -inf -> -0
divide       negative inf -> -0 ; negative -inf -> 0 ; positive positive -> +
divide       negative negative -> + ; positive negative -> - ; negative positive -> -
floor_divide nan anything -> nan ; anything nan -> nan ; ±inf ±inf -> nan ; ±0 ±0 -> nan
floor_divide 0 >0 -> 0 ; -0 >0 -> -0 ; 0 <0 -> -0 ; -0 <0 -> 0
floor_divide >0 0 -> inf ; >0 -0 -> -inf ; <0 0 -> -inf ; <0 -0 -> inf
floor_divide inf positive -> inf|nan ; inf negative -> -inf|nan ; -inf positive -> -inf|nan
floor_divide -inf negative -> inf|nan ; positive inf -> 0 ; positive -inf -> -0|-1
floor_divide negative inf -> -0|-1 ; negative -inf -> 0 ; positive positive -> +
floor_divide negative negative -> + ; positive negative -> - ; negative positive -> -
remainder    nan anything -> nan ; anything nan -> nan ; ±inf ±inf -> nan ; ±0 ±0 -> nan
remainder    ±0 >0 -> 0 ; ±0 <0 -> -0 ; nonzero ±0 -> nan ; ±inf finite -> nan
remainder    positive inf -> first ; positive -inf -> second ; negative inf -> second
remainder    negative -inf -> first
pow          |x|>1 inf -> inf ; |x|>1 -inf -> 0 ; ±1 ±inf -> 1 ; 1 anything -> 1
pow          nan ±0 -> 1 ; anything ±0 -> 1 ; |x|<1 inf -> 0 ; |x|<1 -inf -> inf
pow          inf >0 -> inf ; inf <0 -> 0 ; -inf odd -> -inf ; -inf even -> inf
pow          -inf fraction -> inf ; -inf -odd -> -0 ; -inf -even -> 0 ; -inf -fraction -> 0
pow          0 >0 -> 0 ; 0 <0 -> inf ; -0 odd -> -0 ; -0 even -> 0 ; -0 fraction -> 0
pow          -0 -odd -> -inf ; -0 -even -> inf ; -0 -fraction -> inf ; negative ±fraction -> nan
pow          nan nonzero -> nan ; ±fraction nan -> nan ; nan ±inf -> nan ; ±inf nan -> nan
pow          ±0 nan -> nan ; -1 nan -> nan ; inf -inf -> 0 ; -inf inf -> inf ; -inf -inf -> 0
pow          -0 inf -> 0 ; -0 -inf -> inf ; 0 -inf -> inf
atan2        nan anything -> nan ; anything nan -> nan ; >0 ±0 -> pi/2 ; 0 >0 -> 0 ; 0 0 -> 0
atan2        0 -0 -> pi ; 0 <0 -> pi ; -0 >0 -> -0 ; -0 0 -> -0 ; -0 -0 -> -pi ; -0 <0 -> -pi
atan2        <0 ±0 -> -pi/2 ; positive inf -> 0 ; positive -inf -> pi ; negative inf -> -0
atan2        negative -inf -> -pi ; inf finite -> pi/2 ; -inf finite -> -pi/2 ; inf inf -> pi/4
atan2        inf -inf -> 3pi/4 ; -inf inf -> -pi/4 ; -inf -inf -> -3pi/4
hypot        ±inf anything -> inf ; anything ±inf -> inf ; nan finite -> nan ; finite nan -> nan
hypot        ±0 ±0 -> 0 ; nan nan -> nan ; ±0 finite -> |second| ; finite ±0 -> |first|
logaddexp    nan anything -> nan ; anything nan -> nan ; inf any -> inf ; any inf -> inf
maximum      nan anything -> nan ; anything nan -> nan
minimum      nan anything -> nan ; anything nan -> nan
copysign     any >0 -> |first| ; any 0 -> |first| ; any <0 -> -|first| ; any -0 -> -|first|
copysign     nan anything -> nan
nextafter    nan anything -> nan ; anything nan -> nan ; -0 0 -> 0 ; 0 -0 -> -0
"""
"""Functions of two real numbers; `first` and `second` are the operands."""

TRUTHS = """
isfinite  ±inf -> false ; nan -> false ; finite -> true
isinf     ±inf -> true ; nan -> false ; finite -> false
isnan     nan -> true ; any -> false
signbit   0 -> false ; -0 -> true ; inf -> false ; -inf -> true ; positive -> false
signbit   negative -> true
equal     nan anything -> false ; anything nan -> false ; inf inf -> true ; -inf -inf -> true
equal     ±0 ±0 -> true ; 1.5 1.5 -> true ; positive negative -> false ; ±inf finite -> false
not_equal nan anything -> true ; anything nan -> true ; inf -inf -> true ; -inf inf -> true
not_equal ±0 ±0 -> false ; positive negative -> true ; inf inf -> false ; -inf -inf -> false
"""
"""Functions of real numbers that give true or false."""

COMPLEX_TRUTHS = """
isfinite  nan anything -> false ; anything nan -> false ; ±inf anything -> false
isfinite  anything ±inf -> false ; finite finite -> true
isinf     ±inf anything -> true ; anything ±inf -> true ; finite nan -> false ; nan nan -> false
isnan     nan anything -> true ; anything nan -> true ; any any -> false
"""
"""Functions of a complex number that give true or false."""

COMPLEX = """
abs    ±inf anything -> inf 0 ; anything ±inf -> inf 0 ; ±0 ±0 -> 0 0 ; nan finite -> nan 0
abs    finite nan -> nan 0 ; nan nan -> nan 0
acos   ±0 0 -> pi/2 -0 ; ±0 nan -> pi/2 nan ; finite inf -> pi/2 -inf ; nonzero nan -> nan nan
acos   -inf positive -> pi -inf ; inf positive -> 0 -inf ; -inf inf -> 3pi/4 -inf
acos   inf inf -> pi/4 -inf ; ±inf nan -> nan ±inf ; nan finite -> nan nan ; nan inf -> nan -inf
acos   nan nan -> nan nan
acosh  ±0 0 -> 0 pi/2 ; finite inf -> inf pi/2 ; nonzero nan -> nan nan ; 0 nan -> nan ±pi/2
acosh  -inf positive -> inf pi ; inf positive -> inf 0 ; -inf inf -> inf 3pi/4
acosh  inf inf -> inf pi/4 ; ±inf nan -> inf nan ; nan finite -> nan nan ; nan inf -> inf nan
acosh  nan nan -> nan nan
asinh  0 0 -> 0 0 ; positive inf -> inf pi/2 ; finite nan -> nan nan ; inf positive -> inf 0
asinh  inf inf -> inf pi/4 ; inf nan -> inf nan ; nan 0 -> nan 0 ; nan nonzero -> nan nan
asinh  nan inf -> ±inf nan ; nan nan -> nan nan
atanh  0 0 -> 0 0 ; 0 nan -> 0 nan ; 1 0 -> inf 0 ; positive inf -> 0 pi/2
atanh  nonzero nan -> nan nan ; inf positive -> 0 pi/2 ; inf inf -> 0 pi/2 ; inf nan -> 0 nan
atanh  nan finite -> nan nan ; nan inf -> ±0 pi/2 ; nan nan -> nan nan
cosh   0 0 -> 1 0 ; 0 inf -> nan ±0 ; 0 nan -> nan ±0 ; nonzero inf -> nan nan
cosh   nonzero nan -> nan nan ; inf 0 -> inf 0 ; inf positive -> inf*cis ; inf inf -> ±inf nan
cosh   inf nan -> inf nan ; nan ±0 -> nan ±0 ; nan nonzero -> nan nan ; nan nan -> nan nan
exp    ±0 0 -> 1 0 ; finite inf -> nan nan ; finite nan -> nan nan ; inf 0 -> inf 0
exp    -inf finite -> 0*cis ; inf nonzero -> inf*cis ; -inf inf -> ±0 ±0 ; inf inf -> ±inf nan
exp    -inf nan -> ±0 ±0 ; inf nan -> ±inf nan ; nan 0 -> nan 0 ; nan nonzero -> nan nan
exp    nan inf -> nan nan ; nan nan -> nan nan
expm1  ±0 0 -> ±0 0 ; finite inf -> nan nan ; finite nan -> nan nan ; inf 0 -> inf 0
expm1  -inf positive -> -1 ±0 ; inf nonzero -> inf*cis ; -inf inf -> -1 ±0 ; inf inf -> ±inf nan
expm1  -inf nan -> -1 ±0 ; inf nan -> ±inf nan ; nan 0 -> nan 0 ; nan nonzero -> nan nan
expm1  nan inf -> nan nan ; nan nan -> nan nan
log    -0 0 -> -inf pi ; 0 0 -> -inf 0 ; finite inf -> inf pi/2 ; finite nan -> nan nan
log    -inf positive -> inf pi ; inf positive -> inf 0 ; -inf inf -> inf 3pi/4
log    inf inf -> inf pi/4 ; ±inf nan -> inf nan ; nan finite -> nan nan ; nan inf -> inf nan
log    nan nan -> nan nan
log1p  -1 0 -> -inf 0 ; finite inf -> inf pi/2 ; finite nan -> nan nan ; -inf positive -> inf pi
log1p  inf positive -> inf 0 ; -inf inf -> inf 3pi/4 ; inf inf -> inf pi/4 ; ±inf nan -> inf nan
log1p  nan finite -> nan nan ; nan inf -> inf nan ; nan nan -> nan nan
sign   ±0 ±0 -> ±0 ±0 ; nan anything -> nan nan ; anything nan -> nan nan
sinh   0 0 -> 0 0 ; 0 inf -> ±0 nan ; 0 nan -> ±0 nan ; positive inf -> nan nan
sinh   positive nan -> nan nan ; inf 0 -> inf 0 ; inf positive -> inf*cis ; inf inf -> ±inf nan
sinh   inf nan -> ±inf nan ; nan 0 -> nan 0 ; nan nonzero -> nan nan ; nan nan -> nan nan
sqrt   ±0 0 -> 0 0 ; anything inf -> inf inf ; finite nan -> nan nan ; -inf positive -> 0 inf
sqrt   inf positive -> inf 0 ; -inf nan -> nan ±inf ; inf nan -> inf nan ; nan finite -> nan nan
sqrt   nan nan -> nan nan
tanh   0 0 -> 0 0 ; 0 inf -> 0 nan ; nonzero inf -> nan nan ; 0 nan -> 0 nan
tanh   nonzero nan -> nan nan ; inf positive -> 1 ±0 ; inf inf -> 1 ±0 ; inf nan -> 1 ±0
tanh   nan 0 -> nan 0 ; nan nonzero -> nan nan ; nan nan -> nan nan
"""
"""Functions of a complex number: real and imaginary part of operand and result.

`sqrt` is that of C99 and NumPy where the real part is infinite and the imaginary one positive: the
text of the standard has NaN for -inf there, and for inf the result that C99 has for -inf.
"""

CONJUGATE = ("acos acosh asinh atanh cosh exp expm1 log log1p sinh sqrt tanh").split()
"""f(conj z) = conj f(z), says the standard of these."""
ODD, EVEN = ("asinh atanh sinh tanh").split(), ["cosh"]
TURNED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh"}
"""The cases of a key at z are those of its value at iz, the result over i; so cos(z) = cosh(iz)."""


def cases(table: str) -> list[tuple[str, tuple[float, ...], tuple[str, ...]]]:
    """(function, operands, results) of each case of a table."""
    made = []
    for line in table.strip().splitlines():
        name, rest = line.split(None, 1)
        for case in rest.split(";"):
            given, results = (side.split() for side in case.split("->"))
            numbers = [WORDS.get(w) or (float(w),) for w in given]
            made += [(name, operands, tuple(results)) for operands in itertools.product(*numbers)]
    return made


def allowed(word: str) -> list[float]:
    """The values that a word for a result allows."""
    if "|" in word:
        return [v for w in word.split("|") for v in allowed(w)]
    value = VALUES.get(word.lstrip("±-"))
    if value is None:
        return [float(word)]
    return [value, -value] if word[0] == "±" else [-value if word[0] == "-" else value]


def same(found: float, wanted: list[float], eps: float) -> bool:
    """Whether a value is one of those wanted, zeros by sign."""
    for x in wanted:
        if math.isnan(x) or math.isnan(found):
            if math.isnan(x) and math.isnan(found):
                return True
        elif x == 0 or math.isinf(x):
            if x == found and math.copysign(1, x) == math.copysign(1, found):
                return True
        elif abs(found - x) <= eps * abs(x):
            return True
    return False
