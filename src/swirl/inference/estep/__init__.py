"""The E-step in one pass: likelihood and expected counts (paper Eqs. 1–4; design.md#counts).

The data reach the M-step only through three tables of counts, and counts from chunks, devices or
machines simply add.  Nothing here knows of rewards: a chain emits *symbols* (a context and an action)
and its mode switches with a table chosen by the state.

`numba_loop`     a plain loop through numba (`numba_kernel`), several chains at a time (`batching`): for the CPU;
`pallas_kernel`  kernels for NVIDIA GPUs, each chain cut in time, sums in a fixed order;
`associative`    a parallel scan over time through XLA: for other GPUs, and for many modes;
`scan`           the loop through XLA in logarithms: any device, exact where the others would underflow.
"""
