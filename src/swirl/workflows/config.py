"""A run in one file: data, environment, model and fit, as `swirl fit --config run.toml` reads it and echoes it.

    data = "sessions.parquet"
    env = "maze.csv"

    [model]
    modes = 3
    history = 2
    reward_prior = { kind = "Gaussian", strength = 0.05, backoff = 3.0, of = "value" }

    [fit]
    restarts = 8
    seed = 0

Every field has a default but `data`; an unknown one is a fault, with the nearest that exists.
"""

import tomllib
from dataclasses import MISSING, asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError, model_validator

from swirl.errors import Faults
from swirl.priors import Adaptive, Bouts, Cauchy, Dirichlet, Gaussian, GoalDirected, HabitGoals
from swirl.rewards.forms import FORMS
from swirl.text import did_you_mean, expected

MOST = 1000  # modes, states of a history, restarts: beyond is a slip of the pen
OPTIONS = (
    Gaussian,
    Cauchy,
    Adaptive,
    Dirichlet,
    HabitGoals,
    GoalDirected,
    Bouts,
    *[form for form in FORMS if form.in_config],
)
KINDS: dict[str, Any] = {cls.__name__: cls for cls in OPTIONS}


def _option(value: Any) -> Any:
    """{ kind = "Gaussian", strength = 1.0 } → Gaussian(strength=1.0), also inside one another."""
    if not isinstance(value, dict):
        return value
    fields = {key: _option(inner) for key, inner in value.items() if key != "kind"}
    kind = value.get("kind")
    if kind not in KINDS:
        raise ValueError(f'kind={kind!r}: expected one of {", ".join(KINDS)}, as in {{ kind = "Gaussian" }}')
    known = KINDS[kind].__dataclass_fields__
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise ValueError(f"{kind} has no field {', '.join(unknown)}; it has {', '.join(known)}")
    required = [name for name, own in known.items() if own.default is MISSING and own.default_factory is MISSING]
    if lacking := [name for name in required if name not in fields]:
        raise ValueError(f"{kind} lacks {', '.join(lacking)}")
    whole = {name for name, own in known.items() if own.type is int}  # TOML tells 1 from 1.0, users do not
    return KINDS[kind](**{key: _numbers(x, int if key in whole else float) for key, x in fields.items()})


