// Where the animal switches from one mode to another: P(next mode | mode, state), or the switches that were decoded.
R.startSwitching = () => {
  const facts = R.facts.switching, maps = R.facts.maps, names = R.facts.states, modes = R.facts.modes, noun = R.facts.nouns.state;
  if (!facts || !facts.by_state) return;
  const ENOUGH = 3;  // switches expected there, were it everywhere alike: so many for the full colour; fewer do not set the scale
  const onMap = maps && maps.kind !== "table", map = onMap ? new R.Map(R.el("switch-map"), maps, "Switching at each place") : null;
  const draw = () => {
    const from = +R.picked("switch-from"), counts = R.picked("switch-measure") === "counts", visits = facts.visits[from];
    for (const input of document.querySelectorAll('input[name="switch-to"]')) input.disabled = +input.value === from;
    if (+R.picked("switch-to") === from) R.pick("switch-to", from === 0 ? 1 : 0);
    const to = +R.picked("switch-to"), values = (counts ? facts.counts : facts.probability)[from][to];
    const sum = (list) => list.reduce((a, b) => a + b, 0), rate = sum(facts.counts[from][to]) / Math.max(1, sum(visits)), expected = visits.map((n) => n * rate);
    const known = values.map((v, s) => (facts.seen[s] || counts ? v : null)), enough = known.filter((v, s) => v !== null && expected[s] >= ENOUGH);
    // From 0 to twice the mean at least: a map that is everywhere alike has no dark places.
    const high = Math.max(...(counts || !enough.length ? known.filter((v) => v !== null) : enough), counts ? 1 : 2 * rate, 1e-9);
    const weight = (s) => (counts ? 1 : Math.max(0.1, Math.min(1, expected[s] / ENOUGH))), faded = !counts && known.some((v, s) => v !== null && expected[s] < ENOUGH);
    const apart = facts.stands_out[from][to].some((x) => x);
    const says = (s) => `${names[s]}\n${counts ? `${values[s]} switch${values[s] === 1 ? "" : "es"}` : known[s] === null ? "never visited" : `${R.number(100 * values[s])} % per step`}\n${visits[s].toLocaleString("en")} step${visits[s] === 1 ? "" : "s"} of ${modes[from]} there`;
    R.el("switch-title").textContent = `${modes[from]} → ${modes[to]}`;
    R.el("switch-words").textContent = (apart ? "" : `No ${noun} differs from the others beyond noise: differences here are not to be read. `) + (counts ? `Number of decoded switches, by the ${noun} in which they happen.` : `Probability of the switch at each step in a ${noun}.`)
      + (faded ? ` Faded: fewer than ${ENOUGH} such switches are expected there by the mean, so the value is mostly noise.` : "") + (counts || facts.seen.every((x) => x) ? "" : ` Hatched: a ${noun} that was never visited.`);
    if (onMap) {
      const floor = R.css("paper");
      map.paint(known.map((v, s) => (v === null ? "hatch" : R.mix(R.shade("probability", v / high), weight(s), floor))));
      R.el("switch-words").textContent += map.nameAll();
      map.says = says;
      R.legend("switch-legend", "probability", "0", counts ? String(high) : R.number(high), counts ? "decoded switches" : "probability per step");
      return;
    }
    const shown = maps ? maps.shown : names.map((_, s) => s);
    R.bars(R.el("switch-map"), { names: shown.map((s) => R.label(R.short(R.bare(names[s]), 18))), y: shown.map((s) => known[s]), colour: R.facts.colours[to], opacity: shown.map(weight), yTitle: counts ? "decoded switches" : "probability per step", xTitle: noun, height: 320, text: shown.map((s) => R.label(says(s)).replace(/\n/g, "<br>")) });
  };
  const rows = () => {
    const table = [["from", "to", "state", "probability", "decoded_switches", "decoded_steps_of_from"]];
    modes.forEach((a, i) => modes.forEach((b, j) => names.forEach((name, s) => table.push([a, b, name, facts.probability[i][j][s], facts.counts[i][j][s], facts.visits[i][s]]))));
    return table;
  };
  if (onMap) R.registerMap("switch-map", map, rows);
  else { R.csv["switch-map"] = rows; R.registerPlot("switch-map", R.el("switch-map")); }
  for (const name of ["switch-from", "switch-to", "switch-measure"]) R.el(name).addEventListener("change", draw);
  R.redraw.push(draw);
  draw();
};
