// A table of numbers by name and name as a heatmap, with as many names as there is room for.
R.heat = (div, { z, x, y, ramp, low, high, xTitle, yTitle, rings, power }) => {
  const trace = { type: "heatmap", name: yTitle, z, x, y, xgap: 1, ygap: 1, zmin: low, zmax: high, colorscale: R.scale(ramp, power), hoverongaps: false, colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: R.css("soft"), size: 11 } }, hovertemplate: `${yTitle} %{y}<br>${xTitle} %{x}<br>%{z:.3g}<extra></extra>` };
  if (rings) { trace.text = rings.map((row) => row.map((ring) => (ring ? "○" : ""))); trace.texttemplate = "%{text}"; trace.textfont = { color: R.css("soft"), size: 11 }; }
  const height = Math.max(320, Math.min(760, 110 + 22 * y.length)), wide = Math.max(...x.map((text) => text.length));
  const room = Math.max(120, (div.clientWidth || 440) - 130), flat = 7.5 * wide + 8 <= room / x.length || wide <= 3;
  div.style.height = height + "px";
  const axis = { type: "category", showgrid: false };
  R.plot(div, [trace], {
    xaxis: { ...axis, ...R.ticks(x, x, room, flat ? 7.5 * wide + 8 : 17), title: { text: xTitle }, tickangle: flat ? 0 : -45 },
    yaxis: { ...axis, ...R.ticks(y, y, height - 80, 15), title: { text: yTitle }, autorange: "reversed" }, margin: { l: 60, r: 6, t: 8, b: 60 },
  }, height);
};
// Bars by name, on a numbered axis: two long names may begin alike.
R.bars = (div, { names, y, colour, yTitle, xTitle, opacity, text, height }) => {
  const wide = Math.max(...names.map((name) => name.length)), room = Math.max(120, (div.clientWidth || 440) - 70), flat = 7.5 * wide + 8 <= room / names.length || wide <= 3;
  R.plot(div, [{ type: "bar", name: yTitle, x: names.map((_, i) => i), y, text, textposition: "none", marker: { color: colour, opacity }, hovertemplate: "%{text}<extra></extra>" }],
    { xaxis: { ...R.ticks(names.map((_, i) => i), names, room, flat ? 7.5 * wide + 8 : 17), title: { text: xTitle }, range: [-0.6, names.length - 0.4], showgrid: false, tickangle: flat ? 0 : -45 }, yaxis: { title: { text: yTitle }, rangemode: "tozero" }, showlegend: false }, height);
};
// A table that is wider than its box scrolls inside it, and says so.
R.startTables = () => {
  const look = (box) => {
    const wide = box.scrollWidth > box.clientWidth + 1, told = box.previousElementSibling;
    box.classList.toggle("scrolls", wide);
    if (wide) box.tabIndex = 0; else box.removeAttribute("tabindex");
    const here = told && told.classList.contains("more-right");
    if (wide && !here) { const words = document.createElement("p"); words.className = "more-right"; words.textContent = "Scroll this table sideways →"; box.before(words); }
    if (!wide && here) told.remove();
  };
  const watch = new ResizeObserver((entries) => entries.forEach((entry) => look(entry.target.closest(".table"))));
  document.querySelectorAll(".table").forEach((box) => { watch.observe(box); watch.observe(box.firstElementChild); });
};
