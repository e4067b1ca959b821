"""What a mode does, without its reward: policies as arrows, and preferences against the other modes.

Rewards are known only up to a gauge (design.md#gauge); policies are not, so these pictures belong beside reward maps.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap, to_rgba

from swirl.analysis.state_summaries import log_odds_less
from swirl.data.geometry import Layout, layout
from swirl.data.mdp import MDP
from swirl.plots.graph_shapes import CORRIDOR_WIDTH, arrows, check_places, discs, draw_corridors, name_places, ready
from swirl.plots.style import OKABE_ITO, PREFERENCE_COLOURS, SEAM, SOFT_INK, add_colour_bar, colour_map, set_title


def policy_map(
    policy: Float[np.ndarray, "state action"],
    env: MDP,
    *,
    marks: Mapping[str, int] | None = None,
    colour: str = OKABE_ITO[0],
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw π(a|s) as arrows from each state toward each successor, wider and darker the more probable.

    P(s'|s) = Σ_a π(a|s) p(s'|s, a).  The probability of staying is the area of the disc in the
    middle.  A state whose row is NaN (uninformed) is hatched.

    Parameters
    ----------
    policy
        One mode's `[state, action]`; rows sum to one.  For policies on longer histories, average over the earlier
        states first.
    colour
        Of the arrows, such as the mode's.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = policy_map(np.array([[0.9, 0.1], [0.5, 0.5]]), env)
    >>> len([shape for shape in ax.collections if shape.get_label() == "moves"][0].get_paths())
    2
    """
    check_policy("policy", policy, env)
    drawn = layout(env)
    onward = state_transitions(policy, env)
    ax = ready(ax, drawn)
    draw_corridors(ax, drawn)
    state, successor = drawn.moves.T
    probability = onward[state, successor]
    shown = np.isfinite(probability) & (probability > 0)
    start, end = drawn.places[state], drawn.places[successor]
    reach = np.minimum(0.47 * drawn.lengths, 0.95 * drawn.unit) / drawn.lengths
    tips = start + (end - start) * reach[:, None]
    half = 0.13 * drawn.unit * probability
    faces = np.tile(to_rgba(colour), (int(shown.sum()), 1))
    faces[:, 3] = 0.3 + 0.7 * np.clip(probability[shown], 0, 1)
    shapes = arrows(start, tips, half, 0.3 * drawn.unit)[shown]
    moves = PolyCollection(list(shapes), facecolors=faces, linewidths=0, label="moves", zorder=2)
    moves.set_snap(False)  # else thin arrows are there or not as they fall on pixels
    ax.add_collection(moves, autolim=False)
    stay = np.diagonal(onward)
    resting = np.flatnonzero(np.isfinite(stay) & (stay > 1e-9))
    disc = discs(ax, drawn.places[resting], 0.42 * drawn.unit * np.sqrt(stay[resting]), "stay", 2.5)
    disc.set(facecolor=colour, edgecolor="white", linewidth=0.4)
    _hatch(ax, drawn, policy)
    name_places(ax, drawn, marks)
    set_title(ax, title)
    return ax


def preference_map(
    policy: Float[np.ndarray, "state action"],
    reference: Float[np.ndarray, "*mode _ _"],
    env: MDP,
    *,
    marks: Mapping[str, int] | None = None,
    vmax: float | int = 3.0,
    colours: str | Colormap = PREFERENCE_COLOURS,
    title: str | None = None,
    colour_bar: bool = True,
    label: str | None = "log-odds against the average mode (nats)",
    ax: Axes | None = None,
) -> Axes:
    """Draw how much more a mode takes each move than the average mode does, both directions of a corridor side by side.

    log [p / (1 − p)] − log [q / (1 − q)], p = P(s'|s) in this mode and q its average over the modes of
    `reference`.  Moves keep to the right, as traffic does.  Grey: a move that is certain, or impossible, in both;
    no data (NaN).

    Parameters
    ----------
    policy
        One mode's `[state, action]`.
    reference
        What to hold it against: `[state, action]`, or `[mode, state, action]` to be averaged, such as all policies.
    vmax
        The scale runs from −vmax to vmax; stronger preferences have the colour of its end.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> both = np.array([[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]])
    >>> ax = preference_map(both[0], both, env)
    >>> moves = [shape for shape in ax.collections if shape.get_label() == "moves"][0]
    >>> moves.get_array().round(3).tolist()  # log 3 − log 1, and nothing
    [1.099, 0.0]
    """
    odds = log_odds(policy, reference, env)
    check_scale(vmax)
    drawn = layout(env)
    odds = odds[drawn.moves[:, 0], drawn.moves[:, 1]]
    known = ~np.isnan(odds)

    ax = ready(ax, drawn)
    draw_corridors(ax, drawn)
    corners = _lanes(drawn)
    shades = colour_map(colours).copy()
    shades.colorbar_extend = "both"  # pyright: ignore[reportAttributeAccessIssue]  # the stubs know a bool only
    moves = PolyCollection(list(corners[known]), cmap=shades, edgecolors=SEAM, linewidths=0.3, label="moves", zorder=2)
    moves.set(array=np.clip(odds[known], -1e3, 1e3), clim=(-vmax, vmax))
    ax.add_collection(moves, autolim=False)
    grey = PolyCollection(list(corners[~known]), facecolors="#C9CDCD", linewidths=0, label="forced", zorder=2)
    ax.add_collection(grey, autolim=False)
    name_places(ax, drawn, marks)
    set_title(ax, title)
    if colour_bar:
        add_colour_bar(ax, moves, label)
    return ax


