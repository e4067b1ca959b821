"""What the examination finds on machines that are whole, poor or broken; its self-test against plain loops."""

import json
import math
import os
import sys
from dataclasses import replace
from importlib import import_module
from itertools import product
from types import SimpleNamespace

import jax
import pytest

from swirl import system
from swirl.inference.estep import numba_loop
from swirl.workflows import doctor


@pytest.fixture(scope="module")
def findings():
    return doctor.examine()


def check(passed=True, do=""):
    return {"passed": passed, "detail": "what was seen", "do": do}


def test_this_machine_is_well(findings):
    assert findings["healthy"] is True
    assert all(found["passed"] for found in findings["checks"].values())
    assert list(findings["checks"]) == [
        "packages",
        "name",
        "devices",
        "double_precision",
        "numba",
        "memory",
        "self_test",
        "disk",
        "compiled programs",
        "encoding",
        "data_folder",
    ]
    assert json.loads(json.dumps(findings)) == findings


def test_room_is_told(findings):
    assert findings["cores"] == len(os.sched_getaffinity(0))
    left = dict(findings["memory"])
    available = left.pop("available")
    assert available > 0
    if jax.default_backend() == "cpu":  # a GPU has memory of its own
        assert available == min(left.values())
    assert findings["disk"]["temporary_files"]["writable"] is True
    assert findings["disk"]["downloads"]["free"] > 0


# ------------------------------------------------------------------ the self-test


def value_iteration(rewards):
    """Soft values and the policy, in plain loops."""
    values = [0.0, 0.0, 0.0]
    for _ in range(2_000):
        q = [[rewards[s] + doctor.DISCOUNT * values[after] for after in doctor.RING[s]] for s in range(3)]
        values = [math.log(sum(math.exp(x) for x in row)) for row in q]
    return values, [[math.exp(x - value) for x in row] for row, value in zip(q, values, strict=True)]


def counts_by_paths(first, switches, policies):
    """A sum over all paths of modes: log-likelihood, and expected counts of first modes, switches and choices."""
    total, firsts, pairs = 0.0, [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]
    choices = [[[0.0, 0.0] for _ in range(3)] for _ in range(2)]
    for states, actions in zip(doctor.STATES, doctor.ACTIONS, strict=True):
        weights = {}
        for modes in product((0, 1), repeat=len(states)):
            p = first[modes[0]]
            for t, mode in enumerate(modes):
                p *= policies[mode][states[t]][actions[t]]
                p *= switches[mode][modes[t + 1]] if t + 1 < len(modes) else 1.0
            weights[modes] = p
        likelihood = sum(weights.values())
        total += math.log(likelihood)
        for modes, p in weights.items():
            firsts[modes[0]] += p / likelihood
            for t, mode in enumerate(modes):
                choices[mode][states[t]][actions[t]] += p / likelihood
                if t + 1 < len(modes):
                    pairs[mode][modes[t + 1]] += p / likelihood
    return total, firsts, pairs, choices


def test_the_stored_numbers_are_what_plain_loops_give():
    planned = [value_iteration(rewards) for rewards in doctor.REWARDS]
    for (values, _), stored in zip(planned, doctor.VALUES, strict=True):
        assert values == pytest.approx(stored, abs=1e-9)
    policies = [policy for _, policy in planned]
    before, *counts = counts_by_paths(doctor.FIRST_MODES, doctor.SWITCHES, policies)
    assert before == pytest.approx(doctor.BEFORE, abs=1e-9)

    def smoothed(row):
        return [(n + doctor.PSEUDOCOUNT) / (sum(row) + len(row) * doctor.PSEUDOCOUNT) for n in row]

    firsts, pairs, choices = counts
    improved = [[smoothed(row) for row in mode] for mode in choices]
    after, *_ = counts_by_paths(smoothed(firsts), [smoothed(row) for row in pairs], improved)
    assert after == pytest.approx(doctor.AFTER, abs=1e-9)
    assert after > before


