"""Classes of literals for which libraries test values. No value here is an instance of them: Python
numbers and NumPy arrays in a program are literals of its IR."""


class TypedNdArray:
    """The class of NumPy arrays in a program."""


class LiteralArray(TypedNdArray):
    """The class of arrays in a program."""


class TypedInt(int):
    """An integer with a dtype."""


class TypedFloat(float):
    """A float with a dtype."""


class TypedComplex(complex):
    """A complex number with a dtype."""
