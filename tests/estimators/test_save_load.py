"""A saved model is the same model: predictions bit for bit, options, restarts; and a file that is none says why."""

import json

import numpy as np
import pytest

from small_worlds import N_MODES, N_STATES, recording, truth, world
from swirl.data.histories import Histories
from swirl.estimators.registry import load
from swirl.estimators.save_load import load_model
from swirl.estimators.swirl import SWIRL
from swirl.io import netcdf
from swirl.priors import Bouts, Cauchy, Dirichlet, Gaussian
from swirl.rewards import Linear, Network, Tabular
from swirl.switching import Fixed

QUICK = {"n_restarts": 2, "max_iter": 5, "tol": 1e-9}


@pytest.fixture(scope="module", params=["state", "state-action"])
def model(request):
    # A Cauchy prior's parameters have parts that others' do not: it must be among those that are saved.
    prior = Cauchy() if request.param == "state" else None
    options = {"reward": request.param, "reward_prior": prior, "switching": "independent", **QUICK}
    return SWIRL(world(), **options).fit(recording(history=2))


def round_trip(model, tmp_path, name="model.nc"):
    return load(model.save(tmp_path / name))


def same_options(a, b):
    """Equal values, arrays and options with arrays included."""
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and np.array_equal(a, b)
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(same_options(getattr(a, n), getattr(b, n)) for n in a.__dataclass_fields__)
    return type(a) is type(b) and a == b


@pytest.mark.slow
def test_predictions_are_the_same_bit_for_bit(model, tmp_path):
    loaded, data = round_trip(model, tmp_path), recording(history=2)
    assert type(loaded) is SWIRL
    for method in ("predict", "predict_proba", "filter_proba"):
        for a, b in zip(getattr(model, method)(data), getattr(loaded, method)(data), strict=True):
            np.testing.assert_array_equal(a, b)
    assert model.score(data) == loaded.score(data)
    assert model.score(data, of="next_state") == loaded.score(data, of="next_state")
    assert model.sample(2, 20).fingerprint() == loaded.sample(2, 20).fingerprint()
    for gauge in ("fitted", "canonical"):
        np.testing.assert_array_equal(model.reward_table(gauge), loaded.reward_table(gauge))


