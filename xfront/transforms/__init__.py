"""Front doors of the transformations: flatten, trace, transform, run or record."""
