"""Operations that training itself has no need of: matrix decompositions, and sorting.

Where one of them takes much of a step, and lies in no layer, a loss, a metric or a penalty of the
user's asks for it: a spectral norm, a rank, a permutation.
"""

from __future__ import annotations

import re

# As TensorFlow, JAX and torch name them, without prefixes and versions.
NAMES = frozenset(
    {
        *("svd", "eigh", "eig", "selfadjointeig", "qr", "cholesky", "cholesky_ex"),
        *("lu", "lu_factor", "lu_factor_ex", "matrixinverse", "inv_ex", "matrixexponential"),
        *("matrix_exp", "matrixsquareroot", "householder_product", "triangular_solve"),
        *("matrixtriangularsolve", "sort", "argsort", "topk", "top_k"),
        *("unique", "unique2", "unique_dim"),
    }
)
_PREFIX = re.compile(r"^_*(?:linalg_)?_*")
_VERSION = re.compile(r"v\d+$")


def is_decomposition(op: str) -> bool:
    """Whether an operation decomposes a matrix, or sorts.

    Example:
        >>> is_decomposition("_linalg_svd"), is_decomposition("TopKV2"), is_decomposition("MatMul")
        (True, True, False)
    """
    return _VERSION.sub("", _PREFIX.sub("", op.lower())) in NAMES
