"""Do predictive checks let the truth pass, whatever share of the actions is missing, and which correction keeps power?

    python studies/predictive_missing.py            # 100 worlds of each kind, about 4 minutes on one core
    python studies/predictive_missing.py --quick    # two small worlds; nothing is written

Worlds are drawn from the paper's gridworld; in each, actions are missing at random (the same steps in every world of a
kind). The truth is checked on its own data: what it is rejected for is a false alarm. Then a false model, whose modes
are left half as often again, is checked on the same data: what it is rejected for is found rightly. A table of checks
has 21 statistics, so p-values are corrected for the family, in three ways: Holm's, the minimum of the p-values over
the simulations (Westfall and Young), and the step-down maximum of distances in standard deviations, which is what
`swirl.predictive` uses. Draws beyond 39 are those of other worlds of the same kind: they are of the same distribution.

Writes studies/results/predictive_missing.json and .md (command, versions and every world inside).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from swirl.analysis.predictive_checks import PredictiveChecks, predictive_checks
from swirl.analysis.significance import LEVEL, holm, max_corrected
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld_env, gridworld_rewards, gridworld_switching
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL

RESULTS = Path(__file__).parent / "results"
SHARES = (0.0, 0.3, 0.7, 1.0)
PLACES = {"water": 23, "home": 0}
SESSIONS, STEPS = 8, 150
DRAWS = 39
FASTER = 1.5
NUMBERS = (20, 39, 199, 839)  # simulated data sets; 839 is the least with which Holm's can find anything among 21
WAYS = ("each by itself", "Holm", "minimum of p", "maximum")


def gridworld_model(faster: float = 1.0) -> SWIRL:
    """The paper's gridworld; with `faster`, modes are left that many times as often."""
    switching = gridworld_switching()
    leave = faster * switching[:, [0, 1], [1, 0]]
    table = np.stack([np.stack([1 - leave[:, 0], leave[:, 0]], 1), np.stack([leave[:, 1], 1 - leave[:, 1]], 1)], 1)
    return SWIRL.from_parameters(
        gridworld_env(), history=2, rewards=gridworld_rewards(), mode_transitions=table, initial_modes=[0.5, 0.5]
    )


class Pool:
    """A model that simulates all sessions it will be asked for at once: one by one would take far longer."""

    def __init__(self, model: SWIRL, n_sessions: int, n_steps: int) -> None:
        self.model, self.drawn, self.used = model, model.sample(n_sessions, n_steps, random_state=1_000_000), 0

    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """The next sessions; the seed was spent on all of them."""
        self.used += n_sessions
        if self.used > len(self.drawn):
            raise ValueError(f"{self.used} sessions were asked for, {len(self.drawn)} drawn")
        return self.drawn[self.used - n_sessions : self.used]

    def predict(self, data: Trajectories) -> list[np.ndarray]:
        """Modes by the model."""
        return self.model.predict(data)


def one_world(
    seed: int,
    share: float,
    model: SWIRL | Pool,
    *,
    n_sessions: int = SESSIONS,
    n_steps: int = STEPS,
    n_draws: int = DRAWS,
) -> PredictiveChecks:
    """Draw data from the truth, lose a share of the actions, and check the model on what is left."""
    drawn = gridworld_model().sample(n_sessions, n_steps, random_state=seed)
    lost = np.random.default_rng(0).random((n_sessions, n_steps)) < share
    actions = [np.where(gone, -1, path) for gone, path in zip(lost, drawn.actions, strict=True)]
    data = drawn.with_actions(actions, n_actions=drawn.n_actions)
    return predictive_checks(model, data, places=PLACES, n_draws=n_draws, random_state=1_000 + seed)


def rank_p_values(values: np.ndarray) -> np.ndarray:
    """Two-sided p-value of every data set among all, [set, statistic]; the first is `PredictiveChecks.p_value`."""
    table = np.empty(values.shape)
    for i, column in enumerate(values.T):
        order = np.sort(column)
        above = len(order) - np.searchsorted(order, column, side="left")
        below = np.searchsorted(order, column, side="right")
        table[:, i] = np.minimum(1.0, 2 * np.minimum(above, below) / len(order))
    return table


def smallest(checks: PredictiveChecks) -> dict[str, float]:
    """Least p-value of the table by each way of correcting, and the share of statistics outside by themselves."""
    values = np.array([[checks.real[name], *checks.simulated[name]] for name in checks.real]).T
    values = values[:, np.isfinite(values).all(axis=0)]
    ranks = rank_p_values(values)
    used = np.nanmin(list(checks.corrected.values()))
    least = (ranks[0].min(), holm(ranks[0]).min(), max_corrected(1 - ranks).min(), used)
    return {**dict(zip(WAYS, map(float, least), strict=True)), "share outside": float((ranks[0] <= LEVEL).mean())}


