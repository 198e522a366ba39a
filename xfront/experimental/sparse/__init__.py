"""Arrays whose elements are mostly zero, stored as the others with coordinates (BCOO, BCSR), and
matrices in the forms of SciPy (COO, CSR, CSC).

Everything is computed by gathers, scatters and sorts of dense arrays, so every transformation
works. `n_batch` leading axes are batches, each with coordinates of its own; `n_dense` trailing
axes are kept whole at each coordinate. Coordinates outside the shape are padding and hold zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.on_demand import on_demand

_FAMILIES = {
    "coordinates":
        "BCOO JAXSparse SparseEfficiencyError SparseEfficiencyWarning bcoo_extract bcoo_fromdense "
        "bcoo_todense bcoo_sort_indices bcoo_sum_duplicates bcoo_update_layout",
    "arithmetic": "bcoo_multiply_dense bcoo_multiply_sparse bcoo_reduce_sum",
    "moving":
        "bcoo_broadcast_in_dim bcoo_concatenate bcoo_dynamic_slice bcoo_gather bcoo_reshape "
        "bcoo_rev bcoo_slice bcoo_squeeze bcoo_transpose",
    "products": "bcoo_conv_general_dilated bcoo_dot_general bcoo_dot_general_sampled",
    "rows":
        "BCSR bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general bcsr_extract bcsr_fromdense "
        "bcsr_sum_duplicates bcsr_todense",
    "matrices":
        "COO CSC CSR coo_fromdense coo_matmat coo_matvec coo_todense csr_fromdense csr_matmat "
        "csr_matvec csr_todense",
    "creation": "empty eye random_bcoo todense",
    "derivatives": "grad jacfwd jacobian jacrev value_and_grad",
    "sparsified": "sparsify",
}

if TYPE_CHECKING:
    from .arithmetic import *
    from .coordinates import *
    from .creation import *
    from .derivatives import *
    from .matrices import *
    from .moving import *
    from .products import *
    from .rows import *
    from .sparsified import *
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, _FAMILIES)