def state_transitions(policy: Float[np.ndarray, "state action"], env: MDP) -> Float[np.ndarray, "state state"]:
    """P(s'|s) = Σ_a π(a|s) p(s'|s, a) over the available actions; a row is NaN where the policy is.

    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]])
    >>> state_transitions(np.array([[0.9, 0.1], [0.5, 0.5]]), env).tolist()
    [[0.1, 0.9], [0.5, 0.5]]
    """
    tables = env.successors
    chosen = np.where(env.available, policy, 0.0)
    weight = chosen[:, :, None] * np.asarray(tables.probability)
    onward = np.zeros((env.n_states, env.n_states))
    np.add.at(onward, (np.arange(env.n_states)[:, None, None], np.asarray(tables.next)), weight)
    onward[~np.isfinite(chosen).all(axis=1)] = np.nan
    return onward


def log_odds(
    policy: Float[np.ndarray, "state action"], reference: Float[np.ndarray, "*mode _ _"], env: MDP
) -> Float[np.ndarray, "state state"]:
    """Log-odds of each move less those in the average of `reference`; NaN where it is certain or impossible in both.

    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]])
    >>> log_odds(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [1.0, 0.0]]), env).tolist()
    [[0.0, 0.0], [nan, nan]]
    """
    check_policy("policy", policy, env)
    stack = reference[None] if reference.ndim == 2 else reference
    if stack.ndim != 3 or not len(stack):
        raise ValueError(f"reference: got shape {reference.shape}, expected [state, action] or [mode, state, action]")
    for index, row in enumerate(stack):
        check_policy("reference" if reference.ndim == 2 else f"reference[{index}]", row, env)
    average = np.mean([state_transitions(row, env) for row in stack], axis=0)
    return log_odds_less(state_transitions(policy, env), average)


def check_scale(vmax: float | int) -> None:
    """Refuse a scale from −vmax to vmax that has no length.

    >>> check_scale(3.0)
    """
    if not vmax > 0:
        raise ValueError(f"vmax: got {vmax}, expected a number above 0; the scale runs from −vmax to vmax")


def _lanes(drawn: Layout) -> np.ndarray:
    """Return an arrow-shaped lane per move, on the right of its corridor's middle, from junction to junction."""
    start, end = drawn.places[drawn.moves].swapaxes(0, 1)
    along = (end - start) / drawn.lengths[:, None]
    right = np.stack([along[:, 1], -along[:, 0]], axis=1)
    width = 0.5 * CORRIDOR_WIDTH * drawn.unit
    gap, trim, tip = 0.06 * width, 0.12 * drawn.unit, 0.28 * drawn.unit
    foot, point = start + along * trim + right * gap, end - along * trim + right * gap
    neck = point - along * tip
    # The point lies on the inner edge of the lane: a pair of lanes reads as two halves of a double arrow.
    return np.stack([foot, point, neck + right * (width - gap), foot + right * (width - gap)], axis=1)


def _hatch(ax: Axes, drawn: Layout, policy: np.ndarray) -> None:
    unknown = np.flatnonzero(np.isnan(policy).any(axis=1))
    if unknown.size:
        disc = discs(ax, drawn.places[unknown], CORRIDOR_WIDTH * drawn.unit, "uninformed", 2)
        disc.set(facecolor="white", edgecolor=SOFT_INK, linewidth=0.4, hatch="//////")


def check_policy(argument: str, policy: np.ndarray, env: MDP) -> None:
    """Raise unless a policy has a row of probabilities per state; rows of NaN say that nothing is known.

    >>> check_policy("policy", np.array([[0.9, 0.1], [0.5, 0.5]]), MDP.deterministic([[1, 0], [0, 1]]))
    """
    if policy.shape != (env.n_states, env.n_actions):
        check_places(argument, policy.shape[0], env)
        raise ValueError(
            f"{argument}: got shape {policy.shape}, expected [state, action] = {(env.n_states, env.n_actions)}"
        )
    total = np.where(env.available, policy, 0.0).sum(axis=1)
    bad = np.flatnonzero(np.isfinite(total) & ((np.abs(total - 1) > 1e-5) | (policy < -1e-9).any(axis=1)))
    if bad.size:
        raise ValueError(
            f"{argument}: state {bad[0]} is {policy[bad[0]].tolist()} ({bad.size} such states); expected "
            "probabilities of the available actions that sum to one"
        )
