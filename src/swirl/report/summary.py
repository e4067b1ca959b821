"""Summary: whether to trust the fit, what the data are, how the fit ended, and each mode in a sentence."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from swirl.analysis.decoded import OF_STATES, DecodedFit
from swirl.estimators.base import PER, quietly
from swirl.estimators.fit_warnings import SAME_MODES, RestartAgreement, Verdict, cautions_of, is_gain, verdict_of
from swirl.plots.style import named_mode_colours
from swirl.report.maps import map_facts
from swirl.report.modes import expected_shares, mode_facts, mode_sentence, unclear_sentence
from swirl.report.section import ReportedFit, Section
from swirl.report.uncertainty import agreement_of
from swirl.text import counted, listed, minus, number, percent

VERDICTS = {"trust": "Trust {}", "with care": "Use {} with care", "don't": "Don't trust {}"}


def summary_section(fit: ReportedFit) -> Section:
    """The verdict and what to do next, the data, a card for each mode; how the fit ended is folded."""
    data, ended, modes = fit.once(data_facts), fit.once(fit_facts), fit.once(mode_facts)
    agreement = fit.once(agreement_of)
    cautions = cautions_of(fit.model, agreement, [fact["share"] for fact in modes], fit.mode_names, "is decoded at")
    found = verdict_of(fit.model, agreement)
    values = {
        "verdict": _verdict(found, fit.n_modes),
        "next": [
            *cautions.values(),
            *next_steps(found, fit.n_modes, named=fit.model.mode_names_ is not None, file=fit.file),
        ],
        "what": fit.model.description,
        "tiles": _tiles(fit, cautions),
        "words": [data_sentence(data, fit.nouns)],
        "ended": ended_line(ended["converged"], agreement, sound=not cautions),
        "ended_words": fit_sentences(ended, data),
        "of": "steps" if modes[0]["time"] is None else "time",
        "cards": _mode_cards(fit, modes),
        "unclear": unclear_sentence([fact["share"] for fact in modes], expected_shares(fit), fit.mode_names),
    }
    return Section("summary", "Summary", values)


def data_facts(fit: DecodedFit) -> dict[str, Any]:
    """What the data are.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = data_facts(decode(world.true_model(), world.trajectories))
    >>> facts["sessions"], facts["steps"], facts["states"], facts["gaps"]
    (3, 240, 25, 0)
    """
    data = fit.data
    visited = np.unique(np.concatenate(data.states))
    seen = fit.model.seen_states_
    steps = np.concatenate(data.states)
    unseen = 0 if seen is None else int((~np.asarray(seen)[steps]).sum())
    trained = fit.model.data_fingerprint_
    same = None if trained is None else trained == data.fingerprint(*fit.model.own_signals)
    fitted = fit.model.fitted_to(data)
    return {
        "sessions": len(data),
        "steps": data.n_steps,
        "shortest": int(data.lengths.min()),
        "longest": int(data.lengths.max()),
        "subjects": len(set(data.subjects) - {None}),
        "groups": len(set(data.groups) - {None}),
        "states": fit.n_states,
        "visited_states": len(visited),
        "actions": len(fit.action_names),
        "observed_actions": data.n_observed_actions,
        "missing_actions": data.n_missing_actions,
        "gaps": sum(len(gaps) for gaps in data.gaps),
        "fingerprint": data.fingerprint(),
        "unseen_steps": unseen,
        "same_as_training": same,
        "fitted_sessions": None if fitted is None else int(fitted.sum()),
    }


def fit_facts(fit: DecodedFit) -> dict[str, Any]:
    """How the fit ended, and how well it does on these data; its report is None where the parameters were given."""
    model = fit.model
    restarts = model.restarts_ or None
    scores = _scores(fit)
    score, n_scored = scores["all"] or (None, 0)
    facts: dict[str, Any] = {
        "report": model.fit_report_,
        "converged": model.converged_,
        "n_restarts": None if restarts is None else len(restarts),
        "score": score,
        "n_scored": n_scored,
        "scores": scores,
        "score_type": model.score_type_of(fit.data),
    }
    if restarts is not None:
        facts["n_iterations"] = restarts[model.best_restart_].n_iterations
    return facts


def _scores(fit: DecodedFit) -> dict[str, tuple[float, int] | None]:
    """Log-likelihood per step and the steps it is over: of all these data, of the sessions that were fitted, of the
    others; None where there are none, or that is not known."""
    with quietly():
        of = fit.model.score_type_of(fit.data)
        steps = np.array([int(scored.sum()) for scored in fit.model.scored_steps(fit.data, of=of)])
        sums = fit.model.session_scores(fit.data, of=of)
    fitted = fit.model.fitted_to(fit.data)
    none = np.zeros(len(steps), bool)
    parts = {
        "all": ~none,
        "fitted": none if fitted is None else fitted,
        # Where not one is known again, they may be the same sessions imported otherwise: nothing is claimed of them.
        "others": none if fitted is None or not fitted.any() else ~fitted,
    }
    return {
        name: (float(sums[part].sum() / steps[part].sum()), int(steps[part].sum())) if steps[part].sum() else None
        for name, part in parts.items()
    }


def data_sentence(facts: dict[str, Any], nouns: Mapping[str, str] = OF_STATES) -> str:
    """Say what the data are; where actions are the next states, they go without saying.

    >>> data_sentence({"sessions": 3, "steps": 240, "shortest": 80, "longest": 80, "subjects": 0, "groups": 0,
    ...                "states": 25, "visited_states": 20, "actions": 5, "observed_actions": 240,
    ...                "missing_actions": 0, "gaps": 0})
    '3 sessions of 80 steps, 240 in all; 25 states, 20 of them visited; 5 actions, known at all steps.'
    """
    each = facts["shortest"] == facts["longest"]
    span = f"{facts['longest']:,}" if each else f"{facts['shortest']:,} to {facts['longest']:,}"
    whole = "" if facts["sessions"] == 1 else f", {facts['steps']:,} in all"
    of = f" of {counted(facts['subjects'], 'subject')}" if facts["subjects"] else ""
    groups = f" in {counted(facts['groups'], 'group')}" if facts["groups"] else ""
    visited = (
        "all visited" if facts["visited_states"] == facts["states"] else f"{facts['visited_states']:,} of them visited"
    )
    parts = [
        f"{counted(facts['sessions'], 'session')}{of}{groups} of {span} steps{whole}",
        f"{counted(facts['states'], nouns['state'])}, {visited}",
    ]
    if nouns["action"] == "action":  # the last step of a session has no action: that goes without saying
        known = facts["observed_actions"] / (facts["observed_actions"] + facts["missing_actions"] or 1)
        where = "known at all steps" if known == 1 else f"known at {percent(known)} of the steps"
        where = where if facts["observed_actions"] else "none recorded"
        parts.append(f"{counted(facts['actions'], 'action')}, {where}")
    if facts["gaps"]:
        parts.append(counted(facts["gaps"], "gap"))
    return "; ".join(parts) + "."


def fit_sentences(ended: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """Say how the fit ended, and how well it does on these data."""
    lines = []
    if ended["report"] is None:
        lines.append("The parameters were given, not fitted.")
    else:
        lines.append(minus(ended["report"][:1].upper() + ended["report"][1:]))
    if ended["score"] is not None:
        lines.append(f"Score, in nats per {PER[ended['score_type']]} given the past: {_scores_in_words(ended, data)}.")
    if data["missing_actions"] and ended["score_type"] != "density":
        lines.append(missing_sentence(data))
    if data["unseen_steps"]:
        lines.append(
            f"{counted(data['unseen_steps'], 'step')} of these data lie in states that training never visited: there "
            "the prior alone decides."
        )
    return lines


def missing_sentence(data: dict[str, Any]) -> str:
    """Say what was made of actions that are not known.

    >>> missing_sentence({"observed_actions": 0, "missing_actions": 9})
    'No action was recorded: each step counts by the state that it led to, by whichever action leads there.'
    """
    if not data["observed_actions"]:
        return "No action was recorded: each step counts by the state that it led to, by whichever action leads there."
    return (
        f"{counted(data['missing_actions'], 'action')} were not recorded: these steps count by the state that they led "
        "to, by whichever action leads there. This takes it that actions are missing by chance, not because of what "
        "they were."
    )


def _scores_in_words(ended: dict[str, Any], data: dict[str, Any]) -> str:
    """The score of the sessions that were fitted and that of the others, which only the second kind is honest about."""
    fitted, others, n_fitted = ended["scores"]["fitted"], ended["scores"]["others"], data["fitted_sessions"]
    told = []
    if others is not None:
        n_others = counted(data["sessions"] - n_fitted, "session")
        told.append(f"{number(others[0], 5)} on {n_others} that it was not fitted to ({counted(others[1], 'step')})")
    if fitted is not None:
        told.append(
            f"{number(fitted[0], 5)} on the {counted(n_fitted, 'session')} that it was fitted to "
            f"({counted(fitted[1], 'step')})"
        )
    if told:
        return "; ".join(told)
    strange = n_fitted == 0 and "; none of these sessions is, as it stands, one that it was fitted to"
    return f"{number(ended['score'], 5)} on these data ({counted(ended['n_scored'], 'step')}){strange or ''}"


def _verdict(found: Verdict | None, n_modes: int) -> dict[str, Any] | None:
    """The verdict as a heading and a list."""
    if found is None:
        return None
    reasons = [f"{words[0].upper()}{words[1:]}." for words in found.reasons]
    words = VERDICTS[found.level].format("this fit" if n_modes == 1 else "these modes")
    return {"kind": found.level.replace(" ", "-").replace("'", ""), "words": words, "reasons": reasons}


def next_steps(found: Verdict | None, n_modes: int, *, named: bool, file: str = "fit.nc") -> list[str]:
    """What to do about the verdict, beside what `fit_warnings.cautions` says of the fit itself.

    >>> from swirl.estimators.fit_warnings import Halves
    >>> halves = Halves(2, 0.98, (0.13, 0.01), (0.002, 0.001), None)
    >>> next_steps(halves.verdict(), 2, named=True)
    ['Fit 3 modes as well (--modes 3), or let swirl compare choose the number.']
    >>> next_steps(Halves(2, 0.98, (0.13, 0.01), None, None).verdict(), 2, named=True)[0][:43]
    'Look at one session by eye before you go on'
    """
    if found is None:
        return []
    halves, steps = found.halves, []
    if halves is None and found.level == "with care":
        steps.append("Look at the modes below, but do not build on them before this is settled.")
    if halves is not None and halves.over_one is not None and not is_gain(halves.over_one):
        steps.append("Do not claim modes: one mode predicts as well. Fit it (--modes 1), or record more sessions.")
    if halves is not None and n_modes > 1 and halves.agreement < SAME_MODES:
        steps.append(
            "Other sessions would give other modes. Do not interpret single bouts. Fit fewer modes or a simpler model, "
            "or record more sessions."
        )
    if halves is not None and halves.more is not None and is_gain(halves.more):
        steps.append(
            f"Fit {n_modes + 1} modes as well (--modes {n_modes + 1}), or let swirl compare choose the number."
        )
    if halves is not None and halves.counts is not None and is_gain(halves.counts):
        steps.append("Try a longer history (--history 2 or more): the model misses something of the last steps.")
    if found.level == "trust":
        steps.append(
            "Look at one session by eye before you go on. Trust means that other sessions would give the same "
            f"{'fit' if n_modes == 1 else 'modes'}; it does not say what they mean to the animal."
        )
        if n_modes > 1 and not named:
            steps.append(f"Name the modes once you know what they are: swirl name {file} NAME NAME …")
    return steps


def ended_line(converged: bool | None, agreement: RestartAgreement | None, *, sound: bool) -> str:
    """Say in a line how the fit ended, and whether anything in the numbers behind it should worry.

    >>> ended_line(True, None, sound=True)
    'How the fit ended: it settled. Nothing to worry about.'
    """
    if converged is None:
        return "How well it does: the parameters were given, not fitted."
    told = ["it settled" if converged else "it had not settled"]
    if agreement is not None and agreement.n_restarts > 1:
        told.append(f"{agreement.n_same} of {agreement.n_restarts} starting points came to the same result")
    return f"How the fit ended: {listed(told)}. {'Nothing to worry about.' if sound else 'See what to do, above.'}"


def _tiles(fit: ReportedFit, cautions: dict[str, str]) -> list[dict[str, str | bool]]:
    data = fit.once(data_facts)
    tiles: list[dict[str, str | bool]] = [
        {"value": f"{data['sessions']:,}", "label": "session" if data["sessions"] == 1 else "sessions"},
        {"value": f"{data['steps']:,}", "label": "steps"},
        {"value": str(fit.n_modes), "label": "mode" if fit.n_modes == 1 else "modes", "warn": "modes" in cautions},
    ]
    if data["subjects"]:
        tiles.insert(0, {"value": str(data["subjects"]), "label": "subject" if data["subjects"] == 1 else "subjects"})
    return tiles


def _mode_cards(fit: ReportedFit, facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    maps = fit.once(map_facts)
    of_moves = maps is not None and maps["kind"] == "table"
    shares = [fact["share"] if fact["time"] is None else fact["time"] for fact in facts]
    return [
        {
            "name": name,
            "colour": colour,
            "share": percent(share),
            "width": round(100 * share, 2),
            "words": mode_sentence(fact, fit.state_names, of_moves),
        }
        for name, colour, fact, share in zip(
            fit.mode_names, named_mode_colours(fit.mode_names), facts, shares, strict=True
        )
    ]
