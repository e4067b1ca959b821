"""A fit that was killed and goes on ends in the same bits; a file is never taken for another fit's."""

import re
import warnings

import jax
import numpy as np
import pytest
from swirl.baselines import ARHMM

from swirl import SWIRL, datasets, priors
from swirl.errors import Notice
from swirl.inference import checkpoint as checkpoints
from swirl.inference.checkpoint import Checkpoint, iterations_made

WORLD = datasets.gridworld(n_sessions=12, n_steps=60)
MARKS = {"data": "d", "settings": "s", "code": "c"}


class KilledError(Exception):
    """As if the process had been killed: nothing after it is done."""


def model(**others):
    return SWIRL(WORLD.env, **{"n_modes": 2, "history": 1, "n_restarts": 2, "max_iter": 160, **others})


def same(one, other):
    assert len(one.restarts_) == len(other.restarts_)
    for a, b in zip(one.restarts_, other.restarts_, strict=True):
        assert (a.status, a.asked, a.raced) == (b.status, b.asked, b.raced)
        np.testing.assert_array_equal(a.objective_trace, b.objective_trace)
        np.testing.assert_array_equal(a.log_likelihood_trace, b.log_likelihood_trace)
        np.testing.assert_array_equal(a.occupancy, b.occupancy)
        for mine, others in zip(jax.tree.leaves(a.parameters), jax.tree.leaves(b.parameters), strict=True):
            np.testing.assert_array_equal(mine, others)
    assert one.fit_report_ == other.fit_report_
    if one.prior_scores_ is not None:
        np.testing.assert_array_equal(one.prior_scores_, other.prior_scores_)


def killed_after(n, monkeypatch):
    """Let the n-th writing of the file be the last thing that happens."""
    written = 0
    write = Checkpoint.write

    def counted(self):
        nonlocal written
        write(self)
        written += 1
        if written == n:
            raise KilledError

    monkeypatch.setattr(Checkpoint, "write", counted)


def resumed_again_and_again(make, path, monkeypatch, *, every, step):
    """Fit with a kill after every `step` writings, each time from the file; return the fit, and how often."""
    kills = 0
    while True:
        with monkeypatch.context() as patch:
            killed_after(step, patch)
            try:
                return make().fit(WORLD.trajectories, checkpoint=path, checkpoint_every=every, resume=True), kills
            except KilledError:
                kills += 1
                assert kills < 100


@pytest.mark.parametrize(
    ("make", "every", "step"),
    [
        pytest.param(  # in the middle of every kind of stretch
            lambda: model(tol=1e-9, reward_prior=priors.Cauchy()),
            "1 iterations",
            37,
            marks=pytest.mark.slow,
        ),
        # and of the race
        pytest.param(
            lambda: model(n_restarts=9, max_iter=70, reward_prior=priors.Cauchy()),
            "10 iterations",
            3,
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda: model(max_iter=60), 0, 13, marks=pytest.mark.slow),  # and of the choice of a prior
        pytest.param(lambda: ARHMM(WORLD.env, n_modes=2, n_restarts=2), "7 iterations", 2, marks=pytest.mark.slow),
    ],
    ids=["swirl", "race", "prior", "arhmm"],
)
def test_a_fit_that_was_killed_ends_in_the_same_bits(make, every, step, tmp_path, monkeypatch):
    undisturbed = make().fit(WORLD.trajectories)
    found, kills = resumed_again_and_again(make, tmp_path / "kept", monkeypatch, every=every, step=step)
    assert kills >= 2
    same(found, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["scan", "associative"])
def test_on_the_engines_of_a_device_too(engine, tmp_path, monkeypatch):
    make = lambda: model(max_iter=80, reward_prior=priors.Cauchy())  # noqa: E731
    undisturbed = make().fit(WORLD.trajectories, engine=engine)
    with monkeypatch.context() as patch:
        killed_after(4, patch)
        with pytest.raises(KilledError):
            make().fit(WORLD.trajectories, engine=engine, checkpoint=tmp_path / "kept", checkpoint_every="5 iterations")
    assert 20 <= iterations_made(tmp_path / "kept") < 80
    found = make().fit(WORLD.trajectories, engine=engine, checkpoint=tmp_path / "kept", resume=True)
    same(found, undisturbed)


