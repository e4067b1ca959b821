"""Section 2: the E-step against hmmlearn and dynamax, on identical sequences, in float64.

The hidden chain is homogeneous, because that is what the rivals offer; ours looks its table up by state as always
(here all states are one).  All must agree on log-likelihood and counts before anything is timed.  Both rivals are
timed with counts and in their quickest form without them; the ratio is to the quickest of the four.
"""

import jax
import jax.numpy as jnp
import numpy as np
from dynamax.hidden_markov_model import hmm_smoother
from hmmlearn.hmm import CategoricalHMM
from problems import N_SYMBOLS, sampled_problem

from report import Options, Section, Table, interleaved
from swirl.inference.engines import device_counts
from swirl.inference.estep import numba_loop, scan
from swirl.inference.estep.counts import Chains, Counts, Tables
from swirl.precision import float64, numpy_tree

TOLERANCE = 1e-8


def contenders(n_modes: int, n_chains: int, n_steps: int) -> tuple[dict, dict]:
    """Functions to time, by name, and what those with counts must agree on."""
    initial, transitions, emissions, symbols = sampled_problem(n_modes, n_chains, n_steps)

    tables = Tables(np.log(initial)[None], np.log(transitions)[None, None], np.log(emissions.T)[None])
    chains = Chains(
        symbols=symbols.ravel().astype(np.int32),
        states=np.zeros(symbols.size, dtype=np.int32),
        offsets=np.arange(n_chains + 1) * n_steps,
        n_symbols=N_SYMBOLS,
        n_states=1,
    )

    hmm = CategoricalHMM(n_modes, n_features=N_SYMBOLS, implementation="scaling")
    hmm.startprob_, hmm.transmat_, hmm.emissionprob_ = initial, transitions, emissions
    column, lengths = symbols.reshape(-1, 1), [n_steps] * n_chains

    @jax.jit
    def smoothed(initial, transitions, log_emissions, symbols):
        def one(y):
            # compute_trans_probs=False fails under jit in dynamax 1.0; pairs that nobody reads are compiled away.
            posterior = hmm_smoother(initial, transitions, log_emissions[y])
            return posterior.marginal_loglik, posterior.smoothed_probs

        return jax.vmap(one)(symbols)

    @jax.jit
    def smoothed_counts(initial, transitions, log_emissions, symbols):
        posterior = jax.vmap(lambda y: hmm_smoother(initial, transitions, log_emissions[y]))(symbols)
        emitted = jnp.zeros_like(log_emissions).at[symbols].add(posterior.smoothed_probs)
        start = posterior.smoothed_probs[:, 0].sum(axis=0)
        return posterior.marginal_loglik.sum(), start, posterior.trans_probs.sum(axis=0), emitted

    with float64():
        padded = jax.device_put(scan.pad(chains))
        arrays = [jax.device_put(a) for a in (initial, transitions, np.log(emissions.T), symbols)]
        device_tables = jax.device_put(tables)

    def of_scan() -> Counts:
        with float64():
            return jax.block_until_ready(device_counts(device_tables, padded, in_parallel=False))

    def of_dynamax(function):
        with float64():
            return jax.block_until_ready(function(*arrays))

    timed = {
        "swirl, compiled": lambda: numba_loop.expected_counts(tables, chains),
        "swirl, scan": of_scan,
        "hmmlearn, with counts": lambda: hmm._do_estep(column, lengths),
        "hmmlearn, posteriors only": lambda: hmm.score_samples(column, lengths),
        "dynamax, with counts": lambda: of_dynamax(smoothed_counts),
        "dynamax, posteriors only": lambda: of_dynamax(smoothed),
    }

    stats, hmmlearn_likelihood = timed["hmmlearn, with counts"]()
    # hmmlearn 0.3 leaves the counts of transitions, start and symbols [mode, symbol] in its dictionary.
    agree = {
        "hmmlearn": (hmmlearn_likelihood, stats["start"], stats["trans"], stats["obs"].T),
        "dynamax": tuple(numpy_tree(timed["dynamax, with counts"]())),
    }
    for name, counts in (("compiled", timed["swirl, compiled"]()), ("scan", numpy_tree(of_scan()))):
        agree[name] = (
            counts.log_likelihood[0],
            counts.initial[0],
            counts.transitions[0, 0],
            counts.emissions[0],
        )
    return timed, agree


def check(agree: dict[str, tuple]) -> float:
    """Largest relative difference between any two answers; raises where they do not agree."""
    reference = agree["compiled"]
    worst = 0.0
    for name, answer in agree.items():
        for part, ours, theirs in zip(
            ("log-likelihood", "initial", "transitions", "emissions"), reference, answer, strict=True
        ):
            difference = float(np.max(np.abs(np.asarray(ours) - theirs) / np.maximum(np.abs(ours), 1.0)))
            if not difference < TOLERANCE:
                raise RuntimeError(f"{name} and swirl differ by {difference:.2g} in {part}")
            worst = max(worst, difference)
    return worst


def measure(options: Options) -> Section:
    """Million steps a second for K = 2, 3, 5, 8, and the ratio to the quickest rival."""
    n_chains, n_steps = (40, 200) if options.quick else (200, 500)
    rows, values = [], {}
    worst = 0.0
    for n_modes in (2, 3, 5, 8):
        timed, agree = contenders(n_modes, n_chains, n_steps)
        worst = max(worst, check(agree))
        times = interleaved(timed, repeats=5 if options.quick else 15)
        rates = {name: n_chains * n_steps / t / 1e6 for name, t in times.items()}
        rivals = {name: rate for name, rate in rates.items() if not name.startswith("swirl")}
        fastest = max(rivals, key=rivals.__getitem__)
        fastest_counts = max((name for name in rivals if "counts" in name), key=rivals.__getitem__)
        ratios = {
            engine: (rates[f"swirl, {engine}"] / rivals[fastest], rates[f"swirl, {engine}"] / rivals[fastest_counts])
            for engine in ("compiled", "scan")
        }
        rows.append([n_modes, *rates.values(), *ratios["compiled"], *ratios["scan"]])
        values[f"K={n_modes}"] = {
            "million_steps_per_s": rates,
            "fastest_rival": fastest,
            "ratio_to_fastest": {engine: pair[0] for engine, pair in ratios.items()},
            "ratio_to_fastest_with_counts": {engine: pair[1] for engine, pair in ratios.items()},
        }
    table = Table(
        f"E-step, float64, {n_chains} × {n_steps} steps: million steps a second (least of the times)",
        [
            "K",
            "compiled",
            "scan",
            "hmmlearn+counts",
            "hmmlearn",
            "dynamax+counts",
            "dynamax",
            "compiled / fastest",
            "/ fastest+counts",
            "scan / fastest",
            "/ fastest+counts ",
        ],
        rows,
        [
            f"all four agree on log-likelihood and counts to {worst:.1g} (relative, above 1)",
            "swirl always makes the counts; rivals with counts and, in their quickest form, with posteriors only",
        ],
    )
    return Section([table], {"n_chains": n_chains, "n_steps": n_steps, "largest_difference": worst, **values})
