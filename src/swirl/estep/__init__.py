"""The E-step in one pass: likelihood and expected counts (paper Eqs. 1–4; DESIGN §2b).

The data reach the M-step only through three tables of counts, and counts from chunks, devices or
machines simply add.  Nothing here knows of rewards: a chain emits *symbols* (a context and an action)
and its mode switches with a table chosen by the state.

`compiled`  a plain loop through numba, for the CPU;
`scan`      the same through XLA, for any device, and the fallback where numba is not installed.
"""
