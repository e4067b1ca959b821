"""Four measures for the models of each experiment, the authors' published parameters among them.

    python studies/panels.py gridworld     # three minutes on an NVIDIA H200; on two cores many times that
    python studies/panels.py labyrinth     # three minutes there; needs studies/results/labyrinth_goals.json
    python studies/panels.py spontaneous   # three minutes there
    python studies/panels.py gridworld --quick      # few sessions, one start, nothing is written

`--published FOLDER` is a checkout of the authors' repository (github.com/BRAINML-GT/SWIRL, commit 9a5c441, MIT); where
it is not given, the published parameters are left out.  They lie there as numpy archives, partly of pickled objects:
nothing is unpickled, the arrays' bytes are read out of the stream by hand.

Nothing is chosen here.  Settings are those that training folds chose for the results page; test sessions are every
fifth.  *The same twice* is the agreement of fits to the even and to the odd training sessions; beside it, of 32 starts
of each model on all training sessions, those whose objective is within 5 nats of the best, and how alike they cut the
test sessions.  Writes panels.json and panels.md to studies/results (or --output).
"""

import argparse
import json
import pickletools
import time
import zipfile
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from labyrinth_goals import ASKED, PLACES
from labyrinth_goals import RESULTS as GOALS_RESULTS
from labyrinth_goals import make as make_goals
from scipy.special import log_softmax

import swirl
from swirl import SWIRL, datasets
from swirl.analysis.forecasts import goal_forecast
from swirl.analysis.panel import Panel, panel
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import quietly
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.save_load import versions
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.priors import Cauchy, Dirichlet, Gaussian, HabitGoals
from swirl.reproduce.labyrinth.fits import BEYOND
from swirl.rewards import Habit

RESULTS = GOALS_RESULTS
N_STARTS, NEAR = 32, 5.0  # starts, and nats behind the best that still count
FEW = {"n_restarts": 1, "max_iter": 20}


# ---------------------------------------------------------------------- the authors' parameters


def arrays_of(path: Path, member: str) -> list[bytes]:
    """The raw contents of the arrays in a pickled member of an archive, in order; nothing is executed."""
    stream = BytesIO(zipfile.ZipFile(path).read(f"{member}.npy"))
    np.lib.format.read_magic(stream)
    np.lib.format.read_array_header_1_0(stream)
    found, before = [], ""
    for code, argument, _ in pickletools.genops(stream.read()):
        if isinstance(argument, bytes) and len(argument) > 1:
            if before != "NEWFALSE":
                raise ValueError(f"{path.name}, {member}: an array that is not in C order; expected only those")
            found.append(argument)
        before = code.name if code.name != "MEMOIZE" else before
    return found


def _switching(log_ps: np.ndarray, by_state: np.ndarray) -> np.ndarray:
    return np.exp(log_softmax(log_ps[None] + by_state[:, None, :], axis=2))


def published_labyrinth(folder: Path, env: MDP) -> SWIRL:
    """S-2 on the labyrinth: a reward for each (node, node before), one temperature for each mode, a small net."""
    path = folder / "labyrinth" / "results" / "3_10_NM_labyrinth2.npz"
    with np.load(path) as file:
        start, log_ps, reward, heat = (file[name] for name in ("new_logpi0", "new_log_Ps", "new_reward", "temps"))
    first, bias, second, offset = (np.frombuffer(raw) for raw in arrays_of(path, "new_Rs"))
    hidden = 1 / (1 + np.exp(-(first.reshape(127, 32) + bias)))
    into = env.dense().sum(axis=1) > 0  # [from, to]
    table = np.full((3, 127, 127), np.nan)
    for state in range(127):
        for slot, before in enumerate(np.flatnonzero(into[:, state])):
            table[:, state, before] = reward[:, 0, 4 * state + slot]
    return SWIRL.from_parameters(
        env,
        history=2,
        rewards=table,
        mode_transitions=_switching(log_ps, hidden @ second.reshape(32, 3) + offset),
        initial_modes=np.exp(log_softmax(start)),
        temperature=heat.tolist(),
    )


