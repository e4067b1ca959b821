// The timeline of one session. However long it is, at most MOST points a row are drawn: means of the posterior over
// neighbouring steps, every n-th state. Zooming in draws again, until every step is there.
R.startTimeline = () => {
  const MOST = 1200, div = R.el("timeline"), facts = R.facts.timeline, modes = R.facts.modes, K = modes.length, names = R.facts.states;
  let range = null, height = 460;
  const whole = () => { const x = R.session.x, n = x.length, half = n > 1 ? (x[n - 1] - x[0]) / (n - 1) / 2 : 0.5; return [x[0] - half, x[n - 1] + half]; };
  const stepAt = (x) => { let low = 0, high = R.session.x.length; while (low < high) { const middle = (low + high) >> 1; if (R.session.x[middle] < x) low = middle + 1; else high = middle; } return low; };
  R.showTimeline = (wanted) => {
    const session = R.session, full = whole();
    if (wanted === "first") {  // as many steps as can be told apart; the buttons go on from there
      const opens = div.clientWidth < 480 ? 40 : 100;
      wanted = session.x.length > 1.4 * opens ? [full[0], (session.x[opens - 1] + session.x[opens]) / 2] : null;
    }
    range = wanted ? [Math.max(wanted[0], full[0]), Math.min(wanted[1], full[1])] : full;
    if (!(range[1] > range[0])) range = full;
    const first = Math.max(0, stepAt(range[0]) - 1), last = Math.min(session.x.length, stepAt(range[1]) + 1), stride = Math.max(1, Math.ceil((last - first) / MOST));
    const steps = []; for (let t = first; t < last; t += stride) steps.push(t);
    const x = steps.map((t) => session.x[t]), rows = [], data = [];
    const row = (weight, axis) => { rows.push({ weight, axis }); return rows.length === 1 ? "y" : "y" + rows.length; };
    const title = (text) => ({ text, standoff: 4 });
    const strip = (name, values) => {
      const y = row(0.55, { showticklabels: false, title: title(""), showgrid: false, annotate: name });
      const scale = R.facts.colours.flatMap((colour, k) => [[k / K, colour], [(k + 1) / K, colour]]);
      data.push({ type: "heatmap", name, x, y: [name], z: [steps.map((t) => (values[t] < 0 ? null : values[t]))], yaxis: y, zmin: -0.5, zmax: K - 0.5, colorscale: scale, showscale: false, text: [steps.map((t) => (values[t] < 0 ? "" : modes[values[t]]))], hovertemplate: `%{text}<extra>${name}</extra>` });
    };
    if (K > 1) {
      const y = row(3, { range: [0, 1], tickformat: ".0%", title: title("probability"), tickvals: [0, 0.5, 1] });
      modes.forEach((name, k) => {
        const share = session.posterior[k], values = steps.map((t) => { let sum = 0, end = Math.min(t + stride, last); for (let i = t; i < end; i++) sum += share[i]; return sum / (end - t) / 1000; });
        data.push({ type: "scatter", mode: "lines", name, x, y: values, yaxis: y, stackgroup: "posterior", line: { width: 0, color: R.facts.colours[k], shape: x.length < 400 ? "hvh" : "linear" }, fillcolor: R.facts.colours[k], hovertemplate: "%{y:.0%}" });
      });
      strip("decoded", session.modes);
      if (session.truth) strip("true", session.truth);
    }
    if (names.length > 1) {
      const weight = Math.max(1.6, Math.min(5.6, 0.4 * names.length)), y = row(weight, { title: title(R.facts.nouns.state), range: [-0.6, names.length - 0.4], ...R.ticks(names.map((_, s) => s), names.map((name) => R.label(R.short(R.bare(name), 12))), 42 * weight, 14) });
      data.push({ type: "scatter", mode: x.length <= 300 ? "lines+markers" : "markers", name: "state", showlegend: false, x, y: steps.map((t) => session.states[t]), yaxis: y, line: { color: "@wall", width: 1, shape: "hvh" }, marker: { size: x.length > 600 ? 3.5 : 5, color: steps.map((t) => R.facts.colours[Math.max(session.modes[t], 0)]) }, text: steps.map((t) => R.label(names[session.states[t]])), hovertemplate: "%{text}" });
    }
    if (session.signal) {
      const y = row(2, { title: title(R.label(R.short(facts.signal, 16))) });
      data.push({ type: "scatter", mode: "lines", name: R.label(facts.signal), showlegend: false, x, y: steps.map((t) => { let sum = 0, n = 0; for (let i = t; i < Math.min(t + stride, last); i++) if (session.signal[i] !== null) { sum += session.signal[i]; n++; } return n ? sum / n : null; }), yaxis: y, line: { color: "@ink", width: 1.2 }, hovertemplate: "%{y:.3g}" });
    }
    session.events.forEach((event, i) => {
      const y = row(0.5, { showticklabels: false, showgrid: false, range: [-1, 1], title: title(""), annotate: R.label(R.short(facts.events[i], 14)) }), seen = event.filter((t) => t >= first && t < last), every = Math.ceil(seen.length / MOST), drawn = seen.filter((_, n) => n % every === 0);
      data.push({ type: "scatter", mode: "markers", name: R.label(facts.events[i]), showlegend: false, x: drawn.map((t) => session.x[t]), y: drawn.map(() => 0), yaxis: y, marker: { symbol: "line-ns", size: 11, line: { width: 1.5, color: "@ink" } }, hovertemplate: R.label(facts.events[i]) + "<extra></extra>" });
    });
    const total = rows.reduce((sum, r) => sum + r.weight, 0), gap = 0.035, free = 1 - gap * (rows.length - 1);
    height = Math.round(80 + 42 * total + 12 * rows.length);
    const axes = {}, annotations = [];
    let top = 1;
    rows.forEach(({ weight, axis }, i) => {
      const key = "yaxis" + (i ? i + 1 : ""), bottom = Math.max(0, top - free * weight / total), { annotate, ...rest } = axis;
      axes[key] = { ...rest, domain: [bottom, top], anchor: "x" };
      if (annotate) annotations.push({ text: annotate, xref: "paper", yref: "paper", x: 0, xanchor: "right", xshift: -8, y: (bottom + top) / 2, yanchor: "middle", showarrow: false, font: { size: 12, color: "@soft" } });
      top = bottom - gap;
    });
    const gaps = session.gaps.filter((t) => t >= first && t < last);
    const shapes = gaps.length > 150 ? [] : gaps.flatMap((t) => { const at = (session.x[t] + session.x[t - 1]) / 2, line = { type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper" }; return [{ ...line, line: { color: "@paper", width: 4 } }, { ...line, line: { color: "@ink", width: 1.2, dash: "dash" } }]; });
    const drag = matchMedia("(pointer: coarse)").matches ? false : "zoom";
    R.plot(div, data, { ...axes, annotations, shapes, dragmode: drag, hovermode: "x unified", hoversubplots: "axis", xaxis: { range: [...range], fixedrange: false, anchor: "y" + (rows.length > 1 ? rows.length : ""), title: { text: facts.clock }, hoverformat: session.times ? "" : "d" }, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" }, margin: { l: 78, r: 12, t: 34, b: 46 } }, height);
    div.style.height = height + "px";
    const n = session.x.length, shown = [Math.min(n - 1, stepAt(range[0])), Math.max(0, Math.min(n, stepAt(range[1] + 1e-9)) - 1)].map((t) => t.toLocaleString("en"));
    R.el("timeline-range").textContent = `Steps ${shown.join(" to ")} of ${n.toLocaleString("en")}`;
    const at = (name, on) => { document.querySelector(`[data-zoom="${name}"]`).disabled = !on; }, edge = 1e-6 * (full[1] - full[0]);
    at("earlier", range[0] > full[0] + edge); at("later", range[1] < full[1] - edge); at("all", range[1] - range[0] < full[1] - full[0] - edge); at("out", range[1] - range[0] < full[1] - full[0] - edge);
    R.el("timeline-words").textContent = [
      `${session.name}: steps ${shown.join(" to ")} of ${n.toLocaleString("en")}, counted from 0.`,
      stride > 1 ? `Thinned for drawing, one point for ${stride} steps; zoom in for all of them.` : "Every step is drawn.",
      K > 1 ? `Dots have the colour of the decoded mode, and lie at the ${R.facts.nouns.state} of the step.` : "", gaps.length ? (gaps.length > 150 ? `${gaps.length} gaps, not drawn.` : "Dashed: gaps in the recording.") : "", drag && !R.printing ? "Drag across the picture to zoom, double-click for the whole." : "",
    ].filter((words) => words).join(" ");
    R.moveCursor();
  };
  R.timelineRange = () => range;
  R.moveCursor = () => {
    const cursor = R.el("timeline-cursor"), layout = div._fullLayout;
    if (!layout || !layout.xaxis || R.now === undefined || R.now === null) { cursor.hidden = true; return; }
    const x = R.session.x[R.now], inside = x >= range[0] && x <= range[1];
    cursor.hidden = !inside;
    cursor.style.left = layout.xaxis._offset + layout.xaxis._length * (x - range[0]) / (range[1] - range[0]) - 1 + "px";
    cursor.style.top = layout._size.t + "px";
    cursor.style.height = layout._size.h + "px";
  };
  R.listenTimeline = () => {
    div.on("plotly_relayout", (change) => {
      if ("xaxis.range[0]" in change) R.showTimeline([+change["xaxis.range[0]"], +change["xaxis.range[1]"]]);
      else if (change["xaxis.autorange"]) R.showTimeline(null);
      else R.moveCursor();
    });
    div.on("plotly_doubleclick", () => R.showTimeline(null));
    div.on("plotly_afterplot", () => R.moveCursor());
  };
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    const [low, high] = range, middle = (low + high) / 2, width = high - low, full = whole();
    const moved = (by) => { const shift = by < 0 ? Math.max(by, full[0] - low) : Math.min(by, full[1] - high); return [low + shift, high + shift]; };
    const wanted = { in: [middle - width / 4, middle + width / 4], out: [middle - width, middle + width], earlier: moved(-0.9 * width), later: moved(0.9 * width), all: null };
    R.showTimeline(wanted[button.dataset.zoom]);
  }));
  R.csv.timeline = () => {
    const s = R.session, head = ["step", ...(s.times ? ["time"] : []), "state", "action", "mode", ...(K > 1 ? modes.map((name) => `p(${name})`) : []), ...(s.truth ? ["true_mode"] : []), ...(s.signal ? [facts.signal] : []), ...facts.events];
    const happened = s.events.map((list) => new Set(list));
    return [head, ...s.states.map((state, t) => [t, ...(s.times ? [s.times[t]] : []), names[state], s.actions[t] < 0 ? null : R.facts.actions[s.actions[t]], modes[s.modes[t]], ...(K > 1 ? s.posterior.map((share) => share[t] / 1000) : []), ...(s.truth ? [s.truth[t]] : []), ...(s.signal ? [s.signal[t]] : []), ...happened.map((set) => (set.has(t) ? 1 : 0))])];
  };
  R.registerPlot("timeline", div);
};
