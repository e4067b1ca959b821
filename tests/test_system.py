"""The bounds on memory of made-up machines."""

import os
import resource
import subprocess
import sys

import pytest

from swirl import system


def made_up(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:       9000 kB\nMemAvailable:       5000 kB\n"}


def test_free_memory(tmp_path):
    assert system.memory_limits(made_up(tmp_path, MEMINFO)) == {"free memory": 5000 * 1024}


def test_new_containers(tmp_path):
    files = {
        "proc/self/cgroup": "0::/job/step\n",
        "sys/fs/cgroup/job/step/memory.max": "max\n",
        "sys/fs/cgroup/job/memory.max": "3000000\n",
        "sys/fs/cgroup/job/memory.current": "1000000\n",
        "sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 400000\n",
        "sys/fs/memory.max": "1\n",  # not a cgroup
    }
    assert system.memory_limits(made_up(tmp_path, MEMINFO | files))["container"] == 2_400_000


def test_old_containers_whose_path_is_the_hosts(tmp_path):
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/docker/0123\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "2500000\n",
    }
    assert system.memory_limits(made_up(tmp_path, MEMINFO | files))["container"] == 0


def test_a_container_without_a_limit(tmp_path):
    files = {
        "proc/self/cgroup": "4:memory:/a\n",
        "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
    }
    assert "container" not in system.memory_limits(made_up(tmp_path, MEMINFO | files))


def test_a_bound_on_the_address_space(tmp_path, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (10**9, 10**9) if which == resource.RLIMIT_AS else None)
    root = made_up(tmp_path, {"proc/self/statm": "1000 10 5 1 0 3 0\n"})
    page = resource.getpagesize()
    assert system.memory_limits(root)["ulimit -v"] == 10**9 - 1000 * page


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    assert system.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert system.cores() == os.cpu_count()


def test_each_kind_of_processor_has_compiled_programs_of_its_own(tmp_path):
    (tmp_path / "proc").mkdir()
    folders = []
    for flags in ("sse4_2", "sse4_2 avx2", "sse4_2"):
        (tmp_path / "proc/cpuinfo").write_text(f"processor : 0\ncpu MHz : {len(folders)}\nflags : {flags}\n")
        folders.append(system.compiled_folder(tmp_path))
    assert folders[0] == folders[2] != folders[1]


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/mine")
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", raising=False)
    found = system.compiled_settings()
    assert found["JAX_COMPILATION_CACHE_DIR"] == "/mine"
    assert found["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] == "-1"


@pytest.mark.parametrize(
    ("flags", "given", "in_order"),
    [
        ("", "--xla_gpu_deterministic_ops=true", False),
        ("--xla_dump_to=x", "--xla_dump_to=x --xla_gpu_deterministic_ops=true", False),
        ("--xla_gpu_deterministic_ops=false", "--xla_gpu_deterministic_ops=false", False),
        ("--xla_gpu_deterministic_ops=True", "--xla_gpu_deterministic_ops=True", True),
        ("--xla_gpu_deterministic_ops", "--xla_gpu_deterministic_ops", True),
    ],
)
def test_a_gpu_is_asked_to_add_up_in_order_unless_the_user_says_otherwise(flags, given, in_order, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert system.compiled_settings()["XLA_FLAGS"] == given
    assert system.adds_in_order() is in_order


def test_one_call_keeps_what_is_compiled_even_after_something_was(tmp_path):
    program = f"""
import jax, swirl, swirl.system
jax.jit(lambda x: x + 1)(1.0)
swirl.system.MIN_COMPILING = 0.0
assert swirl.keep_compiled({str(tmp_path / "kept")!r}).exists()
jax.jit(lambda x: x * 3 + 2)(1.0)
"""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    subprocess.run([sys.executable, "-c", program], check=True, env=bare)
    assert any((tmp_path / "kept").iterdir())