def published_spontaneous(folder: Path, env: MDP, history: int) -> SWIRL:
    """S-1 or S-2 on syllables: a net that gives r(s, a) from (syllable, syllable before)."""
    path = folder / "spontda" / "results" / f"5_30_NM_DAsa_net{history}.npz"
    with np.load(path) as file:
        start, log_ps, by_state = (file[name] for name in ("new_logpi0", "new_log_Ps", "new_Rs"))
    bias, kernel, bias_2, kernel_2 = (np.frombuffer(raw, "<f4").astype(float) for raw in arrays_of(path, "new_R_state"))
    inputs = np.eye(81).reshape(9, 9, 81)  # [s, s before]
    if history == 1:
        inputs = inputs.mean(axis=1)
    hidden = inputs @ kernel.reshape(81, 16) + bias
    hidden = np.where(hidden >= 0, hidden, 0.01 * hidden)
    reward = (hidden @ kernel_2.reshape(16, 45) + bias_2).reshape(*inputs.shape[:-1], 5, 9)
    return SWIRL.from_parameters(
        env,
        history=history,
        rewards=np.moveaxis(reward, -2, 0),
        mode_transitions=_switching(log_ps, by_state[:, 0]),
        initial_modes=np.exp(log_softmax(start)),
        impossible="forget",
    )


def published_gridworld(folder: Path, env: MDP) -> SWIRL:
    """S-2 on the gridworld, fitted by the authors to their own draw: a net that gives r(s, s before)."""
    path = folder / "gw5" / "results" / "12345_NM_gw5_net2.npz"
    with np.load(path) as file:
        start, log_ps, by_state = (file[name] for name in ("new_logpi0", "new_log_Ps", "new_Rs"))
    raw = [np.frombuffer(each, "<f4").astype(float) for each in arrays_of(path, "new_R_state")]
    bias, kernel, bias_2, kernel_2, sub_bias, sub = raw
    inputs = np.eye(625).reshape(25, 25, 25, 25)  # [s, s before, one-hot as a square]
    small = np.einsum("pqij,ik->pqjk", inputs, sub.reshape(25, 4)) + sub_bias
    hidden = small.reshape(25, 25, 100) @ kernel.reshape(100, 16) + bias
    hidden = np.where(hidden >= 0, hidden, 0.01 * hidden)
    reward = hidden @ kernel_2.reshape(16, 2) + bias_2
    reward = np.where(reward >= 0, reward, 0.01 * reward)
    return SWIRL.from_parameters(
        env,
        history=2,
        rewards=np.moveaxis(reward, -1, 0),
        mode_transitions=_switching(log_ps, by_state[:, 0]),
        initial_modes=np.exp(log_softmax(start)),
    )


# ---------------------------------------------------------------------- fits, halves and starts


def starts_alike(model: Any, test: Trajectories) -> dict[str, Any]:
    """The starts of a fit that came nearly as high as the best, and how alike they cut the test sessions."""
    objectives = np.array([start.objective for start in model.restarts_])
    near = np.flatnonzero(objectives >= np.nanmax(objectives) - NEAR)
    paths = [model.use_restart(int(i)).predict(test) for i in near]
    found = [adjusted_rand_index(one, other) for one, other in combinations(paths, 2)]
    alike = {"mean ARI": float(np.mean(found)), "least ARI": float(np.min(found))} if found else {}
    return {"starts": len(objectives), "within 5 nats": len(near), **alike}


def laid_out(
    models: dict[str, Any],
    given: dict[str, SWIRL],
    data: tuple[Trajectories, Trajectories],
    goals: Any,
    *,
    of: Any,
    starts: int = 0,
) -> tuple[Panel, dict[str, Any], dict[str, Any]]:
    """Fit every model to all training sessions and to each half; the panel, the fits, and what the starts said."""
    train, test = data
    fitted, halves, alike = {}, {}, {}
    with quietly():
        for name, model in models.items():
            began = time.perf_counter()
            if starts and "n_restarts" in model.get_params():
                model.set_params(n_restarts=starts)
            fitted[name] = model.fit(train)
            if len(model.initial_modes_) > 1:
                alike[name] = starts_alike(model, test)
                halves[name] = [type(model)(**model.get_params()).fit(train[i::2]) for i in range(2)]
            print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    return panel(fitted | given, test, goals, halves, of=of), fitted | given, alike