def test_the_recording_can_happen():
    for states, actions in zip(doctor.STATES, doctor.ACTIONS, strict=True):
        for s, a, after in zip(states[:-1], actions[:-1], states[1:], strict=True):
            assert doctor.RING[s][a] == after


def fault():
    raise RuntimeError("no kernel image")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rewards": [[0.0, 0.0, 1.0], [1.0, 0.0, 1e-3]]}, "rewards of known values are [[0.0, 0.0, 1.0], [1.0, 0.0"),
        ({"before": -15.7}, "a known model's log-likelihood is -15.7"),
        ({"before": math.nan}, "a known model's log-likelihood is nan"),
        ({"after": -12.57}, "after one M-step its log-likelihood is -12.57"),
    ],
)
def test_the_self_test_can_fail(monkeypatch, change, words):
    known = {"rewards": doctor.REWARDS, "before": doctor.BEFORE, "after": doctor.AFTER}
    monkeypatch.setattr(doctor, "iteration", lambda: tuple(known.values()))
    assert doctor.self_test()["passed"]
    monkeypatch.setattr(doctor, "iteration", lambda: tuple((known | change).values()))
    found = doctor.self_test()
    assert not found["passed"]
    assert words in found["detail"]
    assert found["do"]
    monkeypatch.setattr(doctor, "iteration", fault)
    assert doctor.self_test()["detail"] == "RuntimeError: no kernel image"


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("swirl.rewards.soft_q.read_values", lambda given: (given[0] + 1e-4, given[1])),
        (
            "swirl.inference.estep.numba_loop.expected_counts",
            lambda given: replace(given, emissions=given.emissions * 1.001),
        ),
        (
            "swirl.inference.engines.improve_restarts",
            lambda given: (given[0], jax.tree.map(lambda x: x - 1e-4, given[1]), 0.0),
        ),
    ],
)
def test_the_self_test_sees_a_small_fault(monkeypatch, place, wrong):
    module, name = place.rsplit(".", 1)
    module = import_module(module)
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: wrong(right(*given, **named)))
    if name == "expected_counts" and not numba_loop.available():
        pytest.skip("numba is not installed: E-steps take another road here")
    assert not doctor.self_test()["passed"]


def test_the_self_test_waits_for_what_failed_before(monkeypatch):
    monkeypatch.setattr(doctor, "check_double_precision", lambda: check(passed=False, do="upgrade"))
    monkeypatch.setattr(doctor, "self_test", fault)
    found = doctor.examine()
    assert found["healthy"] is False
    assert found["checks"]["self_test"]["detail"].startswith("not tried")


# ------------------------------------------------------------------ what is installed


def test_what_is_needed_and_missing_is_a_failure(monkeypatch):
    found = doctor.version_of
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name in ("scipy", "rich") else found(name))
    findings = doctor.examine()
    assert not findings["healthy"]
    assert findings["checks"]["packages"]["detail"] == "missing: scipy, rich"
    assert findings["checks"]["packages"]["do"].endswith("-m pip install scipy rich")
    assert "disk" in findings["checks"]  # what can be seen without them


def test_what_is_optional_and_missing_is_told_with_its_command(monkeypatch, findings):
    assert set(findings["extras"]) == {"cluster", "excel", "fast", "parquet", "nwb", "pynapple", "report"}
    found = doctor.version_of
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name in ("ndx-pose", "numba") else found(name))
    monkeypatch.setattr(doctor, "self_test", check)
    poor = doctor.examine()
    assert poor["healthy"]
    assert poor["extras"]["nwb"] == {"present": False, "install": "pip install 'swirl-irl[nwb]'"}
    assert poor["checks"]["numba"]["do"] == "pip install 'swirl-irl[fast]'"
    assert "5× slower" in poor["checks"]["numba"]["detail"]
    assert "ndx-pose          not installed (optional: pip install 'swirl-irl[nwb]')" in doctor.to_text(poor)


