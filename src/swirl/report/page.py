"""What stands on the page: the sections that apply, in order, and the numbers behind the figures."""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import DecodedFit, decode
from swirl.estimators.fit_warnings import RestartAgreement, Verdict, cautions_of, verdict_of
from swirl.plots.style import named_mode_colours
from swirl.report.animals import animal_facts, animal_figure, animal_note, animal_sentences
from swirl.report.comparison import comparison_figure, mode_choice_figure
from swirl.report.durations_and_checks import bout_facts, bout_figures, check_facts, check_strips, occupancy_figure
from swirl.report.maps import map_facts, switching_facts
from swirl.report.methods import methods_paragraph, references
from swirl.report.provenance import provenance
from swirl.report.signal import check_signal, mean_figure, onset_figure, signal_facts
from swirl.report.summary import (
    GAUGE,
    NO_INTERVALS,
    check_sentence,
    data_facts,
    data_sentence,
    fit_facts,
    fit_sentences,
    mode_facts,
    mode_sentence,
    restart_sentence,
    switching_sentences,
)
from swirl.report.timeline import session_facts
from swirl.report.uncertainty import (
    agreement_of,
    certainty_figure,
    interval_facts,
    posterior_facts,
    read_bootstrap,
    restart_facts,
    restart_figure,
)
from swirl.text import cell, counted, minus, number, percent