def with_draws(checks: list[PredictiveChecks], n: int) -> list[PredictiveChecks]:
    """The same checks with n draws each: the first ones, and then those of the other worlds in turn."""
    changed = []
    for i, own in enumerate(checks):
        order = [own, *checks[i + 1 :], *checks[:i]]
        drawn = {name: np.concatenate([other.simulated[name] for other in order])[:n] for name in own.real}
        changed.append(PredictiveChecks(own.real, drawn, {}, {}))
    return changed


def summarise(worlds: dict[str, dict[str, list[dict[str, float]]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Of each kind of world and number of draws: in what share of the worlds anything is outside, by each way."""
    return {
        kind: {
            n: {
                **{way: round(float(np.mean([w[way] <= LEVEL + 1e-12 for w in found])), 3) for way in WAYS},
                "share outside": round(float(np.mean([w["share outside"] for w in found])), 3),
            }
            for n, found in numbers.items()
        }
        for kind, numbers in worlds.items()
    }


def table(summary: dict[str, dict[str, dict[str, float]]]) -> str:
    """The study's table."""
    heads = (
        "checked, actions missing",
        "draws",
        "statistics outside, each by itself",
        *(f"any, {way}" for way in WAYS),
    )
    lines = [f"| {' | '.join(heads)} (used) |", "|:--|--:|--:|--:|--:|--:|--:|"]
    for kind, numbers in summary.items():
        for n, row in numbers.items():
            cells = " | ".join(f"{100 * row[key]:.0f} %" for key in ("share outside", *WAYS))
            lines.append(f"| {kind} | {n} | {cells} |")
    return "\n".join(lines)


def reading(summary: dict[str, dict[str, dict[str, float]]], n_worlds: int) -> str:
    """What the figures say."""
    null = {kind: numbers[str(DRAWS)] for kind, numbers in summary.items() if kind.startswith("truth")}
    false = {kind: numbers[str(DRAWS)] for kind, numbers in summary.items() if kind.startswith("false")}
    error = np.sqrt(LEVEL * (1 - LEVEL) / n_worlds)
    above = [kind for kind, row in null.items() if row["maximum"] > LEVEL + 2 * error]
    single = [round(100 * row["share outside"]) for row in null.values()]
    said = {way: ", ".join(f"{100 * row[way]:.0f} %" for row in false.values()) for way in WAYS}
    return f""""Any": the share of worlds in which at least one statistic has p ≤ {LEVEL}; standard error of a rate of
5 % with {n_worlds} worlds: {100 * error:.1f} %.

- **The truth on its own data**: of the statistics by themselves {min(single)} to {max(single)} % are outside
  ({100 * LEVEL:.0f} % nominal), whatever share of the actions is missing. Kinds of worlds in which the corrected table
  has an alarm more often than nominal by two standard errors: {", ".join(above) if above else "none"}.
- **The false model**, {DRAWS} draws ({", ".join(false)}): something is found in {said["maximum"]} of the worlds by the
  maximum, {said["Holm"]} by Holm's, {said["minimum of p"]} by the minimum of p. The p-value of a statistic
  cannot be below 2 / (draws + 1), so Holm's correction of 21 needs 839 draws, and the minimum of p many, as with few
  nearly every simulation is the extreme one in something. The maximum needs 39 draws, as one p-value does."""


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worlds", type=int, default=100)
    options = parser.parse_args()
    n_worlds, n_sessions, n_steps = (2, 4, 40) if options.quick else (options.worlds, SESSIONS, STEPS)
    kinds = {f"truth, {100 * share:.0f} %": (share, gridworld_model()) for share in SHARES}
    kinds |= {f"false model, {100 * share:.0f} %": (share, gridworld_model(FASTER)) for share in (0.0, 0.7)}
    worlds: dict[str, dict[str, list[dict[str, float]]]] = {}
    for kind, (share, model) in kinds.items():
        pool = Pool(model, n_worlds * DRAWS * n_sessions, n_steps)
        checks = [one_world(seed, share, pool, n_sessions=n_sessions, n_steps=n_steps) for seed in range(n_worlds)]
        numbers = [n for n in NUMBERS if n <= DRAWS * n_worlds]
        worlds[kind] = {str(n): [smallest(check) for check in with_draws(checks, n)] for n in numbers}
        print(table(summarise({kind: worlds[kind]})), flush=True)
    summary = summarise(worlds)
    print(table(summary), reading(summary, n_worlds), sep="\n\n")
    if options.quick:
        return
    command = "python studies/predictive_missing.py"
    record = {"command": command, "versions": versions(), "n_worlds": n_worlds, "summary": summary, "worlds": worlds}
    (RESULTS / "predictive_missing.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    made = ", ".join(f"{k} {v}" for k, v in versions().items())
    about = f"{n_worlds} worlds of each kind, {SESSIONS} sessions of {STEPS} steps; 21 statistics."
    page = f"# Do predictive checks let the truth pass?\n\n`{command}` ({made})\n\n{about}\n\n"
    page += f"{table(summary)}\n\n{reading(summary, n_worlds)}\n"
    (RESULTS / "predictive_missing.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