def record_of(found: Panel, alike: dict[str, Any], began: float) -> dict[str, Any]:
    """What is kept of a panel."""
    rows = [{name: value for name, value in row.items() if value == value} for row in found.rows]
    return {"rows": rows, "text": found.text(), "starts": alike, "seconds": time.perf_counter() - began}


def gridworld(published: Path | None, quick: bool) -> dict[str, Any]:
    """The simulated world, where the truth is known."""
    began, size = time.perf_counter(), {"n_sessions": 20, "n_steps": 100} if quick else {"n_sessions": 200}
    world = datasets.gridworld(**size, random_state=0)
    data = world.trajectories.split(every=5)
    few: dict[str, Any] = FEW if quick else {}
    goals = {"home": 0, "water": 23}
    models = {
        "S-2": swirl.make("S-2", world.env, n_modes=2, reward_prior=Cauchy(), **few),
        "S-1": swirl.make("S-1", world.env, n_modes=2, reward_prior=Cauchy(), **few),
        "Goals": swirl.make("Goals", world.env, goals=goals, history=3, moves="action", **few),
        "counts": BackoffMarkov(world.env, max_order=4),
    }
    given = {"truth": world.true_model()}
    if published is not None:
        given["published S-2"] = published_gridworld(published, world.env)
    found, fitted, alike = laid_out(models, given, data, goals, of="action", starts=0 if quick else N_STARTS)
    true = {
        name: adjusted_rand_index(data[1].modes or [], model.predict(data[1]))
        for name, model in fitted.items()
        if len(model.initial_modes_) > 1
    }
    return {**record_of(found, alike, began), "ARI with the true modes": true}


def labyrinth(published: Path | None, quick: bool) -> dict[str, Any]:
    """The paper's recording in the maze: two panels, of goals that are places, and of the exit as an action."""
    began, env = time.perf_counter(), datasets.labyrinth_env()
    sessions = datasets.labyrinth().trajectories
    data = (sessions[::5][:30] if quick else sessions).split(every=5)
    few: dict[str, Any] = FEW if quick else {}
    setting = json.loads((GOALS_RESULTS / "labyrinth_goals.json").read_text())["setting"]
    models = {
        "goals": make_goals(setting, **few),
        "the same habit without goals": make_goals({**setting, "cost": 0.0}, **few),
        "S-2, defaults": swirl.make("S-2", env, n_modes=3, **few),
        "habit + goals of histories": SWIRL(env, **{**BEYOND, **({"n_restarts": 2, "max_iter": 300} | few)}),
        "counts": BackoffMarkov(env, max_order=3 if quick else 7),
    }
    given = {} if published is None else {"published S-2": published_labyrinth(published, env)}
    found, fitted, alike = laid_out(models, given, data, PLACES, of="next_state")
    exits = {name: goal_forecast(model, data[1], ASKED, known="action") for name, model in fitted.items()}
    one = next(iter(exits.values()))
    asked = Panel(
        "action",
        tuple(exits),
        tuple(len(model.initial_modes_) for model in fitted.values()),
        {"next_goal": np.array([each.losses for each in exits.values()])},
        {"next_goal": np.array([each.steps for each in exits.values()])},
        {"next_goal": one.base_rate},
    )
    where = {name: [asked.value(name, "next_goal"), *asked.difference(name, "next_goal")] for name in exits}
    told = {"base rate": one.base_rate, "best without modes": asked.reference("next_goal"), "rows": where}
    return {**record_of(found, alike, began), "water or exit": told}


