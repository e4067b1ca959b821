"""A fit that was saved before the modules moved into packages loads, and says of two sessions what it said then."""

import json
from pathlib import Path

import numpy as np
import pytest

import swirl

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(scope="module")
def then():
    return json.loads((FIXTURES / "fit_before_the_move.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def model():
    return swirl.load(FIXTURES / "fit_before_the_move.nc")


@pytest.fixture(scope="module")
def sessions(then):
    return swirl.Trajectories(then["states"], then["actions"], n_states=25, n_actions=5)


def test_it_scores_and_decodes_as_it_did(then, model, sessions):
    for of, score in then["score"].items():
        assert model.score(sessions, of=of) == pytest.approx(score, abs=1e-9)
    np.testing.assert_allclose(model.log_likelihood(sessions), then["log_likelihood"], atol=1e-7)
    assert [path.tolist() for path in model.predict(sessions)] == then["predict"]
    for now, before in zip(model.predict_proba(sessions), then["predict_proba"], strict=True):
        np.testing.assert_allclose(now, before, atol=1e-9)


def test_what_it_had_found_is_the_same(then, model):
    np.testing.assert_allclose(model.reward_map(), then["reward_map"], atol=1e-12)
    words = then["fit_report"].replace("going on would gain", "more iterations would gain")  # as it is worded since
    assert (model.converged_, model.fit_report_) == (then["converged"], words)


def test_it_can_be_saved_again(then, model, sessions, tmp_path):
    model.save(tmp_path / "again.nc")
    assert swirl.load(tmp_path / "again.nc").score(sessions) == pytest.approx(then["score"]["action"], abs=1e-9)