def _numbers(value: Any, number: type) -> Any:
    if isinstance(value, list):
        return tuple(_numbers(x, number) for x in value)
    return number(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    if not is_dataclass(value) or isinstance(value, type):
        return value
    inner = {name: _plain(getattr(value, name)) for name in asdict(value)}
    return {"kind": type(value).__name__, **{name: x for name, x in inner.items() if x is not None}}


Option = Annotated[Any, BeforeValidator(_option), PlainSerializer(_plain)]


class Section(BaseModel):
    """A table of the file; unknown names are faults."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


S = TypeVar("S", bound=Section)


class Columns(Section):
    """Names of the columns in the data file; several together may tell a session, as ["mouse", "session"]."""

    session: str | list[str] = "session"
    subject: str | list[str] = "subject"
    group: str = "group"
    time: str = "t"
    state: str = "state"
    action: str = "action"
    gap: str = "gap"


class Model(Section):
    """Which model; the fields mean what the arguments of `SWIRL` mean.

    With ``reward = "goals"``, or the name Goals, `goals` are the places by name or number (`workflows.goals`).
    """

    name: str | None = None
    modes: int = Field(default=2, ge=1, le=MOST)
    history: int | None = Field(default=None, ge=1, le=MOST)
    switching: str | None = None
    reward: Option = None
    goals: list[str | int | list[str | int]] | None = None
    discount: float | None = Field(default=None, ge=0, lt=1)
    temperature: float | list[float] | None = None
    reward_prior: Option = None
    switching_prior: Option = None
    impossible: Literal["error", "gap", "forget"] | None = None


class Fit(Section):
    """How hard to try."""

    restarts: int = Field(default=8, ge=1, le=MOST)
    max_iter: int = Field(default=2000, ge=1, le=10**9)
    tol: float = Field(default=0.01, gt=0)
    seed: int = Field(default=0, ge=0, lt=2**63)


class Compare(Section):
    """Which models `swirl compare` sets side by side, and which numbers of modes it tries.

    Of several numbers one mode is always tried too. `folds` = 0: none, so that one number of modes must be given.
    `goals`: places by name, as { water = 116, home = [0, 1] } or as `--goals` has them, "water=116,home=0+1".
    """

    models: list[str] = Field(default=["Markov", "MaxEnt", "rARHMM", "I-1", "S-1", "S-2"], min_length=1)
    modes: list[Annotated[int, Field(ge=1, le=MOST)]] = Field(default=[1, 2, 3], min_length=1)
    folds: int = Field(default=3, ge=0)
    score: Literal["action", "next_state"] | None = None
    goals: str | dict[str, str | int | list[str | int]] | None = None


class Grid(Section):
    """Settings of a model to try, all combinations of them, each on every fold (`swirl sweep`).

    What is not listed here is as [model] has it.  Each repeat cuts the folds otherwise, and begins from another seed.
    `folds` = 0: no folds; each combination is fitted to all sessions, once for each repeat, and the fits are kept.
    """

    modes: list[Annotated[int, Field(ge=1, le=MOST)]] | None = Field(default=None, min_length=1)
    history: list[Annotated[int, Field(ge=1, le=MOST)]] | None = Field(default=None, min_length=1)
    switching: list[str] | None = Field(default=None, min_length=1)
    reward: list[Option] | None = Field(default=None, min_length=1)
    discount: list[Annotated[float, Field(ge=0, lt=1)]] | None = Field(default=None, min_length=1)
    temperature: list[float] | None = Field(default=None, min_length=1)
    reward_prior: list[Option] | None = Field(default=None, min_length=1)
    switching_prior: list[Option] | None = Field(default=None, min_length=1)
    folds: int = Field(default=3, ge=0)
    repeats: int = Field(default=2, ge=1, le=MOST)


class Run(Section):
    """A whole run.

    Parameters
    ----------
    data
        CSV or Parquet, one row per step.
    env
        Edge list, or "syllables", or "observed" (`environments.environment_for`).
    stream
        Read the data a part at a time (`StreamedTrajectories`): a Parquet file, or a folder of them.
    hold_out
        Every so-many-th session is held out and scored; None, or `--hold-out 0`, holds out none (`swirl compare`: every
        fifth animal where five or more are known, else every fifth session).
    hold_out_subjects
        Instead: the sessions of these subjects are.

    Examples
    --------
    >>> values = {"modes": 3, "reward_prior": {"kind": "Gaussian", "strength": 0.5}}
    >>> run = Run.model_validate({"data": "sessions.csv", "model": values})
    >>> run.model.reward_prior
    Gaussian(strength=0.5, backoff=None, of='linearised')
    >>> run.model_dump(mode="json", exclude_none=True)["model"]["reward_prior"]
    {'kind': 'Gaussian', 'strength': 0.5, 'of': 'linearised'}
    """

    data: str
    env: str | None = None
    states: str | None = None
    stream: bool = False
    hold_out: int | None = Field(default=None, ge=2)
    hold_out_subjects: list[str] | None = Field(default=None, min_length=1)
    columns: Columns = Field(default_factory=Columns)
    model: Model = Field(default_factory=Model)
    fit: Fit = Field(default_factory=Fit)
    compare: Compare = Field(default_factory=Compare)
    grid: Grid | None = None

    @model_validator(mode="after")
    def _one_way_to_hold_out(self) -> "Run":
        if self.hold_out is not None and self.hold_out_subjects is not None:
            raise ValueError("hold_out and hold_out_subjects are two ways to hold sessions out: give one of them")
        if self.stream and (self.hold_out is not None or self.hold_out_subjects is not None):
            raise ValueError("stream: no sessions can be held out of it; keep their files apart, and see `swirl apply`")
        return self


def read_config(path: Any) -> dict[str, Any]:
    """Read a TOML file as plain values; paths in it are relative to its folder."""
    path = Path(path)
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: expected a TOML file") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply to be a run: expected a TOML file") from None
    except ValueError as fault:  # TOMLDecodeError, and numbers of thousands of digits
        raise ValueError(f"{path} is not TOML: {fault}") from None
    for name in ("data", "env", "states"):
        value = found.get(name)
        if isinstance(value, str) and (path.parent / value).exists():
            found[name] = str(path.parent / value)
    return found


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The first with the second's values laid over it; None changes nothing.

    >>> merged({"model": {"modes": 2, "history": 1}}, {"model": {"modes": 3, "history": None}, "env": None})
    {'model': {'modes': 3, 'history': 1}}
    >>> merged({"hold_out_subjects": ["m1"]}, {"hold_out": 0})
    {}
    """
    result = dict(base)
    for one, other in (("hold_out", "hold_out_subjects"), ("hold_out_subjects", "hold_out")):
        if changes.get(one) is not None:  # the other way to hold sessions out gives way
            result.pop(other, None)
    for key, value in changes.items():
        if isinstance(value, dict) and key in ("columns", "model", "fit", "compare", "grid"):
            inner = merged(result.get(key, {}) if isinstance(result.get(key, {}), dict) else {}, value)
            if inner:
                result[key] = inner
        elif value is not None:
            result[key] = value
    if result.get("hold_out") == 0:
        del result["hold_out"]  # none
    return result


def bouts_option(values: dict[str, Any], steps: float | None, strength: float | None) -> dict[str, Any] | None:
    """The prior of switching that `--bouts` and `--bouts-strength` ask for, beside the one that a file has.

    >>> bouts_option({"model": {"switching_prior": {"kind": "Gaussian", "strength": 8.0}}}, 50.0, None)
    {'kind': 'Bouts', 'steps': 50.0, 'besides': {'kind': 'Gaussian', 'strength': 8.0}}
    >>> bouts_option({"model": {"switching_prior": {"kind": "Bouts", "steps": 50.0}}}, None, 1000.0)
    {'kind': 'Bouts', 'steps': 50.0, 'strength': 1000.0}
    """
    asked = {name: value for name, value in (("steps", steps), ("strength", strength)) if value is not None}
    if not asked:
        return None
    model = values.get("model")
    given = model.get("switching_prior") if isinstance(model, dict) else None
    if isinstance(given, dict) and given.get("kind") == "Bouts":
        return {**given, **asked}
    if steps is None:
        raise ValueError("--bouts-strength: says how much --bouts is worth; give that too, as in --bouts 50")
    return {"kind": "Bouts", **asked, **({} if given is None else {"besides": given})}


def checked(values: dict[str, Any], source: str = "the configuration", form: type[S] = Run) -> S:
    """Make a `Run`, or another such file, or raise one error that names every wrong field.

    >>> checked({"data": "x.csv", "model": {"mods": 3}})
    Traceback (most recent call last):
    ValueError: the configuration cannot be used: 1 fault.
      1. model.mods: no such field; did you mean 'modes'?
    """
    try:
        return form.model_validate(values)
    except ValidationError as wrong:
        faults = Faults()
        for error in wrong.errors():
            place = ".".join(str(part) for part in error["loc"] if not str(part).startswith("function-"))
            faults.add(f"{place}: {_words(error, form)}" if place else _words(error, form))
        faults.raise_if_any(f"{source} cannot be used")
        raise


def settings(
    config: Any, options: dict[str, Any], command: str, bouts: tuple[float | None, float | None] = (None, None)
) -> Run:
    """The run that a command asks for: a TOML file where one is given, with the options laid over it.

    Parameters
    ----------
    command
        The command's name, for the error where no data are given.
    bouts
        What `--bouts` and `--bouts-strength` were given (`bouts_option`).
    """
    values = {} if config is None else read_config(config)
    wanted = merged(merged(values, options), {"model": {"switching_prior": bouts_option(values, *bouts)}})
    if "data" not in wanted:
        example = f"as in `swirl {command} sessions.csv`, or data = … in --config"
        raise ValueError(f"no data: give a CSV or Parquet file, {example}")
    return checked(wanted, "the settings" if config is None else str(config))


def _words(error: Any, form: type[Section]) -> str:
    if error["type"] == "extra_forbidden":
        known: dict[str, Any] = {"model": Model, "fit": Fit, "columns": Columns, "compare": Compare, "grid": Grid}
        sections = {name: section for name, section in known.items() if name in form.model_fields}
        name = str(error["loc"][-1])
        home = [key for key, section in sections.items() if name in section.model_fields]
        if home:
            return f"no such field here; it belongs under [{home[0]}]"
        section = sections.get(str(error["loc"][0]), form)
        hint = did_you_mean(name, section.model_fields, f"the fields are {', '.join(section.model_fields)}")
        return f"no such field{hint}"
    if error["type"] == "missing":
        return "missing; give it in the file or on the command line"
    text = expected(error["msg"])
    return text if error["type"] == "value_error" else f"got {error['input']!r}; {text[:1].lower()}{text[1:]}"
