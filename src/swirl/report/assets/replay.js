// A session replayed on the map: a dot in the colour of the mode, and the way it came.
R.startReplay = () => {
  if (!R.facts.replay) return;
  const names = R.facts.states, ring = R.facts.replay === "ring", places = ring ? R.ring(names.length) : R.facts.maps, TAIL = 14;
  const map = new R.Map(R.el("replay-map"), places, "Replay of a session"), slider = R.el("replay-step"), button = R.el("replay-play"), strip = R.el("replay-strip");
  const trail = R.shape("path", { fill: "none", "stroke-width": 0.11, "stroke-linecap": "round", "stroke-linejoin": "round", "pointer-events": "none", opacity: 0.55 }, map.layer.trail);
  const dot = R.shape("circle", { r: ring ? 0.34 : 0.3, "stroke-width": 0.09, id: "replay-dot", "pointer-events": "none" }, map.layer.dot);
  map.says = (s) => names[s];
  let at = 0, playing = false, before = null, frame = 0, now = -1, touched = false;
  const around = ring ? places.xy.map(([x, y], s) => {
    const dx = (x - places.radius) / places.radius, dy = (y - places.radius) / places.radius;
    return { text: R.short(R.bare(names[s]), 12), size: 0.5, spots: [[map.xy[s][0] + 0.72 * dx, map.xy[s][1] - 0.78 * dy, dx > 0.3 ? "start" : dx < -0.3 ? "end" : "middle"]] };
  }) : [];
  const found = R.place(around, map.box, []), labels = (found.length === around.length ? found : []).map(({ text, size, x, y }) => {
    const made = R.shape("text", { x, y, "font-size": size, "text-anchor": "middle", "font-family": R.css("sans") }, map.layer.names);
    made.textContent = text;
    return made;
  });
  const colour = (t) => R.facts.colours[Math.max(R.session.modes[t], 0)];
  const newSegment = (t) => R.gapSet.has(t);
  const place = () => {
    const session = R.session, n = session.states.length, t = Math.min(Math.floor(at), n - 1), part = at - t;
    let [x, y] = map.xy[session.states[t]];
    if (t + 1 < n && part > 0 && !newSegment(t + 1)) {  // glide, but never across a gap
      const [u, v] = map.xy[session.states[t + 1]], ease = part * part * (3 - 2 * part);
      x += (u - x) * ease; y += (v - y) * ease;
    }
    dot.setAttribute("cx", R.round(x)); dot.setAttribute("cy", R.round(y)); dot.setAttribute("fill", colour(t)); dot.setAttribute("stroke", R.css("paper"));
    let first = Math.max(0, t - TAIL), path = "";
    for (let i = t; i > first; i--) if (newSegment(i)) { first = i; break; }
    for (let i = first; i <= t; i++) path += `${path ? "L" : "M"}${map.xy[session.states[i]].join(",")}`;
    trail.setAttribute("d", path + `L${R.round(x)},${R.round(y)}`); trail.setAttribute("stroke", colour(t));
    if (now !== t) {
      now = t; slider.value = t;
      R.now = touched ? t : null;  // no mark in the timeline before the replay is used
      slider.setAttribute("aria-valuetext", `step ${t}, ${names[session.states[t]]}`);
      const lines = [`Step ${t.toLocaleString("en")} of ${(n - 1).toLocaleString("en")}${session.times ? `, time ${R.number(session.times[t], 7)}${R.facts.timeline.clock === "time (s)" ? " s" : ""}` : ""}`, names[session.states[t]] + (R.facts.modes.length > 1 ? ` · ${R.facts.modes[session.modes[t]]}` : "")];
      const bold = document.createElement("b"); bold.textContent = lines[1];
      R.el("replay-now").replaceChildren(bold, lines[0]);
      R.moveCursor();
    }
  };
  const drawStrip = () => {
    const width = strip.width = 900, context = strip.getContext("2d"), n = R.session.states.length;
    for (let i = 0; i < width; i++) { context.fillStyle = colour(Math.floor(i * n / width)); context.fillRect(i, 0, 1, strip.height); }
  };
  const stop = () => { playing = false; cancelAnimationFrame(frame); button.textContent = "Play"; button.setAttribute("aria-pressed", "false"); };
  // Time runs from frame to frame, never from the click: a busy browser hands over frames that began before it.
  const tick = (time) => {
    if (before !== null) at += Math.min((time - before) / 1000, 0.5) * +R.el("replay-speed").value;
    before = time;
    if (at >= R.session.states.length - 1) { at = R.session.states.length - 1; stop(); }
    place();
    if (playing) frame = requestAnimationFrame(tick);
  };
  button.addEventListener("click", () => {
    if (playing) { stop(); return; }
    if (at >= R.session.states.length - 1) at = 0;
    playing = touched = true; before = null; now = -1;
    button.textContent = "Pause"; button.setAttribute("aria-pressed", "true");
    frame = requestAnimationFrame(tick);
  });
  slider.addEventListener("input", () => { at = +slider.value; touched = true; place(); });
  const paint = () => {
    map.paint(null);
    if (!ring) R.el("replay-named").textContent = map.nameAll();
    labels.forEach((text) => text.setAttribute("fill", R.css("soft")));
    if (R.session) place();
  };
  R.showReplay = () => {
    stop(); at = 0; now = -1; touched = false; R.now = null;
    R.gapSet = new Set(R.session.gaps);
    slider.max = R.session.states.length - 1;
    drawStrip(); paint();
  };
  R.redraw.push(paint);
};
