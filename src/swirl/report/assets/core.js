"use strict";
// What all parts share: facts, colours, downloads, the tip beside the pointer. Names of the user's are only ever set as
// text, or escaped for plotly, which reads a little HTML.
const R = { facts: JSON.parse(document.getElementById("facts").textContent), csv: {}, picture: {}, redraw: [] };
R.el = (id) => document.getElementById(id);
R.css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
R.dark = () => document.documentElement.dataset.theme === "dark";
R.label = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
R.short = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
R.number = (x, digits = 3) => {
  if (x === null || x === undefined || !isFinite(x)) return "—";
  const text = Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(1) : String(+x.toPrecision(digits));
  return text.replace("-", "−");
};
R.between = ([low, high]) => `95 %: ${R.number(low, 2)} to ${R.number(high, 2)}`;
R.unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
R.trouble = (words) => { R.el("trouble").textContent = words; R.el("trouble").hidden = false; };
R.picked = (name) => { const found = document.querySelector(`input[name="${name}"]:checked`); return found ? found.value : null; };
R.pick = (name, value) => { const found = document.querySelector(`input[name="${name}"][value="${value}"]`); if (found) found.checked = true; };

// ---------------------------------------------------------------- colours
const RAMPS = {
  reward: ["#ffffd9", "#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494", "#081d58"],
  probability: ["#f7f4f9", "#e7e1ef", "#d4b9da", "#c994c7", "#df65b0", "#e7298a", "#ce1256", "#980043", "#67001f"],
  odds: ["#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7", "#fddbc7", "#f4a582", "#d6604d", "#b2182b"],
};
// On dark paper the ends that mean "much" are the light ones.
const DARK_RAMPS = {
  reward: ["#233252", "#25447e", "#225ea8", "#1d91c0", "#41b6c4", "#7fcdbb", "#c7e9b4", "#edf8b1", "#ffffd9"],
  probability: ["#352d3d", "#5a3260", "#85367d", "#b23d8d", "#d85397", "#ee79a2", "#f8a3b6", "#fccdd2", "#fff4f1"],
  odds: ["#8fc9f2", "#5aa5d8", "#3f79a4", "#3a5166", "#343a42", "#664a40", "#a55c48", "#e0745e", "#ffb49c"],
};
R.ramp = (name) => (R.dark() ? DARK_RAMPS : RAMPS)[name];
// power 2: half of the colours for the lowest quarter, where most probabilities of many states are.
R.scale = (name, power = 1) => R.ramp(name).map((colour, i, all) => [(i / (all.length - 1)) ** power, colour]);
R.mix = (colour, share, ground) => {
  const long = (text) => (text.length === 4 ? text.replace(/[^#]/g, "$&$&") : text);  // #fff, as paper is
  const parts = (text) => (text[0] === "#" ? [1, 3, 5].map((k) => parseInt(long(text).slice(k, k + 2), 16)) : text.match(/\d+/g).map(Number)), a = parts(colour), b = parts(ground);
  return `rgb(${a.map((x, i) => Math.round(x * share + b[i] * (1 - share))).join(",")})`;
};
R.shade = (name, share) => {
  const stops = R.ramp(name), at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  const mix = (k) => Math.round(parseInt(stops[i].slice(k, k + 2), 16) * (1 - at + i) + parseInt(stops[i + 1].slice(k, k + 2), 16) * (at - i));
  return `rgb(${mix(1)},${mix(3)},${mix(5)})`;
};
R.legend = (id, ramp, low, high, words) => {
  const holder = R.el(id), text = (tag, content) => { const made = document.createElement(tag); made.textContent = content; return made; };
  const bar = document.createElement("i");
  bar.style.background = `linear-gradient(90deg, ${R.ramp(ramp).join(", ")})`;
  holder.replaceChildren(text("b", words), text("span", low), bar, text("span", high));
};

// ---------------------------------------------------------------- the tip beside the pointer
R.tip = (event, words) => {
  const tip = R.el("tip");
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const box = tip.getBoundingClientRect(), room = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, room - box.width - 6)) + "px";
  tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + "px";
};

// ---------------------------------------------------------------- downloads
R.save = (name, kind, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
};
R.toCsv = (rows) => rows.map((row) => row.map((cell) => {
  const text = cell === null || cell === undefined ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}).join(",")).join("\r\n") + "\r\n";
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-csv], button[data-picture]");
  if (!button) return;
  const csv = button.dataset.csv, picture = button.dataset.picture;
  if (csv && R.csv[csv]) R.save(`${csv}.csv`, "text/csv;charset=utf-8", "\ufeff" + R.toCsv(R.csv[csv]()));
  if (picture && R.picture[picture]) R.picture[picture]();
});
