"""The report in a real browser: pick, zoom, replay, dark; nothing asked of the network, no complaint in the console.

With SWIRL_REPORT_SHOTS=folder the pages are also photographed there, wide and narrow, light and dark.
"""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from small_worlds import with_goals
from swirl import report
from swirl.analysis.comparison_result import Comparison
from swirl.analysis.intervals import Intervals, mark_of
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.swirl import SWIRL
from swirl.rewards import Goals

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine: apt-get install chromium to drive the report", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

SHOTS = os.environ.get("SWIRL_REPORT_SHOTS")
EVIL = '<b>"x"</b></script><script>boom()</script>'
PATIENCE = 300_000
"""Milliseconds to wait for what must come: a machine may be busy with other things."""
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


class Decoded(SWIRL):
    """A model whose modes are read off the state: decoding is tested elsewhere, and compiles for seconds."""

    def predict(self, data):
        return [(path % 5 > 1).astype(np.int64) for path in data.states]

    def predict_proba(self, data):
        sure = [np.where(path[:, None] == [0, 1], 0.9, 0.1) for path in self.predict(data)]
        return [0.75 * share + 0.25 * np.roll(share, 1, axis=0) for share in sure]

    def score(self, data, y=None, *, of=None):
        return -1.5

    @classmethod
    def given(cls, env, history, rewards, policies, mode_transitions):
        """Parameters as they are: nothing is solved."""
        model = cls(env, n_modes=2, history=history, reward="state-action" if rewards.ndim == 3 else "state")
        model._set_rewards(Histories.reachable(env.successors, history), rewards, np.log(policies))
        model._set_chain(mode_transitions, np.array([0.5, 0.5]))
        model.initial_states_ = np.full(env.n_states, 1 / env.n_states)
        model.mode_temperatures_ = np.ones(2)
        return model


def drawn_anew(model, stability):
    """A bootstrap of the grid's choices: at the first cell nothing is certain, elsewhere all but all of it."""
    rng, policies = np.random.default_rng(0), model.state_policies()
    draws = np.exp(np.log(policies) + 0.001 * rng.normal(size=(9, *policies.shape)))
    draws[:, :, 0] *= np.exp(2 * rng.normal(size=(9, 2, 5)))
    return Intervals(
        by="session",
        n_units=9,
        fitted={"occupancy": np.array([0.6, 0.4]), "leaving": np.array([0.1, 0.05]), "policies": policies},
        occupancy=0.6 + 0.02 * rng.normal(size=(9, 1)) * np.array([1.0, -1.0]) - np.array([0.0, 0.2]),
        leaving=np.full((9, 2), 0.1) + 0.005 * rng.normal(size=(9, 2)),
        mode_transitions=np.stack([model.mode_transitions_] * 9),
        initial_modes=np.full((9, 2), 0.5),
        policies=draws / draws.sum(axis=3, keepdims=True),
        rewards=None,
        stability=stability,
        statuses=("converged",) * 9,
        model=mark_of(model),
    )


# What stands out of the box it is in, and cannot be scrolled to there.
CLIPPED = """() => {
    const said = [], room = document.documentElement.clientWidth + 0.5;
    const look = (part) => {
        const box = part.getBoundingClientRect(), scroller = part.closest(".table, pre");
        const holder = scroller && scroller !== part ? scroller : null;
        if (holder && holder.scrollWidth > holder.clientWidth + 1) {  // it scrolls by itself, and says so
            const words = holder.previousElementSibling, told = words && words.textContent.includes("sideways");
            if (getComputedStyle(holder).overflowX !== "auto" || !told) said.push(`no hint: ${holder.textContent}`);
            return;
        }
        const outer = (holder || part.parentElement).getBoundingClientRect();
        const out = box.right > outer.right + 1.5 || box.left < outer.left - 1.5;
        if (out || box.right > room || box.left < -0.5)
            said.push(`${part.tagName} ${part.id} in ${part.parentElement.id}: ${box.right} of ${outer.right}`);
    };
    const kinds = ["svg", "canvas", "table", "pre", "select", ".chips", "dl"].map((kind) => `main ${kind}`).join();
    for (const part of document.querySelectorAll(kinds))
        if (part.checkVisibility() && !part.closest("svg svg")) look(part);
    for (const text of document.querySelectorAll("main svg text")) {
        const box = text.getBoundingClientRect(), outer = text.ownerSVGElement.getBoundingClientRect();
        const out = box.right > outer.right + 1 || box.left < outer.left - 1;
        if (text.checkVisibility() && box.width && out)
            said.push(`text ${text.textContent}: ${box.left} to ${box.right} of ${outer.left} to ${outer.right}`);
    }
    return said;
}"""


