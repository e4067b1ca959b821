"""The loop that numba compiles; apart, because run-time shape checks cannot be woven into machine code.

Numba keeps what it compiled in files that are numbered, and an index that says which number is whose.  Two processes
that start at once may give one number to two loops; a third then runs the wrong one, without a word.  So every loop has
files of its own: its name says for how many modes and lanes it is, and of which source, and it has one signature.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

SIGNATURE = (
    "void(f8[::1], f8[:,:,::1], f8[:,::1], i4[::1], i4[::1], i8[::1], f8[::1], i8, i8, "
    "f8[:,::1], f8[:,:,::1], f8[::1], f8[::1])"
)


IN_REGISTERS = 8  # modes; of rows of more than ten LLVM copies all for every entry (12 modes: five times as slow)
cleared: Any = None
"""room for a row → a row of zeros"""
with_entry: Any = None
"""(row, place, number) → the row with that number there"""


def _load_rows(n_modes: int) -> None:
    """Say how rows are kept: as tuples, which LLVM keeps in registers, or, where they are long, in arrays."""
    import numba
    from numba.cpython.unsafe.tuple import tuple_setitem

    none = (0.0,) * n_modes

    def no_row(room):
        return none

    def zeroed(room):
        for z in range(n_modes):
            room[z] = 0.0
        return room

    def entered(row, z, number):
        row[z] = number
        return row

    short = n_modes <= IN_REGISTERS
    # Not in the loop's closure, which is part of the name of the file to look for.
    globals()["cleared"] = numba.njit(no_row if short else zeroed)
    globals()["with_entry"] = tuple_setitem if short else numba.njit(entered)


_lock = Lock()  # fits may run at the same time, and how rows are kept is said to the compiler by globals


def kernel(n_modes: int, n_lanes: int) -> Callable[..., None]:
    """The pass for `n_modes` modes and `n_lanes` chains at a time, compiled once, by one thread."""
    with _lock:
        return _compiled(n_modes, n_lanes)


@cache
def _compiled(n_modes: int, n_lanes: int) -> Callable[..., None]:
    """Compile the pass for `n_modes` modes and `n_lanes` chains at a time: constants, so that inner loops unroll.

    Forward:  α_t(z') = (Σ_z α_{t−1}(z) P[s_{t−1}, z, z']) e[y_t, z'] / c_t,  Σ_z α_t(z) = 1
    Backward: u_t(z') = e[y_t, z'] β_t(z') / c_t,   β_{t−1}(z) = Σ_z' P[s_{t−1}, z, z'] u_t(z')
    Counts:   W[y_t, z] += α_t(z) β_t(z),   X[s_{t−1}, z, z'] += α_{t−1}(z) u_t(z')   (times P, by the caller)

    A chain that counts w times has β_T = w: all its counts are linear in β.
    """
    import numba

    _load_rows(n_modes)
    K, B = n_modes, n_lanes

    # Rows that a step works with are tuples where they are short: of an array LLVM has to assume that each write may
    # change the tables. Numbers of rows are unsigned: no check for those that count from the end.
    def accumulate(initial, P, e, states, symbols, starts, weights, first, last, W, X, N1, log_likelihoods):
        longest = 0
        for group in range(first, last):
            longest = max(longest, (starts[group + 1] - starts[group]) // B)
        alpha = np.empty((longest, B, K))
        inverse = np.empty((longest, B))  # 1 / c_t
        beta = np.empty((B, K))
        product = np.empty(B)  # of the c_t: one logarithm for many steps
        rooms = np.empty((4, K))
        room_a, room_u, room_g, room_b = rooms[0], rooms[1], rooms[2], rooms[3]
        for group in range(first, last):
            start = starts[group]
            T = (starts[group + 1] - start) // B
            log_likelihood = 0.0
            for lane in range(B):
                y = np.uint32(symbols[start + lane])
                c = 0.0
                for z in range(K):
                    alpha[0, lane, z] = initial[z] * e[y, z]
                    c += alpha[0, lane, z]
                for z in range(K):
                    alpha[0, lane, z] /= c
                inverse[0, lane] = 1.0 / c
                product[lane] = c
            for t in range(1, T):
                for lane in range(B):
                    s = np.uint32(states[start + (t - 1) * B + lane])
                    y = np.uint32(symbols[start + t * B + lane])
                    a = cleared(room_a)
                    for i in range(K):
                        before = alpha[t - 1, lane, i]
                        for z in range(K):
                            a = with_entry(a, z, a[z] + before * P[s, i, z])
                    c = 0.0
                    for z in range(K):
                        seen = a[z] * e[y, z]
                        a = with_entry(a, z, seen)
                        c += seen
                    scale = 1.0 / c
                    for z in range(K):
                        alpha[t, lane, z] = a[z] * scale
                    inverse[t, lane] = scale
                    product[lane] *= c
                for lane in range(B):  # c_t > 1e-260 (`numba_loop.suits`), so the product never underflows
                    if product[lane] < 1e-40:
                        log_likelihood += weights[group * B + lane] * np.log(product[lane])
                        product[lane] = 1.0
            for lane in range(B):
                log_likelihood += weights[group * B + lane] * np.log(product[lane])
                for z in range(K):
                    beta[lane, z] = weights[group * B + lane]
            log_likelihoods[group] = log_likelihood
            for t in range(T - 1, 0, -1):
                for lane in range(B):
                    s = np.uint32(states[start + (t - 1) * B + lane])
                    y = np.uint32(symbols[start + t * B + lane])
                    scale = inverse[t, lane]
                    u, gamma, b = cleared(room_u), cleared(room_g), cleared(room_b)
                    for z in range(K):
                        u = with_entry(u, z, e[y, z] * beta[lane, z] * scale)
                        gamma = with_entry(gamma, z, alpha[t, lane, z] * beta[lane, z])
                    for z in range(K):
                        W[y, z] += gamma[z]
                    for i in range(K):
                        total = 0.0
                        for z in range(K):
                            total += P[s, i, z] * u[z]
                        b = with_entry(b, i, total)
                    for i in range(K):
                        before = alpha[t - 1, lane, i]
                        row = cleared(room_a)
                        for z in range(K):
                            row = with_entry(row, z, X[s, i, z] + before * u[z])
                        for z in range(K):
                            X[s, i, z] = row[z]
                    for z in range(K):
                        beta[lane, z] = b[z]
            for lane in range(B):
                y = np.uint32(symbols[start + lane])
                for z in range(K):
                    g = alpha[0, lane, z] * beta[lane, z]
                    W[y, z] += g
                    N1[z] += g

    source = hashlib.sha256(Path(__file__).read_bytes() + numba.__version__.encode()).hexdigest()[:12]
    accumulate.__qualname__ = f"accumulate_{K}_modes_{B}_lanes_{source}"
    options = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
    return numba.njit(SIGNATURE, **options)(accumulate)