def contents(
    model: Any,
    data: Any,
    *,
    comparison: Any,
    signal: str | None,
    title: str | None,
    run: dict[str, Any] | None,
    n_draws: int,
    bootstrap: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the template fills in, and the JSON that the page's script reads."""
    if comparison is not None and not isinstance(comparison, Comparison):
        raise ValueError(f"comparison is {type(comparison).__name__}: expected what swirl.compare(...) returned")
    case = decode(model, data)
    check_signal(case, signal)
    drawn = read_bootstrap(case, bootstrap)
    intervals = None if drawn is None else interval_facts(case, drawn)
    about_data, about_fit = data_facts(case), fit_facts(case)
    modes = mode_facts(case.modes, case.data.states, case.data.gaps, case.n_modes, case.n_states)
    maps, switching = map_facts(case), switching_facts(case)
    if maps:
        maps["preferred"] = [[place["state"] for place in fact["places"]] for fact in modes]
    animals = animal_facts(case)
    checks = check_facts(case, n_draws)
    bouts = bout_facts(case, checks)
    agreement = agreement_of(case)
    posterior, restarts = posterior_facts(case), restart_facts(case, agreement)
    careful = cautions_of(model, agreement, [fact["share"] for fact in modes], case.mode_names)
    by_mode = signal_facts(case, signal) if signal is not None and case.n_modes > 1 else None
    sessions = session_facts(case, signal)

    figures: dict[str, Any] = {}
    if comparison is not None:
        figures["comparison"] = comparison_figure(comparison)
        if (by_modes := mode_choice_figure(comparison)) is not None:
            figures["mode_choice"] = by_modes
    if animals:
        figures["animals"] = animal_figure(case, animals)
    drawn_bouts = bout_figures(case, bouts) if bouts else []
    figures |= {f"bouts-{mode}": figure for mode, figure in enumerate(drawn_bouts)}
    if checks:
        figures["occupancy"] = occupancy_figure(case, checks)
    if by_mode:
        figures |= {"signal-mean": mean_figure(case, by_mode), "signal-onset": onset_figure(case, by_mode)}
    if posterior:
        figures["certainty"] = certainty_figure(case, posterior)
    if restarts:
        figures["restarts"] = restart_figure(restarts)

    heading = title or f"{model.label} on {counted(len(case.data), 'session')}"
    page: dict[str, Any] = {
        "title": heading,
        "made": datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        "what": model.description,
        "data_words": data_sentence(about_data, case.nouns["state"]),
        "fit_words": fit_sentences(about_fit, about_data),
        "tiles": _tiles(case, about_data, about_fit, careful, agreement),
        "verdict": _verdict(verdict_of(model, agreement), case.n_modes),
        "cautions": list(careful.values()),
        "modes": _mode_cards(case, modes, maps),
        "n_modes": case.n_modes,
        "nouns": case.nouns,
        "animals": animals,
        "animal_words": animal_sentences(animals, case.mode_names) if animals else [],
        "animal_note": animal_note(animals) if animals else "",
        "comparison": _comparison(comparison),
        "maps": maps,
        "gauge": GAUGE,
        "state_names": case.state_names,
        "switching": switching,
        "switching_words": switching_sentences(switching, case) if switching else [],
        "sessions": sessions,
        "bouts": drawn_bouts,
        "checks": checks,
        "check_words": check_sentence(checks) if checks else "",
        "strips": check_strips(checks) if checks else [],
        "signal": by_mode,
        "signal_fitted": signal in model.own_signals,
        "posterior": posterior,
        "posterior_words": _posterior_words(posterior),
        "restarts": restarts,
        "restart_words": restart_sentence(agreement),
        "intervals": intervals,
        "no_intervals": NO_INTERVALS,
        "methods": methods_paragraph(
            case,
            about_data,
            about_fit,
            agreement,
            comparison=comparison,
            checks=checks,
            signal=by_mode,
            bootstrap=drawn,
        ),
        "references": references(),
        "provenance": provenance(case, about_data, run),
        "replay": _replay(case, maps),
    }
    page["sections"] = _sections(page)
    facts = {
        "modes": case.mode_names,
        "colours": named_mode_colours(case.mode_names),
        "nouns": case.nouns,
        "states": case.state_names,
        "actions": case.action_names,
        "maps": maps,
        "intervals": intervals and {name: intervals[name] for name in ("preference", "rewards")},
        "switching": switching,
        "figures": figures,
        "timeline": sessions,
        "replay": page["replay"],
    }
    return page, facts


def _sections(page: dict[str, Any]) -> list[tuple[str, str]]:
    """Sections that there are: name in the address, heading."""
    maps = page["maps"]
    wanted = [
        ("summary", "Summary", True),
        ("comparison", "Model comparison", page["comparison"]),
        ("rewards", "Rewards and choices" if maps and maps["gauges"] else "Choices", maps),
        ("animals", _animals_heading(page["animals"]), page["animals"]),
        ("session", "One session", True),
        ("switching", "Switching", page["switching"]),
        ("durations", "Durations", page["bouts"]),
        ("checks", "Predictive checks", page["checks"]),
        ("signal", "Signal by mode", page["signal"]),
        ("uncertainty", "How sure is it?", page["posterior"] or page["restarts"] or page["intervals"]),
        ("methods", "Methods", True),
        ("provenance", "Provenance", True),
    ]
    return [(name, heading) for name, heading, there in wanted if there]


def _animals_heading(facts: dict[str, Any] | None) -> str:
    return "Animals" if facts and facts["noun"] == "animal" else "Sessions"


VERDICTS = {"trust": "Trust {}", "with care": "Use {} with care", "don't": "Don't trust {}"}


def _verdict(found: Verdict | None, n_modes: int) -> dict[str, Any] | None:
    """The verdict as a heading and a list."""
    if found is None:
        return None
    reasons = [f"{words[0].upper()}{words[1:]}." for words in found.reasons]
    words = VERDICTS[found.level].format("this fit" if n_modes == 1 else "these modes")
    return {"kind": found.level.replace(" ", "-").replace("'", ""), "words": words, "reasons": reasons}


def _tiles(
    case: DecodedFit,
    data: dict[str, Any],
    fit: dict[str, Any],
    careful: dict[str, str],
    agreement: RestartAgreement | None,
) -> list[dict[str, str | bool]]:
    tiles: list[dict[str, str | bool]] = [
        {"value": f"{data['sessions']:,}", "label": "session" if data["sessions"] == 1 else "sessions"},
        {"value": f"{data['steps']:,}", "label": "steps"},
        {"value": str(case.n_modes), "label": "mode" if case.n_modes == 1 else "modes", "warn": "modes" in careful},
    ]
    if data["subjects"]:
        tiles.insert(0, {"value": str(data["subjects"]), "label": "subject" if data["subjects"] == 1 else "subjects"})
    if fit["score"] is not None:
        held_out, fitted = fit["scores"]["others"], fit["scores"]["fitted"]
        value, where = (held_out[0], ", held out") if held_out else (fit["score"], ", as fitted" if fitted else "")
        tiles.append({"value": number(value, 4), "label": f"nats per step{where}"})
    if fit["converged"] is not None:
        tiles.append({"value": "yes" if fit["converged"] else "no", "label": "converged", "warn": not fit["converged"]})
    if agreement is not None:
        value = f"{agreement.n_same} / {agreement.n_restarts}"
        warn = "restarts" in careful or "rivals" in careful
        tiles.append({"value": value, "label": "restarts agree", "warn": warn})
    return tiles


def _mode_cards(case: DecodedFit, facts: list[dict[str, Any]], maps: dict[str, Any] | None) -> list[dict[str, Any]]:
    of_moves = maps is not None and maps["kind"] == "table"
    return [
        {
            "name": name,
            "colour": colour,
            "share": percent(fact["share"]),
            "width": round(100 * fact["share"], 2),
            "words": mode_sentence(fact, case.state_names, of_moves),
        }
        for name, colour, fact in zip(case.mode_names, named_mode_colours(case.mode_names), facts, strict=True)
    ]


def _comparison(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    rows = [
        {
            "model": row["label"],
            "modes": row["modes"],
            "score": cell(row["score"], 4),
            "behind": "best" if row["model"] == comparison.best else _behind(row),
            "seconds": number(row["seconds"], 2),
            "chosen": ", ".join(f"{key} = {value}" for key, value in row["chosen"].items()),
        }
        for row in comparison.table()
    ]
    tested = counted(len(comparison.steps), "test session")
    return {
        "rows": rows,
        "any_chosen": any(row["chosen"] for row in rows),
        "verdict": comparison.verdict(),
        "of": comparison.of.replace("_", " "),
        "words": " ".join([f"{counted(comparison.n_scored, 'step')} of {tested} scored, once.", *comparison.remarks()]),
        "by_modes": mode_choice_figure(comparison) is not None,
    }


def _behind(row: dict[str, Any]) -> str:
    half = "" if np.isnan(row["half_width"]) else f" ± {row['half_width']:.4f}"
    return minus(f"{row['behind_best']:+.4f}{half}")


def _posterior_words(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return ""
    return f"At {percent(facts['above_90'])} of the steps one mode has a probability of 0.9 or more."


def _replay(case: DecodedFit, maps: dict[str, Any] | None) -> str | None:
    """How a session is replayed: on the map, on a ring of states, or not at all."""
    if maps is None or case.n_states < 2:
        return None
    if maps["kind"] != "table":
        return "map"
    return "ring" if case.n_states <= 60 else None
