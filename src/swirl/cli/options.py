"""Options that several commands have, with the same words in each."""

from pathlib import Path
from typing import Annotated

import typer

# What is read.
Table = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA", help="CSV or Parquet, one row per step (swirl import makes one).", show_default=False
    ),
]
Fit = Annotated[Path, typer.Argument(metavar="FIT", help="A model that swirl fit saved.", show_default=False)]
Sessions = Annotated[
    Path | None, typer.Option(metavar="DATA", help="Sessions; by default those of the fit, read from their file.")
]
Environment = Annotated[
    str | None,
    typer.Option(
        metavar="ENV",
        help='Edge list (CSV: state, action, next_state[, p]), or "syllables", or "observed" (the default: the '
        "moves that occur in the data).",
    ),
]
States = Annotated[
    str | None, typer.Option(metavar="FILE", help="Table of states (CSV: name, x, y); else <ENV>.states.csv.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="ROLE=NAME,…",
        help="Where columns have other names: state=zone,time=seconds,session=mouse+day (both together tell it). Also: "
        "subject, group, action, gap.",
    ),
]
Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Settings in a TOML file; options given here take precedence.")
]
Signal = Annotated[str | None, typer.Option(metavar="NAME", help="A column to show together with the modes.")]
SignalWindow = Annotated[
    str | None,
    typer.Option(
        metavar="BEFORE,AFTER",
        help="How far the signal is drawn before and after the starts of modes, in steps; with --signal-bin, in time.",
        show_default="10,20 steps or bins",
    ),
]
SignalBin = Annotated[
    float | None,
    typer.Option(
        metavar="WIDTH",
        help="Draw it over time, in bins of this width, in the unit of the data's times (as a rule seconds).",
        show_default="over steps",
    ),
]

# How a model is fitted.
Goals = Annotated[
    str | None,
    typer.Option(
        metavar="A,B+C,…",
        help="Places that modes walk to, by name or number of the state; B+C is one goal of two states; or: discover.",
        show_default="none",
    ),
]
Impossible = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        help="What to do with moves that the environment rules out: error, gap or forget.",
        show_default="error; without --env, gap",
    ),
]
Restarts = Annotated[
    int | None,
    typer.Option(metavar="N", help="Random starts; of more than 8, only the best 8 are continued.", show_default="8"),
]
Iterations = Annotated[
    int | None, typer.Option(metavar="N", help="Maximum number of EM iterations.", show_default="2000")
]
Tolerance = Annotated[
    float | None,
    typer.Option("--tol", metavar="NATS", help="A fit ends when less than this is left to gain.", show_default="0.01"),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed.", show_default="0")]
HeldOutSubjects = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Instead, hold out and score all sessions of these subjects.")
]

# Where many fits are made.
WHERE = (
    "local: processes of this machine; here: this process; else the address (tcp://…) or the scheduler file of a Dask "
    "cluster."
)
Scheduler = Annotated[str, typer.Option(metavar="WHERE", help=WHERE)]
Workers = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes of a local cluster.", show_default="one on each core")
]

# What is written and said.
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors and important warnings.")]