def test_the_extras_are_those_of_the_package():
    from importlib.metadata import metadata, requires

    assert set(doctor.EXTRAS) <= set(metadata("swirl-irl").get_all("Provides-Extra"))
    stated = [line.replace(" ", "") for line in requires("swirl-irl")]
    for extra, names in doctor.EXTRAS.items():
        for name in names:
            assert any(line.startswith(name) and f"extra=='{extra}'" in line for line in stated)
    core = {line.split(">")[0].split("[")[0].split("<")[0] for line in stated if "extra==" not in line}
    assert core <= set(doctor.NEEDED)


def test_a_numba_that_refuses_numpy_is_a_failure(monkeypatch):
    def refuse(name):
        raise ImportError("Numba needs NumPy 2.3 or less")

    monkeypatch.setattr(doctor, "import_module", refuse)
    found = doctor.check_numba("0.60")
    assert not found["passed"]
    assert "Numba needs NumPy 2.3" in found["detail"]


def test_numba_that_is_switched_off_is_advised_against(monkeypatch):
    monkeypatch.setattr(doctor, "import_module", lambda name: None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: object())
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    assert not doctor.check_numba("0.61")["do"]
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert doctor.check_numba("0.61")["do"] == "unset NUMBA_DISABLE_JIT"


# ------------------------------------------------------------------ devices


@pytest.mark.parametrize(("driver", "extra"), [("580.65.06", "cuda13"), ("550.54.14", "cuda12"), ("unknown", "cuda12")])
def test_a_gpu_that_jax_does_not_see(monkeypatch, driver, extra):
    monkeypatch.setattr(doctor, "nvidia_driver", lambda: driver)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    _, found = doctor.check_devices()
    assert found["passed"]
    assert found["do"] == f"to use it: pip install 'swirl-irl[{extra}]'"
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert "unset it" in doctor.check_devices()[1]["do"]
    monkeypatch.setattr(doctor, "nvidia_driver", lambda: None)
    assert not doctor.check_devices()[1]["do"]


def test_the_driver_is_read_where_linux_keeps_it(tmp_path):
    assert doctor.nvidia_driver(tmp_path) is None
    folder = tmp_path / "proc/driver/nvidia"
    folder.mkdir(parents=True)
    assert doctor.nvidia_driver(tmp_path) == "unknown"
    kernel = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version: 12"
    (folder / "version").write_text(kernel)
    assert doctor.nvidia_driver(tmp_path) == "535.183.01"


def test_a_jax_that_does_not_start_is_a_failure(monkeypatch):
    import jax

    monkeypatch.setattr(jax, "devices", fault)
    found = doctor.examine()
    assert not found["healthy"]
    assert "no kernel image" in found["checks"]["devices"]["detail"]
    assert "self_test" not in found["checks"]


# ------------------------------------------------------------------ room


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"free memory": 5 * 10**8}, "close other programs"),
        ({"free memory": 9 * 10**9, "container": 4 * 10**8}, "give the container"),
        ({"free memory": 9 * 10**9, "ulimit -v": 4 * 10**8}, "raise it: ulimit -v unlimited"),
        ({"free memory": 9 * 10**9}, ""),
    ],
)
def test_little_memory(monkeypatch, bounds, words):
    monkeypatch.setattr(system, "memory_limits", lambda: bounds)
    found, verdict = doctor.check_memory()
    assert found["available"] == min(bounds.values())
    assert verdict["passed"]
    assert verdict["do"].startswith(words)
    assert bool(verdict["do"]) == bool(words)


def test_free_memory_is_read_once(monkeypatch):
    readings = iter([{"free memory": 8 * 10**9}, {"free memory": 9 * 10**9}])  # a program ended in between
    monkeypatch.setattr(system, "memory_limits", lambda: next(readings))
    assert doctor.check_memory()[0] == {"available": 8 * 10**9, "free": 8 * 10**9}


