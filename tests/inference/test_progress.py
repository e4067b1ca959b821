"""What a fit shows while it runs: one line on a terminal, lines now and then in a log, nothing in a pipe."""

import io
from types import SimpleNamespace

import pytest

from swirl.inference import em


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def shown(monkeypatch, wanted, *, terminal, seconds, running=2):
    """What is written when iterations 1, 2, … end at these seconds."""
    stream, clock = Stream(terminal), iter(seconds)
    monkeypatch.setattr(em.sys, "stderr", stream)
    monkeypatch.setattr(em.time, "perf_counter", lambda: next(clock))
    with em.progress_line(wanted, 40) as show:
        for iteration, _ in enumerate(seconds, start=1):
            show(
                SimpleNamespace(iteration=iteration, seconds=2.0 * iteration, objectives=[-7.0, -5.0], running=running)
            )
    return stream.getvalue()


def test_a_terminal_has_one_line_that_is_wiped_at_the_end(monkeypatch):
    text = shown(monkeypatch, None, terminal=True, seconds=[1.0, 1.05, 2.0])
    assert text.count("EM iteration") == 2  # the second came too soon
    assert "EM iteration 3/40  objective -5.00  2 of 2 restarts running  6 s so far  on " in text
    assert "\n" not in text
    assert text.endswith("\r\x1b[2K")
    # More than are shown at once race.
    text = shown(monkeypatch, None, terminal=True, seconds=[1.0], running=32)
    assert "objective -5.00  32 starts racing  on " in text


def test_a_bound_on_the_time_left_is_told_only_where_it_says_something(monkeypatch):
    text = shown(monkeypatch, None, terminal=True, seconds=[float(i) for i in range(1, 6)])
    early, late = (text.split(f"EM iteration {i}/40")[1].split("  on ")[0] for i in (3, 4))
    assert "left" not in early  # 6 s, and 74 more at most
    assert early.endswith("6 s so far")
    assert late.endswith("at most 72 s left")  # 8 s


def test_a_pipe_has_nothing_unless_it_is_asked_for(monkeypatch):
    assert shown(monkeypatch, None, terminal=False, seconds=[1.0, 20.0]) == ""
    text = shown(monkeypatch, True, terminal=False, seconds=[11.0, 12.0, 22.0])
    assert [line.split("  ")[0] for line in text.splitlines()] == ["EM iteration 1/40", "EM iteration 3/40"]
    assert "\x1b" not in text


@pytest.mark.parametrize("terminal", [True, False])
def test_no_is_no(monkeypatch, terminal):
    assert shown(monkeypatch, False, terminal=terminal, seconds=[20.0]) == ""