@pytest.mark.slow
def test_attributes_and_restarts_are_the_same(model, tmp_path):
    loaded = round_trip(model, tmp_path)
    for name in SWIRL.stored:
        np.testing.assert_array_equal(getattr(model, f"{name}_"), getattr(loaded, f"{name}_"), err_msg=name)
    assert loaded.prior_scores_ is None  # the prior of these was named: nothing was chosen
    for name in ("converged_", "fit_report_", "best_restart_", "n_steps_", "n_observed_", "data_fingerprint_"):
        assert getattr(model, name) == getattr(loaded, name), name
    np.testing.assert_array_equal(model.histories_, loaded.histories_)
    for a, b in zip(model.restarts_, loaded.restarts_, strict=True):
        assert a.status == b.status
        for name in ("objective_trace", "log_likelihood_trace", "occupancy"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for index in range(2):
        np.testing.assert_array_equal(model.use_restart(index).policies_, loaded.use_restart(index).policies_)
    assert repr(loaded) == repr(model)


def test_a_loaded_model_can_be_resumed(model, tmp_path):
    loaded = round_trip(model, tmp_path)
    again = round_trip(model, tmp_path, "other.nc")
    loaded.fit(recording(history=2), resume=True)
    assert loaded.objective_trace_[0] == pytest.approx(model.objective_trace_[-1], rel=1e-12)
    assert loaded.objective_trace_[-1] >= model.objective_trace_[-1]
    again.fit(recording(history=2), resume=True)
    np.testing.assert_array_equal(again.objective_trace_, loaded.objective_trace_)


def test_a_file_is_not_overwritten_unless_told(model, tmp_path):
    path = model.save(tmp_path / "model.nc")
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(path)
    assert path.read_bytes() == before
    model.save(path, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["model.nc"]


def test_the_file_opens_with_xarray(model, tmp_path):
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(model.save(tmp_path / "model.nc"), engine="h5netcdf") as file:
        np.testing.assert_array_equal(file["policies"].values, model.policies_)
        assert file["policies"].dims == ("mode", "history", "action")
        assert file["mode_transitions"].dims == ("state", "mode", "next_mode")
        header = json.loads(file.attrs["swirl"])
    assert header["schema_version"] == netcdf.SCHEMA_VERSION
    assert header["seed"] == 0
    assert header["about"]["data_fingerprint"] == recording(history=2).fingerprint()
    assert {"python", "swirl", "jax", "numpy"} <= set(header["versions"])


OPTIONS = {
    "linear": {"reward": Linear(np.arange(10.0).reshape(N_STATES, 2))},
    "network": {"reward": Network(hidden=3, features=np.eye(N_STATES))},
    "soft-q": {"reward": Tabular(solver="soft-q")},
    "fixed": {"switching": Fixed(np.eye(2))},
    "priors": {"reward_prior": Gaussian(0.3, backoff=(1.0, 2.0), of="reward"), "switching_prior": Dirichlet(2.0, 1.0)},
    "bouts": {"switching": "state", "switching_prior": Bouts(50.0, 20.0, besides=Gaussian(2.0))},
    "cauchy": {"reward_prior": Cauchy(0.1, 2.0, backoff=None)},
    "temperatures": {"temperature": np.array([0.5, 2.0])},
    "temperatures as a tuple": {"temperature": (0.5, 2.0)},
    "numbers": {"discount": 0.9, "tol": 1e-7, "random_state": 7, "impossible": "forget", "n_restarts": 3},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_survive(name, tmp_path):
    made = truth()
    model = SWIRL.from_parameters(
        made.env,
        history=1,
        rewards=made.rewards_,
        histories=made.histories_,
        mode_transitions=made.mode_transitions_,
        initial_modes=made.initial_modes_,
    ).set_params(**OPTIONS[name])
    model._params_at_fit = model.get_params()  # as if it had been fitted with them
    loaded = round_trip(model, tmp_path)
    a, b = model.get_params(), loaded.get_params()
    assert {n for n in a if n != "env" and not same_options(a[n], b[n])} == set()


def test_what_is_set_after_the_fit_changes_neither_the_file_nor_the_gauge(tmp_path):
    made = truth("deterministic", 2)
    table = made.reward_table("canonical")
    made.set_params(n_modes=5, discount=0.5)
    loaded = round_trip(made, tmp_path)
    assert (loaded.n_modes, loaded.discount) == (2, 0.95)
    np.testing.assert_array_equal(made.reward_table("canonical"), table)
    np.testing.assert_array_equal(loaded.reward_table("canonical"), table)


def test_the_environment_survives(tmp_path):
    made = truth("stochastic", 2)
    loaded = round_trip(made, tmp_path)
    np.testing.assert_array_equal(loaded.env.dense(), made.env.dense())
    np.testing.assert_array_equal(loaded.env.available, made.env.available)
    np.testing.assert_array_equal(loaded.histories_, Histories.reachable(made.env.successors, 2).table)
    assert not loaded.restarts_
    assert loaded.score(recording("stochastic", 2)) == made.score(recording("stochastic", 2))


# Files that are no model


def test_other_files_are_refused_in_words(tmp_path):
    (tmp_path / "text.nc").write_text("not a model")
    (tmp_path / "empty.nc").write_bytes(b"")
    netcdf.write(tmp_path / "other.nc", {"x": (("i",), np.zeros(3))}, {"model": "Oracle"})
    for name, told in {
        "text.nc": "not a netCDF-4",
        "empty.nc": "is empty",
        "other.nc": "holds 'Oracle', expected a saved swirl model",
        "nowhere.nc": "does not exist",
    }.items():
        with pytest.raises(ValueError, match=told):
            load(tmp_path / name)


def test_a_damaged_file_is_refused_in_words(tmp_path):
    path = truth().save(tmp_path / "model.nc")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    with pytest.raises(ValueError, match="truncated or damaged"):
        load(path)


def test_a_model_without_some_of_its_parts_is_refused_in_words(tmp_path):
    path = truth().save(tmp_path / "model.nc")
    arrays, header = netcdf.read(path)
    dims = netcdf.dims(path)
    del arrays["policies"]
    netcdf.write(tmp_path / "part.nc", {n: (dims[n], a) for n, a in arrays.items()}, header)
    with pytest.raises(ValueError, match="policies"):
        load(tmp_path / "part.nc")
    header["parameters"]["colour"] = "red"
    arrays = netcdf.read(path)[0]
    netcdf.write(tmp_path / "newer.nc", {n: (dims[n], a) for n, a in arrays.items()}, header)
    with pytest.raises(ValueError, match="colour"):
        load(tmp_path / "newer.nc")


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        SWIRL(world(), n_modes=N_MODES).save(tmp_path / "model.nc")
    assert list(tmp_path.iterdir()) == []


class Mine(SWIRL):
    pass


def test_a_users_subclass_is_saved_as_the_model_it_extends(tmp_path):
    mine = Mine.from_parameters(
        world(),
        history=1,
        rewards=truth().rewards_,
        mode_transitions=truth().mode_transitions_,
        initial_modes=truth().initial_modes_,
    )
    path = mine.save(tmp_path / "model.nc")
    assert type(load(path)) is SWIRL
    assert type(load_model({"SWIRL": Mine}.get, path)) is Mine
