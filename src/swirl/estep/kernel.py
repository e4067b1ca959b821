"""The loop that numba compiles; apart, because run-time shape checks cannot be woven into machine code."""

from collections.abc import Callable
from functools import cache

import numpy as np


@cache
def kernel(n_modes: int) -> Callable[..., None]:
    """Compile the pass for `n_modes` modes: a constant, so that the inner loops unroll.

    Forward:  α_t(z') = (Σ_z α_{t−1}(z) P[s_{t−1}, z, z']) e[y_t, z'] / c_t,  Σ_z α_t(z) = 1
    Backward: u_t(z') = e[y_t, z'] β_t(z') / c_t,   β_{t−1}(z) = Σ_z' P[s_{t−1}, z, z'] u_t(z')
    Counts:   W[y_t, z] += α_t(z) β_t(z),   X[s_{t−1}, z, z'] += α_{t−1}(z) u_t(z')   (times P, by the caller)
    """
    from numba import njit

    K = n_modes

    @njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp"})
    def accumulate(initial, P, e, states, symbols, offsets, first, last, W, X, N1, log_likelihoods):
        longest = 0
        for chain in range(first, last):
            longest = max(longest, offsets[chain + 1] - offsets[chain])
        alpha = np.empty((longest, K))
        inverse = np.empty(longest)  # 1 / c_t
        beta = np.empty(K)
        u = np.empty(K)
        for chain in range(first, last):
            start = offsets[chain]
            T = offsets[chain + 1] - start
            y = symbols[start]
            c = 0.0
            for z in range(K):
                alpha[0, z] = initial[z] * e[y, z]
                c += alpha[0, z]
            for z in range(K):
                alpha[0, z] /= c
            inverse[0] = 1.0 / c
            product = c  # of the c_t: one logarithm for many steps
            log_likelihood = 0.0
            for t in range(1, T):
                s = states[start + t - 1]
                y = symbols[start + t]
                c = 0.0
                for z in range(K):
                    a = 0.0
                    for i in range(K):
                        a += alpha[t - 1, i] * P[s, i, z]
                    a *= e[y, z]
                    alpha[t, z] = a
                    c += a
                scale = 1.0 / c
                for z in range(K):
                    alpha[t, z] *= scale
                inverse[t] = scale
                if product < 1e-100 or c < 1e-100:
                    log_likelihood += np.log(product)
                    product = 1.0
                product *= c
            log_likelihoods[chain] = log_likelihood + np.log(product)
            for z in range(K):
                beta[z] = 1.0
            for t in range(T - 1, 0, -1):
                s = states[start + t - 1]
                y = symbols[start + t]
                for z in range(K):
                    W[y, z] += alpha[t, z] * beta[z]
                    u[z] = e[y, z] * beta[z] * inverse[t]
                for i in range(K):
                    b = 0.0
                    for z in range(K):
                        b += P[s, i, z] * u[z]
                        X[s, i, z] += alpha[t - 1, i] * u[z]
                    beta[i] = b
            y = symbols[start]
            for z in range(K):
                g = alpha[0, z] * beta[z]
                W[y, z] += g
                N1[z] += g

    return accumulate