def fits(page):
    """Nothing on the page is cut off, folded parts open, and the page does not scroll sideways."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate("R.drawAll()")
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    page.wait_for_timeout(500)  # sizes settle
    assert page.evaluate(CLIPPED) == []


def grid_page(folder):
    """Short walks, and one long recording that must be thinned."""
    world = gridworld(n_sessions=3, n_steps=80)
    drawn = world.trajectories
    long = np.tile(drawn.states[0], 80)  # a gap at each seam: the walk need not join up
    states = [*drawn.states, long]
    data = Trajectories(
        states,
        [*drawn.actions, np.tile(drawn.actions[0], 80)],
        names=[EVIL, "second", "third", "long"],
        gaps=[[], [30], [], list(range(80, len(long), 80))],
        times=[np.arange(len(path)) * 0.5 for path in states],
        signals={
            "dopamine": [np.sin(np.arange(len(path)) / 9) + (path == 23) for path in states],
            "lick": [(path == 23).astype(float) for path in states],
        },
        n_states=25,
        n_actions=5,
    )
    truth = world.true_model()
    model = Decoded.given(world.env, 2, truth.rewards_, truth.policies_, truth.mode_transitions_)
    compared = Comparison(
        of="action",
        n_scored=40,
        names=("two modes, with a long name", EVIL),
        models={"two modes, with a long name": model, EVIL: model},
        log_likelihoods=np.array([[-24.0, -17.0], [-30.0, -20.0]]),
        steps=np.array([24, 16]),
        subjects=(None, None),
        seconds=np.array([0.5, 2.0]),
        chosen={EVIL: {"strength": 3.0}},
    )
    path, drawn = folder / "grid report.html", drawn_anew(model, tuple(np.ones(len(path)) for path in states))
    given = {"comparison": compared, "signal": "dopamine", "intervals": drawn}
    return report.write(path, model, data, title=EVIL, n_draws=1, **given)


def table_page(folder):
    """Syllables: the action is the next state, and states have no places."""
    rng = np.random.default_rng(0)
    names = ["rear", "walk", EVIL]
    env = MDP.deterministic(np.tile(np.arange(3), (3, 1)), state_names=names, action_names=names)
    policies = rng.dirichlet([1.0, 1.0, 1.0], size=(2, 12))  # 3 short histories and 9 of two states
    model = Decoded.given(env, 2, np.log(policies), policies, rng.dirichlet([9.0, 1.0], size=(3, 2)))
    return report.write(folder / "table.html", model, model.sample(2, 60), n_draws=0)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield running
        running.close()


# The session is unpacked, but plotly only when it is told to be: a page in its first instant.
HELD = """(() => {
    const text = Response.prototype.text;
    Response.prototype.text = async function () {
        const found = await text.call(this);
        if (found.length > 1e6) await new Promise((go) => { window.letGo = go; });
        return found;
    };
})()"""
READY = "document.documentElement.dataset.ready === 'yes'"


def let_go(page):
    """Let plotly be unpacked, and wait for it."""
    page.wait_for_function("typeof letGo === 'function'")
    page.evaluate("letGo()")
    page.wait_for_function(READY)


def opened(browser, path, wait=True, **settings):
    """A page, ready, with what it said and asked for."""
    page = browser.new_context(**{"viewport": WIDE, **settings}).new_page()
    page.set_default_timeout(PATIENCE)
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    if not wait:
        page.add_init_script(HELD)
    page.goto(path.as_uri())
    page.wait_for_function(READY if wait else "R.session")
    return page


def quiet(page):
    assert page.said == []
    assert {url.split(":")[0] for url in page.asked} <= {"file", "data", "blob"}
    assert page.evaluate("typeof window.boom") == "undefined"


def photograph(page, name):
    if not SHOTS:
        return
    Path(SHOTS).mkdir(parents=True, exist_ok=True)
    page.evaluate("R.drawAll()")
    page.wait_for_timeout(400)
    page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


@pytest.fixture(scope="module")
def grid(browser, tmp_path_factory):
    page = opened(browser, grid_page(tmp_path_factory.mktemp("grid")), color_scheme="light", accept_downloads=True)
    photograph(page, "grid-wide-light")
    yield page
    quiet(page)
    page.context.close()


def fills(page, holder):
    """Colours of the states of a map."""
    return page.eval_on_selector_all(f"#{holder} .state", "all => all.map(one => one.getAttribute('fill'))")


def test_pick_a_mode_and_a_previous_state(grid):
    first, arrows = fills(grid, "reward-map"), grid.inner_html("#choice-map g:nth-of-type(4)")
    assert len(first) == 25
    assert "polygon" in arrows
    grid.locator("#reward-mode label", has_text="mode 1").click()
    second = fills(grid, "reward-map")
    assert second != first
    assert grid.inner_html("#choice-map g:nth-of-type(4)") != arrows
    assert grid.text_content("#reward-title") == "Reward of mode 1"
    grid.select_option("#reward-previous", "12")
    third = fills(grid, "reward-map")
    none = grid.evaluate("R.css('none')")
    # From the middle cell five can be reached; of the others nothing is said.
    assert sorted(s for s, colour in enumerate(third) if colour != none) == [7, 11, 12, 13, 17]
    assert "having come from" in grid.text_content("#reward-title")
    grid.locator("#choice-map .state").nth(0).click()  # a place is picked on the map as well
    assert grid.input_value("#reward-previous") == "0"
    grid.locator("#choice-map .state").nth(0).click()
    assert grid.input_value("#reward-previous") == "-1"
    assert fills(grid, "reward-map") == second
    assert grid.text_content("#reward-words").startswith("Reward of least norm")
    grid.locator("#reward-gauge label", has_text="as fitted").click()
    assert fills(grid, "reward-map") != second
    # Where a mode goes is a matter of choices: it is framed there, and not on the map of rewards.
    framed = "name => document.querySelector(`#${name} g:nth-of-type(5)`).childElementCount"
    assert grid.evaluate(framed, "choice-map") == grid.evaluate("R.facts.maps.preferred[1].length") > 0
    assert grid.evaluate(framed, "reward-map") == 0
    grid.locator("#reward-view label", has_text="against").click()
    assert "Log-odds" in grid.text_content("#choice-words")


@pytest.mark.slow
def test_preferences_whose_sign_is_not_certain(grid):
    shapes = "all => all.map(one => one.getAttribute('fill') === 'none')"
    grid.locator("#reward-view label", has_text="how likely").click()
    assert grid.locator("#reward-sure").is_hidden()
    grid.locator("#reward-view label", has_text="against").click()
    hollow = grid.eval_on_selector_all("#choice-map g:nth-of-type(4) > *", shapes)
    assert sum(hollow[:3]) == 3  # the moves of the corner: stay, right, down
    assert sum(hollow) < 0.3 * len(hollow)
    assert "Outlined: the 95 % interval includes 0" in grid.text_content("#choice-words")
    grid.locator("#reward-sure label", has_text="only the certain").click()
    assert grid.eval_on_selector_all("#choice-map g:nth-of-type(4) > *", shapes) == [False] * hollow.count(False)
    grid.locator("#choice-map .state").nth(7).hover()
    assert re.search(r"log-odds −?[\d.]+ \(95 %: −?[\d.]+ to −?[\d.]+\)", grid.text_content("#tip"))
    grid.locator("#reward-sure label", has_text="all").click()
    assert grid.locator("#uncertainty .intervals svg").count() == 4


@pytest.mark.slow
def test_controls_answer_to_the_keyboard(grid):
    grid.locator("#switch-from input").nth(0).focus()
    before = fills(grid, "switch-map")
    grid.keyboard.press("ArrowRight")
    assert grid.text_content("#switch-title") == "mode 1 → mode 0"
    assert fills(grid, "switch-map") != before
    grid.locator("#switch-map .state").nth(7).hover()  # mode 1 is read off the state, so some are never left in it
    assert "steps of mode 1 there" in grid.text_content("#tip")
    assert "Faded: fewer than 3 such switches are expected there" in grid.text_content("#switch-words")
    unnamed = grid.eval_on_selector_all(
        "button, select, input",
        "all => all.filter(e => !e.labels?.length && !e.textContent.trim() && !e.ariaLabel).map(e => e.outerHTML)",
    )
    assert unnamed == []


@pytest.mark.slow
def test_zoom_the_timeline(grid):
    span = "() => { const [a, b] = R.timelineRange(); return b - a; }"
    whole = grid.evaluate(span)
    grid.locator('button[data-zoom="in"]').click()
    assert grid.evaluate(span) == pytest.approx(whole / 2)
    grid.locator('button[data-zoom="all"]').click()
    assert grid.evaluate(span) == pytest.approx(whole)
    grid.locator("#timeline").scroll_into_view_if_needed()
    box = grid.locator("#timeline .nsewdrag").first.bounding_box()
    y = box["y"] + box["height"] / 2
    grid.mouse.move(box["x"] + 0.25 * box["width"], y)
    grid.mouse.down()
    grid.mouse.move(box["x"] + 0.5 * box["width"], y, steps=4)
    grid.mouse.up()
    grid.wait_for_function(f"({span})() < {0.5 * whole}")
    assert grid.evaluate(span) == pytest.approx(whole / 4, rel=0.1)
    grid.locator('button[data-zoom="all"]').click()


@pytest.mark.slow
def test_long_sessions_are_thinned_until_zoomed(grid):
    points = "() => document.getElementById('timeline').data.find(trace => trace.name === 'state').x.length"
    grid.select_option("#session-pick", "3")
    grid.wait_for_function("R.session && R.session.name === 'long'")
    assert "steps 0 to 99 of 6,400" in grid.text_content("#timeline-words")  # it begins with what can be told apart
    assert grid.locator('button[data-zoom="earlier"]').is_disabled()
    grid.locator('button[data-zoom="later"]').click()
    assert grid.text_content("#timeline-range") == "Steps 90 to 189 of 6,400"
    assert grid.text_content("#timeline .xtitle") == "time (s)"
    grid.locator('button[data-zoom="all"]').click()
    assert grid.evaluate(points) <= 1200
    assert "one point for 6 steps" in grid.text_content("#timeline-words")
    for _ in range(4):
        grid.locator('button[data-zoom="in"]').click()
    assert "Every step is drawn" in grid.text_content("#timeline-words")
    grid.select_option("#session-pick", "0")
    grid.wait_for_function("R.session.name.startsWith('<b>')")
    assert grid.text_content("#timeline-words").startswith(EVIL)


@pytest.mark.slow
def test_replay(grid):
    grid.select_option("#session-pick", "3")  # minutes long: it does not end by itself before we have looked
    grid.wait_for_function("R.session.name === 'long'")
    grid.select_option("#replay-speed", "60")
    grid.locator("#replay-play").click()
    assert grid.text_content("#replay-play") == "Pause"
    grid.wait_for_function("+document.getElementById('replay-step').value > 14")
    grid.evaluate("document.getElementById('replay-play').click()")
    assert grid.text_content("#replay-play") == "Play"
    grid.locator('button[data-zoom="all"]').click()
    assert grid.locator("#timeline-cursor").is_visible()
    grid.locator("#replay-step").focus()
    step = int(grid.input_value("#replay-step"))
    grid.keyboard.press("ArrowRight")
    assert int(grid.input_value("#replay-step")) == step + 1
    # At a whole step the dot is in its cell, in the colour of its mode.
    state, mode = grid.evaluate("[R.session.states[R.now], R.session.modes[R.now]]")
    assert [float(grid.get_attribute("#replay-dot", name)) for name in ("cx", "cy")] == [state % 5, state // 5]
    assert grid.get_attribute("#replay-dot", "fill") == grid.evaluate("R.facts.colours")[mode]
    grid.select_option("#session-pick", "0")
    grid.wait_for_function("R.session.name !== 'long'")


def from_the_start(page):
    """Play from step 0 until it moves, then pause."""
    page.locator("#replay-step").fill("0")
    page.locator("#replay-play").click()
    page.wait_for_function("+document.getElementById('replay-step').value > 0")
    # It may be at the end by now, so it is asked and told at once.
    page.evaluate(
        "() => { const b = document.getElementById('replay-play'); if (b.textContent === 'Pause') b.click(); }"
    )
    assert page.said == []


def test_replay_of_frames_that_began_before_the_click(grid):
    # Browsers that are busy hand over such frames; here all of them are, by 40 ms.
    grid.evaluate("""() => {
        window.frames_ = window.requestAnimationFrame;
        window.requestAnimationFrame = (draw) => frames_.call(window, (time) => draw(time - 40));
    }""")
    from_the_start(grid)
    grid.evaluate("() => { window.requestAnimationFrame = frames_; }")


@pytest.mark.slow
def test_replay_on_a_slow_machine(grid):
    processor = grid.context.new_cdp_session(grid)
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 6})
    for _ in range(20):
        from_the_start(grid)
    processor.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    processor.detach()


@pytest.mark.slow
def test_downloads(grid):
    with grid.expect_download() as waiting:
        grid.locator('button[data-csv="timeline"]').click()
    lines = waiting.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "step,time,state,action,mode,p(mode 0),p(mode 1),dopamine,lick"
    assert len(lines) == 81
    with grid.expect_download() as waiting:
        grid.locator('button[data-picture="reward-map"]').click()
    assert waiting.value.path().read_text().startswith("<svg")


@pytest.mark.slow
def test_dark_phone_and_paper(grid):
    colour = "() => getComputedStyle(document.body).backgroundColor"
    light, plot = grid.evaluate(colour), "() => document.getElementById('timeline')._fullLayout.font.color"
    ink = grid.evaluate(plot)
    grid.locator("#theme").click()
    assert grid.evaluate(colour) != light
    assert grid.text_content("#theme-word") == "Light"  # what the button leads to
    grid.wait_for_function(f"({plot})() !== '{ink}'")
    photograph(grid, "grid-wide-dark")
    grid.set_viewport_size(NARROW)
    grid.evaluate("R.drawAll()")
    grid.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    grid.wait_for_function("document.getElementById('timeline')._fullLayout.width <= innerWidth")
    photograph(grid, "grid-narrow-dark")
    grid.set_viewport_size(WIDE)
    assert grid.evaluate("document.documentElement.scrollWidth") <= WIDE["width"]
    grid.emulate_media(media="print")
    grid.wait_for_function("R.printing")
    printed = fills(grid, "switch-map")
    assert len(printed) == 25
    assert not any("NaN" in fill for fill in printed)  # it was black: paper's white is written in three letters
    grid.emulate_media(media="screen")
    grid.wait_for_function("!R.printing")
    pdf = grid.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert grid.evaluate(colour) != light  # what was worn before printing is worn after it
    grid.locator("#theme").click()
    grid.evaluate("document.getElementById('methods-copy').click()")
    grid.wait_for_function("document.getElementById('methods-copied').textContent === 'Copied.'")


@pytest.fixture(scope="module")
def table(browser, tmp_path_factory):
    page = opened(browser, table_page(tmp_path_factory.mktemp("table")), wait=False, color_scheme="dark")
    yield page
    quiet(page)
    page.context.close()


@pytest.mark.slow
def test_controls_answer_before_the_figures_are_unpacked(table):
    assert table.evaluate("typeof Plotly") == "undefined"
    from_the_start(table)
    table.locator('button[data-zoom="in"]').click()
    table.locator('button[data-zoom="all"]').click()
    assert table.text_content("#timeline-range") == "Steps 0 to 59 of 60"
    table.locator("#theme").click()
    table.locator("#theme").click()
    with table.expect_download() as waiting:
        table.locator('button[data-csv="timeline"]').click()
    assert len(waiting.value.path().read_text(encoding="utf-8-sig").splitlines()) == 61
    assert table.said == []


@pytest.mark.slow
def test_printed_as_it_opens(table):
    # The page's button waits for plotly. The browser's command does not; the figures come as soon as they can.
    table.evaluate("() => { window.print = () => { window.printed = typeof Plotly; }; }")
    table.evaluate("document.getElementById('print').click()")
    empty = """() => [...document.querySelectorAll("main .plot, main .map")]
        .filter((holder) => !holder.querySelector("svg.main-svg, svg .state")).map((holder) => holder.id)"""
    assert {"timeline", "plot-bouts-0", "plot-certainty"} <= set(table.evaluate(empty))
    table.emulate_media(media="print")
    table.wait_for_function("R.printing")
    assert table.evaluate("window.printed") is None
    let_go(table)
    assert table.evaluate("window.printed") == "object"
    assert table.evaluate(empty) == []
    assert table.locator("#reward-others .plot .main-svg").count() > 0  # the mode that is not picked
    widths = table.eval_on_selector_all(".plot", "all => all.map(one => one._fullLayout.width)")
    assert max(widths) <= 690  # of A4 between its margins
    assert table.evaluate("R.css('paper')") == "#fff"
    table.emulate_media(media="screen")
    table.wait_for_function("!R.printing")
    assert table.get_attribute("html", "data-theme") == "dark"  # as it was


@pytest.mark.slow
def test_tables_where_states_have_no_places(table):
    page = table
    let_go(page)
    values = "() => JSON.stringify(document.getElementById('reward-map').data[0].z)"
    first = page.evaluate(values)
    page.locator("#reward-mode label", has_text="mode 1").click()
    second = page.evaluate(values)
    page.select_option("#reward-previous", "2")
    assert len({first, second, page.evaluate(values)}) == 3
    labels = page.eval_on_selector_all("#reward-map .ytick text", "all => all.map(one => one.textContent)")
    assert sorted(labels)[0].startswith('<b>"x"</b>')  # as it was written, not in bold
    assert page.locator("#replay-map .state").count() == 3
    assert page.text_content("#choice-map .ytitle") == "state"
    assert page.text_content("#choice-map .xtitle") == "next state"
    assert page.text_content("#switch-map .xtitle") == "state"
    photograph(page, "table-wide-dark")
    page.set_viewport_size(NARROW)
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    photograph(page, "table-narrow-dark")
    fits(page)


class Pursuing(Decoded):
    """Four steps of each of three modes."""

    def predict(self, data):
        return [np.arange(len(path)) // 4 % 3 for path in data.states]

    def predict_proba(self, data):
        return [np.eye(3)[path] for path in self.predict(data)]


@pytest.mark.slow
@pytest.mark.parametrize("made", [grid_page, table_page])
def test_a_phone_shows_everything(browser, tmp_path, made):
    page = opened(browser, made(tmp_path), viewport=NARROW, is_mobile=True, has_touch=True, device_scale_factor=2)
    assert page.evaluate("innerWidth") == NARROW["width"]
    fits(page)
    photograph(page, f"{made.__name__}-phone")
    # The test can fail: a table without its box, and a figure that is too wide.
    page.evaluate("document.querySelector('#uncertainty table, #switching table').style.minWidth = '600px'")
    page.wait_for_timeout(500)
    assert page.evaluate(CLIPPED) == []  # wide, but it scrolls by itself and says so
    page.evaluate("document.querySelector('#plot-certainty .main-svg').style.width = '500px'")
    assert any("svg" in words for words in page.evaluate(CLIPPED))
    quiet(page)
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, True])
def test_every_place_is_named_or_only_those_that_the_caption_says(browser, tmp_path, long):
    names = [f"{'the cell called ' if long else ''}{'ABC'[s // 3]}{s % 3 + 1}" for s in range(9)]
    moves = np.array(
        [
            [max(s - 1, s // 3 * 3), min(s + 1, s // 3 * 3 + 2), max(s - 3, s % 3), min(s + 3, s % 3 + 6), s]
            for s in range(9)
        ]
    )
    env = MDP.deterministic(moves, coordinates=[[s % 3, -(s // 3)] for s in range(9)], state_names=names)
    switching = np.array([[[0.9 - 0.01 * s, 0.1 + 0.01 * s], [0.1, 0.9]] for s in range(9)])
    rewards, policies = np.zeros((2, 9)), np.full((2, 9, 5), 0.2)
    model = Decoded.given(env, 1, rewards, policies, switching)
    walk = np.array([0, 1, 4, 3, 0, 1, 2, 5, 8, 7, 6, 3] * 12)
    data = Trajectories([walk], n_states=9, n_actions=5)
    page = opened(browser, report.write(tmp_path / "cells.html", model, data, n_draws=0))
    few = page.evaluate("[...new Set(R.facts.maps.preferred.flat())].length")
    assert 0 < few < 9
    for holder, words in (
        ("choice-map", "choice-words"),
        ("switch-map", "switch-words"),
        ("replay-map", "replay-named"),
    ):
        shown = page.locator(f"#{holder} text").count()
        assert shown == (few if long else 9), holder
        assert (
            "Not all names fit: named are the places where a mode goes more" in page.text_content(f"#{words}")
        ) is long
    quiet(page)
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("side", [5, 12])
def test_coordinates_in_the_words_are_found_on_the_map(browser, tmp_path, side):
    rows, columns = np.divmod(np.arange(side**2), side)
    at = {(r, c): s for s, (r, c) in enumerate(zip(rows, columns, strict=True))}
    moves = [
        [at.get((r + down, c + right), s) for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))]
        for (r, c), s in at.items()
    ]
    names = [f"({r}, {c})" for r, c in at]
    env = MDP.deterministic(moves, coordinates=np.stack([columns, -rows], axis=1), state_names=names)
    n = side**2
    switching = np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (n, 2, 2)).copy()
    model = Decoded.given(env, 1, np.zeros((2, n)), np.full((2, n, 5), 0.2), switching)
    walk = np.array([0, 1, 1 + side, 1, 1 + side, side, 0, 0] * 20)
    data = Trajectories([walk], n_states=n, n_actions=5)
    page = opened(browser, report.write(tmp_path / "cells.html", model, data, n_draws=0))
    for holder, words in (("choice-map", "choice-words"), ("replay-map", "replay-named")):
        shown = page.locator(f"#{holder} text").all_text_contents()
        assert "At the edge: the row and the column of (row, column)." in page.text_content(f"#{words}")
        assert shown == [str(i) for i in range(side)] * 2
        middles = page.eval_on_selector_all(f"#{holder} .edge", MIDDLES)
        cells = page.eval_on_selector_all(f"#{holder} .state", MIDDLES)
        for (r, c), s in at.items():
            assert abs(middles[r][1] - cells[s][1]) < 4  # pixels
            assert abs(middles[side + c][0] - cells[s][0]) < 4
    quiet(page)
    page.context.close()


MIDDLES = """all => all.map(e => e.getBoundingClientRect()).map(r => [r.x + r.width / 2, r.y + r.height / 2])"""


@pytest.mark.slow
def test_goals_have_a_map_a_figure_and_tables(browser, tmp_path):
    fork = [[1, 0, 0], [0, 2, 3], [1, 2, 2], [1, 3, 3]]  # corridors of two lengths, which no grid has
    env = MDP.deterministic(fork, coordinates=[[0, 0], [2, 0], [2, 1], [2, -1]])
    model = with_goals(env, Goals((3, (0, 1)), kinds=0, moves="action"), {1: (3,), 2: (0, 1)}, cost=3.0, kind=Pursuing)
    model.name_modes(["explore", "to 3", EVIL])
    walk = np.array([0, 1, 3, 1, 2, 1] * 20)
    path = report.write(tmp_path / "goals.html", model, Trajectories([walk], n_states=4, n_actions=3), n_draws=0)
    page = opened(browser, path, accept_downloads=True)
    first, second = page.evaluate("R.facts.colours.slice(1)")
    fill = page.eval_on_selector_all("#goals-map .state", "all => all.map(one => one.getAttribute('fill'))")
    assert (fill[0], fill[1], fill[3]) == (second, second, first)
    assert fill[2] == page.evaluate("R.css('floor')")
    names = page.eval_on_selector_all("#goals-map text", "all => all.map(one => one.textContent)")
    assert set(names) == {"3", EVIL[:13] + "…"}
    page.locator("#goals-map .state").nth(3).hover()
    assert page.text_content("#tip") == "state 3\ngoal of to 3"
    with page.expect_download() as waiting:
        page.locator('button[data-csv="goals-map"]').click()
    assert len(waiting.value.path().read_text(encoding="utf-8-sig").splitlines()) == 4
    page.evaluate("R.drawAll()")
    page.wait_for_selector("#plot-time-to-goal .main-svg")
    photograph(page, "goals-wide-light")
    page.set_viewport_size(NARROW)
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#theme").click()
    photograph(page, "goals-narrow-dark")
    page.emulate_media(media="print")
    page.wait_for_function("R.printing")
    assert page.evaluate("document.querySelector('#goals .goals').offsetWidth") <= 690  # of A4 between its margins
    page.emulate_media(media="screen")
    quiet(page)
    page.context.close()
