"""Classes of literals by which libraries ask what a value is. No value here is one of them: Python
numbers and NumPy arrays that a program holds are literals of its IR."""


class TypedNdArray:
    """A NumPy array that stands in a program."""


class LiteralArray(TypedNdArray):
    """An array that stands in a program."""


class TypedInt(int):
    """An integer with a dtype."""


class TypedFloat(float):
    """A float with a dtype."""


class TypedComplex(complex):
    """A complex number with a dtype."""
