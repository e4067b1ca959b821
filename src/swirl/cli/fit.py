"""`swirl fit`: a table of sessions in, a fitted model out."""

import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl fit sessions.csv --env maze.csv --modes 3 --history 2 -o fit.nc")
def fit(
    data: shared.Table = None,
    env: shared.Environment = None,
    states: shared.States = None,
    columns: shared.Columns = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File for the model.")] = Path(
        "fit.nc"
    ),
    config: shared.Config = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model by name: S-2, I-1, Goals, rARHMM, Markov, …")
    ] = None,
    modes: Annotated[
        int | None,
        typer.Option(metavar="K", help="Number of modes.", show_default="2; of goals: one each, and one that explores"),
    ] = None,
    history: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="States that a reward depends on: the current one and L - 1 before it.",
            show_default="2; with goals: what their habit depends on",
        ),
    ] = None,
    switching: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="state, independent, state-table, state-net, until-reached or fixed.",
            show_default="state; of goals: until-reached",
        ),
    ] = None,
    bouts: Annotated[
        float | None,
        typer.Option(metavar="STEPS", help="Prior for long modes: the mean number of steps of a bout."),
    ] = None,
    bouts_strength: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Strength of --bouts: it counts as much as N observed bouts of each mode.",
            show_default="100",
        ),
    ] = None,
    reward: Annotated[
        str | None, typer.Option(metavar="FORM", help="state, state-action or goals.", show_default="state")
    ] = None,
    goals: shared.Goals = None,
    discount: Annotated[
        float | None, typer.Option(metavar="X", help="Discount, in [0, 1).", show_default="0.95")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Noise of choices: low, and the best action is nearly always taken.", show_default="1"
        ),
    ] = None,
    impossible: shared.Impossible = None,
    restarts: shared.Restarts = None,
    max_iter: shared.Iterations = None,
    tol: shared.Tolerance = None,
    seed: shared.Seed = None,
    hold_out: Annotated[
        int | None,
        typer.Option(metavar="N", help="Hold out and score every N-th session; 0: none.", show_default="none"),
    ] = None,
    hold_out_subjects: shared.HeldOutSubjects = None,
    judge: Annotated[
        bool,
        typer.Option(
            "--verdict/--no-verdict",
            help="Also fit each half of the sessions, and say whether to trust the modes.",
        ),
    ] = True,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="For data larger than memory, read in parts: DATA is a Parquet file, or a folder of them.",
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the state of the fit in this file, for fits that may be interrupted."),
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(metavar="TIME", help="How often: 60 (seconds), '5 min' or '100 iterations'.")
    ] = "60",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume from the checkpoint; where there is none yet, start from the beginning."),
    ] = False,
    force: shared.Force = False,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show memory, how each start ended, and progress in a pipe.")
    ] = False,
) -> None:
    """Fit a model to sessions: which modes there are, what each wants, and what makes the animal switch.

    Without --env the environment consists of the moves that occur in the sessions
    that are fitted. The settings, the command and a fingerprint of the data are kept in the file.
    """
    from swirl.analysis.verdicts import verdict
    from swirl.cli.output import (
        check_free,
        data_words,
        environment_words,
        free_name,
        listed,
        named_columns,
        show_json,
        status_line,
        tell_next,
    )  # fmt: skip
    from swirl.workflows.config import settings
    from swirl.workflows.fit import fit as run_fit
    from swirl.workflows.goals import split_goals

    check_free(output, force, data, env, states, config)
    kept = _checkpoint(checkpoint, checkpoint_every, resume, force, [output, data, env, states, config])
    options: dict[str, Any] = {
        "data": data,
        "env": env,
        "states": states,
        "columns": named_columns(columns),
        "stream": stream or None,
        "hold_out": hold_out,
        "hold_out_subjects": listed(hold_out_subjects),
        "model": {
            "name": model,
            "modes": modes,
            "history": history,
            "switching": switching,
            "reward": reward,
            "goals": None if goals is None else split_goals(goals),
            "discount": discount,
            "temperature": temperature,
            "impossible": impossible,
        },
        "fit": {"restarts": restarts, "max_iter": max_iter, "tol": tol, "seed": seed},
    }
    run = settings(config, options, "fit", (bouts, bouts_strength))
    command = shlex.join(["swirl", *sys.argv[1:]])
    silent = quiet or as_json
    with status_line(False if silent else None) as show:
        shown = False if silent else verbose or None
        fitted, ready = run_fit(run, command=command, progress=shown, callback=show, checkpoint=kept)
    saved = fitted.save(output, overwrite=force)
    if checkpoint is not None and fitted.restarts_[fitted.best_restart_].status != "interrupted":
        checkpoint.unlink(missing_ok=True)  # the model is safe, and says more
    if judge and fitted.fitted_by_em:
        with suppress(KeyboardInterrupt), status_line(False if silent else None) as show:  # the fit is safe by now
            verdict(fitted, ready.some, callback=_on_halves(saved, show, silent))
            fitted.save(output, overwrite=True)
    if quiet:
        return
    facts = summary(fitted, ready)
    if as_json:
        if ready.search is not None:
            found = [*ready.search.goals, *([ready.search.refused] if ready.search.refused else [])]
            facts["goals"] = [{**asdict(goal), "found": goal in ready.search.goals} for goal in found]
        show_json({**facts, "file": str(saved)})
        return
    told = {
        "data": data_words(ready.train),
        "environment": environment_words(ready.env),
        "model": fitted.description.rstrip("."),
    }
    typer.echo(to_text({**facts, **told}))
    if ready.search is not None:
        typer.echo(f"\nGoals, in the order found:\n{ready.search}")
    if verbose:
        typer.echo(details(fitted, ready.memory))
    typer.echo(f"\nSaved to {saved}")
    tell_next(["swirl", "report", str(saved), "-o", free_name("report.html")])


