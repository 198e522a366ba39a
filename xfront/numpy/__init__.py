from .elementwise import add, multiply, sin
