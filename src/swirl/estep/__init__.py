"""The E-step in one pass: likelihood and expected counts (paper Eqs. 1–4; DESIGN §2b).

The data reach the M-step only through three tables of counts, and counts from chunks, devices or
machines simply add.  Nothing here knows of rewards: a chain emits *symbols* (a context and an action)
and its mode switches with a table chosen by the state.

`compiled`     a plain loop through numba (`kernel`), several chains at a time (`lanes`): for the CPU;
`associative`  a parallel scan over time through XLA: for GPUs;
`scan`         the loop through XLA in logarithms: any device, exact where the others would underflow.
"""