def _on_halves(saved: Path, show: Callable[[str], None], silent: bool) -> Callable[[str], None]:
    """Show what is fitted for the verdict; before the first of these fits, say that the model is safe."""
    told = silent

    def on(words: str) -> None:
        nonlocal told
        if not told:
            told = True
            where = f"Fit saved to {saved}; now fitting the two halves of the sessions for the verdict"
            typer.echo(f"{where} (Ctrl-C keeps the fit).", err=True)
        show(f"verdict: {words}")

    return on


def _checkpoint(path: Path | None, every: str, resume: bool, force: bool, others: list[Any]) -> dict[str, Any]:
    """Arguments of `fit` that keep what is done so far; say where it resumes from."""
    from swirl.inference.checkpoint import iterations_made

    if path is None:
        if resume:
            raise ValueError("--resume: say from which file with --checkpoint FILE, the one that the fit was given")
        return {}
    if any(other is not None and Path(other).absolute() == path.absolute() for other in others):
        raise ValueError(f"--checkpoint {path}: this file is needed for something else; give another file")
    if resume and path.exists():
        made = iterations_made(path)
        typer.echo(f"Resuming from {path}{f', after {made} iterations' if made else ''}.", err=True)
    elif force and path.exists():
        iterations_made(path)  # what is no checkpoint is not removed
        path.unlink()
    return {"checkpoint": path, "checkpoint_every": every, "resume": resume}


def details(model: Any, memory: Any) -> str:
    """Every setting, predicted memory, and every start: what -v adds."""
    lines = [f"{'settings':<14}{model!r}"]
    lines += [f"{'memory':<14}{memory.to_text()}"] if memory is not None else []
    agreement = model.restart_agreement_
    for i, start in enumerate(model.restarts_):
        kept = "kept: " if i == model.best_restart_ else ""
        line = f"{f'start {i}':<14}{kept}{start.status} after {start.n_iterations} iterations, "
        line += f"objective {start.objective:,.3f}"
        if agreement is not None and not kept and isfinite(agreement.nats_behind[i]):
            line += f", {agreement.nats_behind[i]:,.2f} nats behind; ARI {agreement.ari[i]:.2f} with the kept modes, "
            line += f"policies {agreement.policy_distance[i]:.3f} apart"
        lines.append(line)
    return "\n".join(lines)


def summary(model: Any, ready: Any) -> dict[str, Any]:
    """What a fit came to, ready for JSON."""
    from swirl.data.environments import unseen_words
    from swirl.estimators.fit_warnings import verdict_of
    from swirl.workflows.fit import remarks

    of = model.score_type_of(ready.some)
    found = verdict_of(model, model.restart_agreement_)
    facts: dict[str, Any] = {
        "verdict": None if found is None else {"level": found.level, "reasons": list(found.reasons)},
        "model": repr(model),
        "data": repr(ready.train),
        "missing_actions": ready.data.n_missing_actions,
        "environment": repr(ready.env),
        "ended": model.fit_report_ or "done",
        "converged": model.converged_ is not False,
        "seconds": model.run_["seconds"],
        "scored": of,
        "training_score": model.score(ready.train, of=of),
        "mode_shares": model.mode_shares,
        "remarks": remarks(model, ready),
    }
    if model.prior_scores_ is not None:
        facts["chosen_prior"] = repr(model.reward_prior_)
    train, test = ("the fitted sessions", ready.some), ("the sessions held out", ready.test)
    facts["unseen"] = [
        words
        for whose, sessions in (train, test)
        if sessions is not None and (words := unseen_words(ready.env, sessions, whose, ready.run.model.impossible))
    ]
    if ready.test is not None:
        facts["held_out_score"] = model.score(ready.test, of=of)
        facts["held_out_sessions"] = len(ready.test)
    return facts


def _missing(facts: dict[str, Any]) -> str:
    """Say what was made of actions that are not known."""
    missing = f"{facts['missing_actions']:,} not recorded"
    return f"{missing}; such a step is scored by the state that it led to (taken to be missing by chance)"


def to_text(facts: dict[str, Any]) -> str:
    """The summary as lines for people."""
    from swirl.estimators.base import PER
    from swirl.estimators.fit_warnings import SAID
    from swirl.text import counted

    shares = ", ".join(f"{share:.0%}" for share in facts["mode_shares"])
    per = PER[facts["scored"]]
    lines = []
    if found := facts["verdict"]:
        lines += [("verdict", SAID[found["level"]]), *(("", f"– {why}") for why in found["reasons"])]
    lines += [
        ("data", facts["data"]),
        *([("actions", _missing(facts))] if facts["missing_actions"] else []),
        ("environment", facts["environment"]),
        *(("", f"– {words}") for words in facts["unseen"]),
        ("model", facts["model"]),
        *([("prior", f"{chosen}, chosen on folds")] if (chosen := facts.get("chosen_prior")) else []),
        ("fit", f"{facts['ended']} ({facts['seconds']:.1f} s)"),
        ("modes", f"{len(facts['mode_shares'])}, expected at {shares} of the steps"),
        ("score", f"{facts['training_score']:.4f} nats per {per} on the sessions it was fitted to"),
    ]
    if "held_out_sessions" in facts:
        held_out = facts["held_out_score"]
        sessions = counted(facts["held_out_sessions"], "other session")
        lines.append(("held out", f"{held_out:.4f} nats per {per} on {sessions}"))
    lines += [("beware", remark) for remark in facts["remarks"]]
    return "\n".join(f"{name:<14}{text}" for name, text in lines)