@pytest.mark.slow
def test_more_iterations_may_be_asked_for(tmp_path):
    make = lambda n: model(max_iter=n, tol=1e-9, reward_prior=priors.Cauchy())  # noqa: E731
    short = make(77).fit(WORLD.trajectories, checkpoint=tmp_path / "kept", checkpoint_every="1 iterations")
    assert short.restarts_[0].status == "iterations ran out"
    found = make(140).fit(WORLD.trajectories, checkpoint=tmp_path / "kept", resume=True)
    same(found, make(140).fit(WORLD.trajectories))


def test_no_iteration_that_was_kept_is_made_again(tmp_path):
    made = []
    kept = {"checkpoint": tmp_path / "kept", "checkpoint_every": "1 iterations", "resume": True}
    make = lambda: model(max_iter=60, reward_prior=priors.Cauchy())  # noqa: E731
    make().fit(WORLD.trajectories, callback=lambda p: made.append(p.iteration), **kept)
    assert made == list(range(1, len(made) + 1))
    again = []
    make().fit(WORLD.trajectories, callback=lambda p: again.append(p.iteration), **kept)
    assert again == []


def test_a_file_that_is_there_is_not_replaced(tmp_path):
    (tmp_path / "kept").write_text("precious")
    with pytest.raises(FileExistsError, match="resume=True"):
        model().fit(WORLD.trajectories, checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        model().fit(WORLD.trajectories, checkpoint=tmp_path / "kept", resume=True)
    assert (tmp_path / "kept").read_text() == "precious"


@pytest.mark.parametrize("what", ["data", "settings", "code"])
def test_a_checkpoint_of_another_fit_is_refused(what, tmp_path):
    one = Checkpoint.open(tmp_path / "kept", MARKS)
    one.keep("piece", [np.arange(3)])
    one.write()
    with pytest.raises(ValueError, match=f"of another fit: its {checkpoints.MARKS[what]} differ"):
        Checkpoint.open(tmp_path / "kept", {**MARKS, what: "other"}, resume=True)
    again = Checkpoint.open(tmp_path / "kept", MARKS, resume=True)
    np.testing.assert_array_equal(again.known("piece", [0])[0], np.arange(3))


def test_other_sessions_and_other_settings_are_told_apart(tmp_path):
    path = tmp_path / "kept"
    model(max_iter=12, reward_prior=priors.Cauchy()).fit(WORLD.trajectories, checkpoint=path, checkpoint_every=0)
    with pytest.raises(ValueError, match="its sessions differ"):
        model(max_iter=12, reward_prior=priors.Cauchy()).fit(WORLD.trajectories[:6], checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="its settings"):
        model(max_iter=12, random_state=1, reward_prior=priors.Cauchy()).fit(
            WORLD.trajectories, checkpoint=path, resume=True
        )


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "kept"
    one = Checkpoint.open(path, MARKS)
    one.keep("piece", [np.arange(1000.0)])
    one.write()
    whole = path.read_bytes()
    for broken in (whole[:-40], whole[:100], b"", whole[:300] + b"\x00" * 40 + whole[340:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
            Checkpoint.open(path, MARKS, resume=True)


def test_a_disk_that_is_full_does_not_end_a_fit(tmp_path, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.warns(Notice, match="the fit continues"):
        fitted = model(max_iter=12, reward_prior=priors.Cauchy()).fit(
            WORLD.trajectories, checkpoint=tmp_path / "kept", checkpoint_every=0
        )
    assert fitted.restarts_[0].n_iterations == 12
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("every", ["", "-1", "soon", "0 iterations", "1.5 iterations", True, None, float("nan")])
def test_what_is_no_time_is_refused(every):
    with pytest.raises(ValueError, match=re.escape(f"checkpoint_every={every!r}")):
        checkpoints.Every.of(every)


def test_a_file_is_written_only_when_it_is_time(tmp_path):
    with warnings.catch_warnings():
        model(max_iter=30, reward_prior=priors.Cauchy()).fit(WORLD.trajectories, checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()  # it took less than a minute


@pytest.mark.parametrize("flags", ["", "--xla_gpu_deterministic_ops=true"])
def test_on_a_gpu_that_adds_up_in_no_order_it_is_said(flags, tmp_path, monkeypatch, recwarn):
    monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setattr("swirl.estimators.em_estimator.on_cpu", lambda: False)
    model(max_iter=1, reward_prior=priors.Cauchy()).fit(WORLD.trajectories, checkpoint=tmp_path / "kept")
    said = [str(own.message) for own in recwarn if "XLA_FLAGS=--xla_gpu_deterministic_ops=true" in str(own.message)]
    assert len(said) == (0 if flags else 1)
