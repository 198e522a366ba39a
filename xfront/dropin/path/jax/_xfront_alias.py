"""The sign by which xfront knows this package for its own: see `xfront.binding.beside`."""
