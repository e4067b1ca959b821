// Figures that plotly draws. Their specifications say "@ink", "@soft", …: colours of the theme, filled in when drawn.
R.plotted = new Map();
const tokens = (value) => {
  if (typeof value === "string") return value[0] === "@" ? R.css(value.slice(1)) : value;
  if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(tokens);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, tokens(item)]));
  return value;
};
R.layout = (given, height) => {
  const ink = R.css("ink"), soft = R.css("soft"), line = R.css("line");
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, tickfont: { color: soft, size: 12 }, automargin: true, zeroline: false, fixedrange: true };
  const layout = {
    height, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
    font: { family: R.css("sans"), size: 13, color: ink }, margin: { l: 52, r: 12, t: 12, b: 44 },
    hoverlabel: { bgcolor: R.css("paper"), bordercolor: line, font: { color: ink, size: 12.5 } }, ...tokens(given),
  };
  layout.legend = { font: { size: 12, color: soft }, bgcolor: "rgba(0,0,0,0)", ...layout.legend };
  for (const key of Object.keys(layout)) {
    if (!/^[xy]axis\d*$/.test(key)) continue;
    layout[key] = { ...axis, ...layout[key] };
    if (layout[key].title) layout[key].title = { font: { color: soft, size: 12.5 }, standoff: 8, ...layout[key].title };
  }
  return layout;
};
R.config = { displayModeBar: false, displaylogo: false, responsive: true, doubleClick: "reset", showTips: false };
R.plot = (div, data, layout, height) => {
  R.plotted.set(div, [data, layout, height]);
  if (!window.Plotly) return Promise.resolve();
  const full = R.layout(layout, height);
  if (R.printing) full.width = div.clientWidth;  // paper does not wait for plotly to find out
  return Plotly.react(div, tokens(data), full, R.config);
};
R.plotCsv = (div) => () => {
  const plain = (text) => typeof text === "string" ? text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&") : text;
  const [data] = R.plotted.get(div), rows = [["series", "x", "y", "value", "low", "high"]];
  for (const trace of data) {
    if (trace.type === "heatmap") {
      trace.z.forEach((line, i) => line.forEach((z, j) => rows.push([trace.name, plain(trace.x[j]), plain(trace.y[i]), z, null, null])));
      continue;
    }
    if (trace.fill === "toself") continue;
    trace.x.forEach((x, i) => {
      const half = trace.error_y ? trace.error_y.array[i] : trace.error_x ? trace.error_x.array[i] : null, centre = trace.error_x ? x : trace.y[i];
      rows.push([plain(trace.name), plain(x), plain(trace.y[i]), trace.text ? plain(trace.text[i]) : null, half === null ? null : centre - half, half === null ? null : centre + half]);
    });
  }
  return rows;
};
// Names beside a figure may take two fifths of its width; the rest of a long one is in the tip.
R.beside = (div, data, layout) => {
  if (!layout.yaxis || layout.yaxis.type !== "category") return layout;
  const plain = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  const names = [...new Set(data.flatMap((trace) => trace.y))], most = Math.max(8, Math.floor((0.4 * (div.clientWidth || 690)) / 7));
  return { ...layout, yaxis: { ...layout.yaxis, tickmode: "array", tickvals: names, ticktext: names.map((name) => R.label(R.short(plain(name), most))) } };
};
R.drawFigure = (div) => {
  const spec = R.facts.figures[div.dataset.figure];
  return R.plot(div, spec.data, R.beside(div, spec.data, spec.layout), spec.height);
};
R.registerPlot = (name, div) => {
  if (!R.csv[name]) R.csv[name] = R.plotCsv(div);
  R.picture[name] = () => R.ready.then(() => Plotly.downloadImage(div, { format: "svg", filename: name, width: div.clientWidth, height: div.clientHeight }));
};
R.startFigures = () => {
  const waiting = document.querySelectorAll("[data-figure]");
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { watch.unobserve(entry.target); R.drawFigure(entry.target); }
  }, { rootMargin: "500px" });
  for (const div of waiting) {
    const name = div.dataset.figure, { csv } = R.facts.figures[name];
    if (csv) R.csv[name] = () => csv;
    R.registerPlot(name, div); watch.observe(div);
  }
};
// What is folded has no width: its figures are drawn anew when it opens.
document.addEventListener("toggle", (event) => {
  if (!event.target.open) return;
  for (const div of event.target.querySelectorAll("[data-figure]")) if (R.plotted.has(div)) R.drawFigure(div);
}, true);
let resized = 0;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => { if (!R.printing) for (const div of R.plotted.keys()) if (div.dataset.figure && div.clientWidth) R.drawFigure(div); }, 200);
});
R.drawAll = () => Promise.all([...document.querySelectorAll("[data-figure]")].map(R.drawFigure));
R.replot = () => { for (const [div, [data, layout, height]] of R.plotted) R.plot(div, data, layout, height); };
