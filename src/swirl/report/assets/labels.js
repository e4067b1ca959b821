// Names where there is little room: which of them to write, and where.
R.bare = (name) => name.replace(/^(state|syllable|action) (?=\d+$)/, "");
R.named = () => R.facts.states.map(R.bare);
// Ticks for names along an axis of so many pixels: every one, or every second, fifth, … so that none covers another.
R.ticks = (values, names, room, each) => {
  const most = Math.max(2, Math.floor(room / each)), every = Math.max(1, Math.ceil(names.length / most));
  const kept = names.map((_, i) => i).filter((i) => i % every === 0);
  return { tickmode: "array", tickvals: kept.map((i) => values[i]), ticktext: kept.map((i) => names[i]) };
};
// Where each text may stand, in the order given: the first place that is free and inside; of several the one that covers least.
// wanted: { text, size, spots }; solid: [x, y, radius, weight] that should not be covered. Gives { text, size, x, y } of those with a place.
R.place = (wanted, box, solid) => {
  const taken = [], placed = [];
  for (const { text, size, spots } of wanted) {
    const width = 0.58 * size * text.length;
    const middle = ([x, y, anchor]) => [anchor === "start" ? x + width / 2 : anchor === "end" ? x - width / 2 : x, y];
    const cover = ([u, v]) => solid.reduce((sum, [x, y, radius, weight]) => sum + (Math.abs(x - u) < width / 2 + radius && Math.abs(y - v) < size / 2 + radius ? weight : 0), 0);
    const inside = ([u, v]) => u - width / 2 > box[0] && u + width / 2 < box[0] + box[2] && v - size / 2 > box[1] && v + size / 2 < box[1] + box[3];
    const free = ([u, v]) => !taken.some(([x, y, w, h]) => Math.abs(x - u) < (w + width) / 2 + 0.3 * size && Math.abs(y - v) < (h + size) / 2);
    const best = spots.map(middle).filter((at) => inside(at) && free(at)).map((at) => [cover(at), at]).sort((a, b) => a[0] - b[0])[0];
    if (!best) continue;
    taken.push([...best[1], width, size]);
    placed.push({ text, size, x: R.round(best[1][0]), y: R.round(best[1][1] + 0.35 * size) });
  }
  return placed;
};