def spontaneous(published: Path | None, quick: bool) -> dict[str, Any]:
    """Syllables: modes, and no places to go to."""
    began, world = time.perf_counter(), datasets.spontaneous()
    sessions = world.trajectories[:20] if quick else world.trajectories
    data = sessions.split(every=5)
    common: dict[str, Any] = {"n_modes": 5, "impossible": "forget", **(FEW if quick else {})}
    priors: dict[str, dict[str, Any]] = {  # what training folds chose for the results page
        "S-1": {"reward_prior": Dirichlet(0.1), "switching_prior": Gaussian(0.1)},
        "S-2": {"reward_prior": Gaussian(0.3, backoff=10.0), "switching_prior": Gaussian(3.0)},
    }
    models: dict[str, Any] = {
        name: swirl.make(name, world.env, reward="state-action", **own, **common) for name, own in priors.items()
    }
    models["habit + goals"] = SWIRL(
        world.env, history=3, reward=Habit(1), switching="state", switching_prior=Gaussian(10.0),
        reward_prior=HabitGoals(Gaussian(0.05, backoff=10.0), Gaussian(0.5, backoff=2.0)), **common,
    )  # fmt: skip
    models["counts"] = BackoffMarkov(world.env, max_order=4, impossible="forget")
    given = {}
    if published is not None:
        given = {f"published S-{n}": published_spontaneous(published, world.env, n) for n in (1, 2)}
    found, _, alike = laid_out(models, given, data, None, of="action", starts=0 if quick else N_STARTS)
    return record_of(found, alike, began)


PARTS = {"gridworld": gridworld, "labyrinth": labyrinth, "spontaneous": spontaneous}


# ---------------------------------------------------------------------- the page


def _starts_table(alike: dict[str, Any]) -> list[str]:
    lines = ["| model | starts | within 5 nats of the best | mean ARI of these | least |", "|---|---|---|---|---|"]
    for name, row in alike.items():
        both = " | ".join(f"{row[key]:.3f}" if key in row else "–" for key in ("mean ARI", "least ARI"))
        lines.append(f"| {name} | {row['starts']} | {row['within 5 nats']} | {both} |")
    return [*lines, ""]


def section(part: dict[str, Any]) -> list[str]:
    """What one experiment's panel says, as lines of a page."""
    lines = [part["text"].replace("\n+ better", "\n\\+ better"), ""]  # no list
    if "water or exit" in part:
        told = part["water or exit"]
        lines += [
            "Water (node 116) or exit (action 3 in node 0), whichever comes next; base rate "
            f"{told['base rate']:.4f} nats. Difference to {told['best without modes']}, the best without modes, "
            "with its 95 % interval; below 0 is better.",
            "",
            "| model | log-loss | difference | from | to |",
            "|---|---|---|---|---|",
        ]
        for model, (value, *difference) in told["rows"].items():
            cells = (f"{x:+.4f}" if x == x else "–" for x in difference)
            lines.append(f"| {model} | {value:.4f} | " + " | ".join(cells) + " |")
        lines.append("")
    if "ARI with the true modes" in part:
        true = ", ".join(f"{model} {value:.3f}" for model, value in part["ARI with the true modes"].items())
        lines += [f"Adjusted Rand index with the true modes: {true}.", ""]
    lines += ["Starts, on the same training sessions:", "", *_starts_table(part["starts"])]
    return lines


def page(record: dict[str, Any]) -> str:
    """The results page."""
    lines = [
        "# Every measure, side by side",
        "",
        "Next step, where to, agreement with what was done, and the same twice, for the models of each experiment and "
        "the authors' published parameters (github.com/BRAINML-GT/SWIRL, commit 9a5c441). Settings were chosen on "
        "training folds for the results page; nothing is chosen here. *Same twice*: fits to the even and to the odd "
        f"training sessions. Command: `python studies/panels.py …`; versions {json.dumps(record['versions'])}.",
        "",
    ]
    titles = {"labyrinth": "Labyrinth", "spontaneous": "Spontaneous behaviour", "gridworld": "Gridworld"}
    for name, title in titles.items():
        if name in record:
            seconds = f"This part took {record[name]['seconds']:.0f} s."
            lines += [f"## {title}", "", *section(record[name]), seconds, ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--published", type=Path, help="a checkout of the authors' repository")
    parser.add_argument("--quick", action="store_true", help="few sessions and starts; nothing is written")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = PARTS[options.part](options.published, options.quick)
    if options.quick:
        print(found["text"])
        return
    where = options.output / "panels.json"
    record = json.loads(where.read_text()) if where.exists() else {}
    record |= {"versions": versions(), options.part: found}
    where.write_text(json.dumps(record, indent=1))
    where.with_suffix(".md").write_text(page(record))


if __name__ == "__main__":
    main()
