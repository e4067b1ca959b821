"""What should make a reader careful: starting points that disagree, iterations that ran out, modes with few steps."""

from typing import Any

from swirl.faults import counted
from swirl.report.plain import listed, percent

SAME = 0.95  # of the steps in the same mode as in the fit, for a starting point that agrees with it
LEAST_SHARE = 0.02  # of the steps, for a mode that can be described


def restarts_that_agree(fit: dict[str, Any], restarts: dict[str, Any] | None) -> int | None:
    """How many starting points, the kept one among them, end as high and with the same modes; None without restarts.

    >>> rows = [{"near": True, "agreement": 1.0}, {"near": True, "agreement": 0.6}, {"near": False, "agreement": 1.0}]
    >>> restarts_that_agree({"n_restarts": 3, "n_near": 2}, {"rows": rows})
    1
    """
    if not fit["n_restarts"]:
        return None
    if restarts is None:
        return fit["n_near"]
    same = [row["near"] and (row["agreement"] is None or row["agreement"] >= SAME) for row in restarts["rows"]]
    return max(1, sum(same))


def cautions(
    fit: dict[str, Any], agree: int | None, modes: list[dict[str, Any]], mode_names: list[str]
) -> dict[str, str]:
    r"""Name of a tile → what is the matter and what to do about it.

    >>> fit = {"converged": False, "n_restarts": 8}
    >>> found = cautions(fit, 1, [{"mode": 0, "share": 0.99}, {"mode": 1, "share": 0.01}], ["run", "rest"])
    >>> list(found), found["modes"].replace("\xa0", " ")[:32]
    (['converged', 'restarts', 'modes'], 'rest has only 1 % of the steps, ')
    """
    found = {}
    if fit["converged"] is False:
        found["converged"] = (
            "The iterations ran out before the fit had settled, so its numbers would still move. Fit again with more: "
            "swirl fit … --max-iter 1000 (in Python, max_iter=1000)."
        )
    n = fit["n_restarts"]
    if n == 1:
        found["restarts"] = (
            "There was a single starting point; whether others would end elsewhere is not known. Fit again with "
            "--restarts 8 (n_restarts=8) before you rely on it."
        )
    elif n and agree is not None and agree < 2:
        found["restarts"] = (
            f"Only one of {n} starting points ended here, so it may be luck, and a better solution may be near. Fit "
            f"again with --restarts {max(20, 3 * n)} (n_restarts={max(20, 3 * n)}), and see whether the same modes "
            "come back."
        )
    few = [fact for fact in modes if fact["share"] < LEAST_SHARE] if len(modes) > 1 else []
    if few:
        has = listed([f"{mode_names[fact['mode']]} has only {percent(fact['share'])}" for fact in few])
        found["modes"] = (
            f"{has} of the steps, too few to say what it does. Fit {counted(len(modes) - len(few), 'mode')}, or do not "
            "interpret it; swirl compare says how many modes the data bear."
        )
    return found
