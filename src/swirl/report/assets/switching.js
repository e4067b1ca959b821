// Where the animal switches from one mode to another: P(next mode | mode, state), or the switches that were decoded.
R.startSwitching = () => {
  const facts = R.facts.switching, maps = R.facts.maps, names = R.facts.states, modes = R.facts.modes;
  if (!facts || !facts.by_state) return;
  const onMap = maps && maps.kind !== "table", map = onMap ? new R.Map(R.el("switch-map"), maps, "Switching at each place") : null;
  const draw = () => {
    const from = +R.picked("switch-from"), counts = R.picked("switch-measure") === "counts";
    for (const input of document.querySelectorAll('input[name="switch-to"]')) input.disabled = +input.value === from;
    if (+R.picked("switch-to") === from) R.pick("switch-to", from === 0 ? 1 : 0);
    const to = +R.picked("switch-to"), values = (counts ? facts.counts : facts.probability)[from][to];
    const known = values.map((v, s) => (facts.seen[s] || counts ? v : null)), high = Math.max(...known.filter((v) => v !== null), counts ? 1 : 1e-9);
    R.el("switch-title").textContent = `From ${modes[from]} to ${modes[to]}`;
    R.el("switch-words").textContent = counts ? "Number of decoded switches, by the state in which they happen." : "Probability of the switch at each step in a state." + (facts.seen.every((x) => x) ? "" : " Hatched: a state that was never visited.");
    if (onMap) {
      map.paint(known.map((v) => (v === null ? "hatch" : R.shade("probability", v / high))));
      map.says = (s) => `${names[s]}\n${counts ? `${values[s]} switches` : known[s] === null ? "never visited" : `${R.number(100 * values[s])} % per step`}`;
      R.legend("switch-legend", "probability", "0", counts ? String(high) : R.number(high), counts ? "decoded switches" : "probability per step");
      return;
    }
    const shown = maps ? maps.shown : names.map((_, s) => s);
    R.plot(R.el("switch-map"), [{ type: "bar", name: "switching", x: shown.map((s) => R.label(R.short(names[s], 18))), y: shown.map((s) => known[s]), marker: { color: R.facts.colours[to] } }],
      { xaxis: { type: "category", showgrid: false, tickangle: shown.length > 8 ? -45 : 0 }, yaxis: { title: { text: counts ? "decoded switches" : "probability per step" }, rangemode: "tozero" }, showlegend: false }, 320);
  };
  const rows = () => {
    const table = [["from", "to", "state", "probability", "decoded_switches"]];
    modes.forEach((a, i) => modes.forEach((b, j) => names.forEach((name, s) => table.push([a, b, name, facts.probability[i][j][s], facts.counts[i][j][s]]))));
    return table;
  };
  if (onMap) R.registerMap("switch-map", map, rows);
  else { R.csv["switch-map"] = rows; R.registerPlot("switch-map", R.el("switch-map")); }
  for (const name of ["switch-from", "switch-to", "switch-measure"]) R.el(name).addEventListener("change", draw);
  R.redraw.push(draw);
  draw();
};
