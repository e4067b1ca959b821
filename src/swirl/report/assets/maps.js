// A map of the states as SVG: cells of a grid, or junctions and corridors; arrows for moves; a dot for the replay.
const SVG = "http://www.w3.org/2000/svg";
R.shape = (name, attributes, parent) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
};
R.round = (x) => Math.round(x * 1000) / 1000;
let hatches = 0;

R.Map = class {
  // places: { kind, xy, cell, corridors }; words: what the picture is, for those who do not see it.
  constructor(holder, places, words) {
    this.holder = holder; this.kind = places.kind; this.corridors = places.corridors; this.cell = places.cell;
    const top = Math.max(...places.xy.map((p) => p[1]));
    this.xy = places.xy.map(([x, y]) => [x, top - y]);
    const width = Math.max(...this.xy.map((p) => p[0])), texts = places.texts || R.named(), longest = Math.max(0, ...texts.map((text) => Math.min(14, text.length)));
    // Beside a graph there is room for the names of its outermost places.
    const around = (i) => (this.kind === "grid" ? this.cell[i] / 2 + 0.12 : i === 0 ? 0.8 + 0.17 * longest : 0.8);
    const pad = this.kind === "ring" ? places.pad : around(0), padY = this.kind === "ring" ? 1.2 : around(1);
    this.box = [-pad, -padY, width + 2 * pad, top + 2 * padY];
    if (this.kind === "grid" && !places.texts && places.edges && !this.roomy(2)) {
      const size = this.edgeLetters(), left = 0.58 * size * Math.max(...places.edges.rows.map((name) => name.length)) + 0.2;
      this.edges = places.edges;
      this.box = [-pad - left, -padY, width + 2 * pad + left, top + 2 * padY + 1.3 * size];
    }
    this.svg = R.shape("svg", { viewBox: this.box.map(R.round).join(" "), role: "img", "aria-label": words, xmlns: SVG });
    const hatch = R.shape("pattern", { id: "hatch" + ++hatches, width: 0.22, height: 0.22, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, R.shape("defs", {}, this.svg));
    this.hatchFill = R.shape("rect", { width: 0.22, height: 0.22 }, hatch);
    this.hatchLine = R.shape("rect", { width: 0.05, height: 0.22 }, hatch);
    this.hatch = `url(#hatch${hatches})`;
    this.layer = {};
    for (const name of ["walls", "halls", "states", "arrows", "rings", "marks", "names", "trail", "dot"]) this.layer[name] = R.shape("g", {}, this.svg);
    this.drawFloor();
    holder.replaceChildren(this.svg);
    this.svg.addEventListener("pointermove", (event) => {
      const state = event.target.dataset ? event.target.dataset.state : undefined;
      R.tip(event, state !== undefined && this.says ? this.says(+state) : null);
    });
    this.svg.addEventListener("pointerleave", (event) => R.tip(event, null));
    this.svg.addEventListener("click", (event) => {
      if (this.onpick && event.target.dataset && event.target.dataset.state !== undefined) this.onpick(+event.target.dataset.state);
    });
  }
  // The cell of a grid around its middle, a little smaller than the space it has.
  square(x, y) {
    const [width, height] = this.cell.map((side) => side - 0.05);
    return { x: R.round(x - width / 2), y: R.round(y - height / 2), width: R.round(width), height: R.round(height), rx: 0.07 };
  }
  drawFloor() {
    const hall = (layer, width) => this.corridors.map(([a, b]) => R.shape("line", { x1: this.xy[a][0], y1: this.xy[a][1], x2: this.xy[b][0], y2: this.xy[b][1], "stroke-width": width, "stroke-linecap": "round" }, layer));
    this.walls = this.kind === "graph" ? hall(this.layer.walls, 0.66) : [];
    this.halls = this.kind === "graph" ? hall(this.layer.halls, 0.58) : [];
    if (this.kind === "graph") {
      const defs = this.svg.firstChild;
      this.fades = this.corridors.map(([a, b], i) => {
        const fade = R.shape("linearGradient", { id: `fade${hatches}-${i}`, gradientUnits: "userSpaceOnUse", x1: this.xy[a][0], y1: this.xy[a][1], x2: R.round(this.xy[b][0] + 1e-3), y2: R.round(this.xy[b][1] + 1e-3) }, defs);
        return [R.shape("stop", { offset: 0.1 }, fade), R.shape("stop", { offset: 0.9 }, fade)];
      });
      this.fadeName = (i) => `url(#fade${this.fadeNumber}-${i})`;
      this.fadeNumber = hatches;
    }
    this.states = this.xy.map(([x, y], s) => {
      const attributes = this.kind === "grid" ? this.square(x, y) : { cx: x, cy: y, r: this.kind === "ring" ? 0.42 : 0.33 };
      return R.shape(this.kind === "grid" ? "rect" : "circle", { ...attributes, class: "state", "data-state": s, "stroke-width": this.kind === "grid" ? 0.015 : 0.03 }, this.layer.states);
    });
  }
  // Colours by state: a CSS colour, "hatch" where nothing is known, null where there is no value.
  paint(colours) {
    const none = R.css("none"), wall = R.css("wall"), floor = R.css("floor");
    this.hatchFill.setAttribute("fill", R.css("paper")); this.hatchLine.setAttribute("fill", R.css("soft"));
    this.walls.forEach((line) => line.setAttribute("stroke", wall));
    const solid = (s) => (colours === null ? floor : colours[s] === null ? none : colours[s] === "hatch" ? R.css("paper") : colours[s]);
    this.halls.forEach((line, i) => {
      const [a, b] = this.corridors[i];
      this.fades[i][0].setAttribute("stop-color", solid(a)); this.fades[i][1].setAttribute("stop-color", solid(b));
      line.setAttribute("stroke", this.fadeName(i));
    });
    this.states.forEach((shape, s) => {
      shape.setAttribute("fill", colours !== null && colours[s] === "hatch" ? this.hatch : solid(s));
      shape.setAttribute("stroke", colours === null && this.kind === "graph" ? "none" : wall);
    });
  }
  // moves: { from, to, width (0 to 1), colour, opacity, hollow }; a move to its own state is a disc.
  arrows(moves) {
    this.layer.arrows.replaceChildren();
    for (const { from, to, width, colour, opacity, hollow } of moves) {
      const [x, y] = this.xy[from], [u, v] = this.xy[to], length = Math.hypot(u - x, v - y), style = hollow
        ? { fill: "none", stroke: colour, "stroke-width": 0.016, "stroke-linejoin": "round", "pointer-events": "none" } : { fill: colour, "fill-opacity": R.round(opacity), "pointer-events": "none" };
      if (length === 0) {
        if (from === to) R.shape("circle", { cx: x, cy: y, r: R.round(0.21 * Math.sqrt(width)), ...style }, this.layer.arrows);
        continue;
      }
      const dx = (u - x) / length, dy = (v - y) / length, reach = Math.min(0.46 * length, 0.95), half = 0.13 * width + 0.004, head = Math.min(0.26, 0.6 * reach);
      const at = (along, aside) => `${R.round(x + dx * along - dy * aside)},${R.round(y + dy * along + dx * aside)}`;
      const neck = reach - head, start = 0.1;
      R.shape("polygon", { points: [at(start, half), at(neck, half), at(neck, 2 * half), at(reach, 0), at(neck, -2 * half), at(neck, -half), at(start, -half)].join(" "), ...style }, this.layer.arrows);
    }
  }
  // Every place is named where all names fit. Rows and columns are at the edge of a grid instead, where names are made of them
  // and would reach over the middle of the cells, where arrows are;
  // else the goals and where a mode goes more are named, on all maps alike. Gives what the caption says of it.
  nameAll() {
    const all = R.facts.states.map((_, s) => s);
    if (this.edges) return this.nameEdges();
    if (this.roomy() && this.name(all) === all.length) return "";
    const goals = (R.facts.goals || []).flatMap((goal) => goal.states), few = [...new Set([...goals, ...R.facts.maps.preferred.flat()])];
    this.name(few);
    return few.length ? ` Not all names fit: named are ${goals.length ? "the goals and " : ""}the places where a mode goes more.` : "";
  }
  // Whether every place may be named: cells of a grid (or a part of them) hold their names, with letters not too large for them.
  roomy(part = 1) {
    const [size, most] = this.letters(), longest = Math.max(...R.named().map((name) => name.length));
    return this.xy.length <= 150 && (this.kind !== "grid" || (size <= 0.3 && longest <= most / part));
  }
  edgeLetters() { return 0.036 * (Math.max(...this.xy.map((p) => p[0])) + 1); }
  nameEdges() {
    const { rows, columns, words } = this.edges, size = this.edgeLetters(), [width, height] = this.cell;
    const bottom = (rows.length - 0.5) * height, every = (room, each) => Math.ceil(each / room);
    const down = every(height, 1.2 * size), along = every(width, 0.58 * size * Math.max(...columns.map((name) => name.length)) + 0.2);
    const write = (text, x, y, anchor) => { R.shape("text", { x: R.round(x), y: R.round(y), "font-size": R.round(size), "text-anchor": anchor, "font-family": R.css("sans"), fill: R.css("soft"), "pointer-events": "none", class: "edge" }, this.layer.names).textContent = text; };
    this.layer.names.replaceChildren();
    rows.forEach((name, i) => { if (i % down === 0) write(name, -width / 2 - 0.15, i * height + 0.35 * size, "end"); });
    columns.forEach((name, i) => { if (i % along === 0) write(name, i * width, bottom + 1.05 * size, "middle"); });
    return ` At the edge: ${words}.`;
  }
  // Size of the letters, and how many a cell has room for.
  letters() {
    const grid = this.kind === "grid", size = Math.max(grid ? 0.2 : 0.26, (grid ? 0.024 : 0.03) * this.box[2]);
    return [size, grid ? Math.floor((this.cell[0] - 0.1) / (0.58 * size)) : 14];
  }
  // Names of places, most important first, where they cover no other name and little of the ways; gives how many found room.
  name(states, called = (s) => R.bare(R.facts.states[s])) {
    this.layer.names.replaceChildren();
    const grid = this.kind === "grid", [size, most] = this.letters();
    const solid = grid ? [] : [...this.xy.map(([x, y]) => [x, y, 0.3, 3]), ...this.corridors.flatMap(([a, b]) => [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map((t) => [this.xy[a][0] * (1 - t) + this.xy[b][0] * t, this.xy[a][1] * (1 - t) + this.xy[b][1] * t, 0.25, 1]))];
    const wanted = states.map((s) => {
      const [x, y] = this.xy[s], near = 0.46, down = 0.42 + 0.6 * size;
      const spots = grid ? [[x - this.cell[0] / 2 + 0.08, y - this.cell[1] / 2 + 0.08 + 0.5 * size, "start"]]  // arrows leave the corners free
        : [[x + near, y, "start"], [x - near, y, "end"], [x, y - down, "middle"], [x, y + down, "middle"], [x + 0.3, y - down, "start"], [x - 0.3, y - down, "end"], [x + 0.3, y + down, "start"], [x - 0.3, y + down, "end"]];
      return { text: R.short(called(s), Math.max(3, most)), size, spots };
    });
    const placed = R.place(wanted, this.box, solid);
    for (const { text, x, y } of placed) {
      R.shape("text", { x, y, "font-size": R.round(size), "font-weight": 600, "text-anchor": "middle", "font-family": R.css("sans"), fill: R.css("ink"), stroke: R.css("paper"), "stroke-width": R.round(0.26 * size), "stroke-linejoin": "round", "paint-order": "stroke", "pointer-events": "none" }, this.layer.names).textContent = text;
    }
    return placed.length;
  }
  ring(states) {
    this.layer.rings.replaceChildren();
    const style = { fill: "none", stroke: R.css("ink"), "stroke-width": 0.055, "pointer-events": "none" };
    for (const s of states) {
      const [x, y] = this.xy[s];
      if (this.kind === "grid") R.shape("rect", { ...this.square(x, y), ...style }, this.layer.rings);
      else R.shape("circle", { cx: x, cy: y, r: 0.38, ...style }, this.layer.rings);
    }
  }
  mark(state) {
    this.layer.marks.replaceChildren();
    if (state < 0) return;
    const [x, y] = this.xy[state], style = { fill: "none", stroke: R.css("ink"), "stroke-width": 0.12, "pointer-events": "none" };
    if (this.kind === "grid") R.shape("rect", { ...this.square(x, y), ...style }, this.layer.marks);
    else R.shape("circle", { cx: x, cy: y, r: 0.4, ...style }, this.layer.marks);
  }
};
R.registerMap = (name, map, rows) => {
  R.csv[name] = rows;
  R.picture[name] = () => R.save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(map.svg));
};
// States on a ring, where they have no places of their own.
R.ring = (n) => {
  const radius = Math.max(2.2, n / 5.2);
  const xy = Array.from({ length: n }, (_, i) => [R.round(radius + radius * Math.sin(2 * Math.PI * i / n)), R.round(radius + radius * Math.cos(2 * Math.PI * i / n))]);
  const longest = Math.min(12, Math.max(...R.named().map((name) => name.length)));
  return { kind: "ring", xy, corridors: [], radius, pad: 1 + 0.28 * longest };
};
