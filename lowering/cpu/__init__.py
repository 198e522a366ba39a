"""What XLA's CPU compiler is given other than on other platforms: fences, forms of ops."""