def test_a_full_disk(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: SimpleNamespace(free=3 * 10**8))
    found, verdict = doctor.check_disk(with_cache=True)
    assert found["downloads"]["free"] == 3 * 10**8
    assert verdict["passed"]
    assert "TMPDIR" in verdict["do"]
    assert "XDG_CACHE_HOME" in verdict["do"]


def test_a_folder_for_downloads_that_cannot_be_written_to(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found, verdict = doctor.check_disk(with_cache=True)
    assert found["downloads"]["writable"] is False
    assert verdict["passed"]
    assert "XDG_CACHE_HOME" in verdict["do"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    found, verdict = doctor.check_disk(with_cache=True)
    assert found["downloads"]["writable"] is True
    assert not (tmp_path / "not").exists()
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    assert doctor.check_disk(with_cache=True)[0]["downloads"]["writable"] is False


def test_nowhere_for_temporary_files_is_a_failure(monkeypatch):
    def nowhere():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(doctor.tempfile, "gettempdir", nowhere)
    _, verdict = doctor.check_disk(with_cache=True)
    assert not verdict["passed"]
    assert "TMPDIR" in verdict["do"]


# ------------------------------------------------------------------ the rest


@pytest.mark.parametrize(
    ("terminal", "files", "well"),
    [("utf-8", "UTF8", True), ("cp1252", "utf-8", False), (None, "ANSI_X3.4-1968", False)],
)
def test_encodings(monkeypatch, terminal, files, well):
    monkeypatch.setattr(doctor.sys, "stdout", SimpleNamespace(encoding=terminal))
    monkeypatch.setattr(doctor.locale, "getpreferredencoding", lambda do_setlocale: files)
    found = doctor.check_encoding()
    monkeypatch.undo()
    assert found["passed"]
    assert ("PYTHONUTF8" in found["do"]) is not well


def test_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("SWIRL_DATA_DIR", raising=False)
    assert not doctor.check_data_folder()["do"]
    monkeypatch.setenv("SWIRL_DATA_DIR", str(tmp_path))
    assert not doctor.check_data_folder()["do"]
    monkeypatch.setenv("SWIRL_DATA_DIR", str(tmp_path / "gone"))
    found = doctor.check_data_folder()
    assert found["passed"]
    assert "does not exist" in found["detail"]
    assert "unset" in found["do"]


def test_words_for_failures_and_advice():
    found = {"swirl": "1", "python": "3", "platform": "x", "packages": {"scipy": None}, "devices": [], "cores": 1}
    found["checks"] = {"one": check(), "two": check(do="do this"), "three": check(passed=False, do="do that")}
    text = doctor.to_text(found | {"healthy": False})
    assert "scipy             MISSING" in text
    assert "two               advice  what was seen\n                          → do this" in text
    assert "three             FAILED  what was seen\n                          → do that" in text
    assert text.endswith("Something is wrong: see FAILED above.")


def test_importing_it_is_light():
    import subprocess

    program = (
        "import sys, swirl.workflows.doctor; print([n for n in ('jax', 'numpy', 'scipy', 'typer') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_compiled_programs_are_shown_and_emptied(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    assert doctor.check_compiled()[1]["detail"].startswith("0 files, 0 bytes in ")
    folder = system.compiled_folder()
    folder.mkdir(parents=True)
    (folder / "program").write_bytes(b"x" * 2_000)
    found, told = doctor.check_compiled()
    assert found == {"folder": str(folder), "files": 1, "bytes": 2_000}
    assert told["detail"].startswith("1 files, 2 kB in ")
    assert not told["do"]
    monkeypatch.setattr(doctor, "LITTLE", 1_000)
    assert doctor.check_compiled()[1]["do"] == "swirl doctor --empty-cache"
    assert system.empty_compiled() == (1, 2_000)
    assert system.compiled_programs() == (0, 0)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    assert doctor.check_compiled()[1]["detail"] == "kept in /elsewhere (JAX_COMPILATION_CACHE_DIR)"
