// Rewards and choices of one mode: two maps where states have places, two tables where they have none.
R.startRewards = () => {
  const maps = R.facts.maps;
  if (!maps) return;
  const names = R.facts.states, modes = R.facts.modes, K = modes.length, onMap = maps.kind !== "table";
  const previousPick = R.el("reward-previous");
  const now = () => ({
    mode: +R.picked("reward-mode"), gauge: maps.gauges[+(R.picked("reward-gauge") || 0)] || null,
    view: R.picked("reward-view") || "policy", previous: previousPick ? +previousPick.value : -1, sure: R.picked("reward-sure") === "sure",
  });
  // Intervals: [low, high] of the log-odds of a move, and of a place's reward against the mode's mean; null where there is none.
  const spans = R.facts.intervals || {}, ends = (table, ...at) => {
    if (!table) return null;
    const [low, high] = [table.low, table.high].map((part) => at.reduce((inner, i) => inner[i], part));
    return low === null || high === null ? null : [low, high];
  };
  // By the previous state there are no intervals, where choices depend on it.
  const oddsEnds = (state, s, j) => (state.previous >= 0 && maps.pair_moves ? null : ends(spans.preference, state.mode, s, j));
  const isSure = (span) => span === null || span[0] > 0 || span[1] < 0;
  const pairsAfter = (previous) => {
    const found = new Map();
    maps.pairs.previous.forEach((p, i) => { if (p === previous) found.set(maps.pairs.state[i], i); });
    return found;
  };
  // [mode] -> probabilities of the moves from each state; null where the previous state leads elsewhere.
  const moves = (mode, pairs) => names.map((_, s) => {
    if (!pairs || !maps.pair_moves) return maps.moves[mode][s];
    return pairs.has(s) ? maps.pair_moves[mode][pairs.get(s)] : null;
  });
  const logOdds = (p) => Math.log(p / (1 - p));
  const odds = (mode, pairs) => {
    const all = modes.map((_, k) => moves(k, pairs));
    return names.map((_, s) => all[mode][s] && all[mode][s].map((p, j) => {
      const q = all.reduce((sum, one) => sum + one[s][j], 0) / K, found = logOdds(p) - logOdds(q);
      return Number.isNaN(found) ? null : found;
    }));
  };
  const sureWords = (state) => {
    if (state.view !== "odds" || !spans.preference) return "";
    if (state.previous >= 0 && maps.pair_moves) return " Which of them are certain is known for the mean over previous states only.";
    return state.sure ? " Only those whose 95 % interval lies on one side of 0." : onMap ? " Outlined: the 95 % interval includes 0, so not even the sign is certain." : " A ring: the 95 % interval includes 0, so not even the sign is certain.";
  };
  const forced = maps.following.map((row, s) => row.length === 1 && row[0] !== s);  // dead ends: no choice there
  const words = (state) => {
    const after = state.previous < 0 ? "" : `, having come from ${names[state.previous]}`;
    if (state.gauge) {
      R.el("reward-title").textContent = `Reward of ${modes[state.mode]}${after}`;
      const mean = maps.history > 1 && state.previous < 0 && !(maps.kind === "table" && !maps.per_action) ? " Mean over the previous states." : "";
      const some = state.previous >= 0 ? " Grey: cannot be reached from there in one step." : "";
      const hatched = onMap && maps.unknown.some((x) => x) ? " Hatched: the training data say nothing." : "";
      const hint = onMap && maps.pairs && !R.printing ? " Click a place to choose it as the previous state." : "";
      R.el("reward-words").textContent = `${state.gauge.name === "fitted" ? "Reward as fitted: one of many that explain the same behaviour" : "Reward of least norm: the simplest of many that explain the same behaviour"}.${mean}${some}${hatched}${hint}`;
    }
    R.el("choice-title").textContent = state.view === "odds" ? `What ${modes[state.mode]} does more than the others` : `What ${modes[state.mode]} does${maps.pair_moves ? after : ""}`;
    const blind = state.previous >= 0 && !maps.pair_moves ? " These choices do not depend on the previous state." : "";
    const goes = onMap && maps.preferred[state.mode].length ? ` ${maps.kind === "grid" ? "Framed" : "Ringed"}: where it goes more than the other modes.` : "";
    const only = onMap && forced.some((x) => x) && state.view !== "odds" ? " Faint: the only move that there is." : "";
    R.el("choice-words").textContent = (state.view === "odds"
      ? "Log-odds of each move against the average mode: red, taken more; blue, less."
      : onMap ? "Probability of each move: the wider the arrow, the likelier; the disc is staying." : `Probability of the ${R.facts.nouns.next}.`) + only + goes + sureWords(state) + " No gauge: the same for all equivalent rewards." + blind;
    const sure = R.el("reward-sure");
    if (sure) sure.hidden = state.view !== "odds";
  };

  if (onMap) {
    const left = maps.gauges.length ? new R.Map(R.el("reward-map"), maps, "Reward of each place") : null;
    const right = new R.Map(R.el("choice-map"), maps, "Choices at each place");
    const paintPair = (left, right, state) => {
      const pairs = state.previous < 0 ? null : pairsAfter(state.previous), shown = {};
      if (left) {
        const all = pairs ? state.gauge.pair[state.mode] : state.gauge.state[state.mode];
        const known = all.filter((r) => r !== null), low = Math.min(...known), high = Math.max(...known);
        shown.values = names.map((_, s) => pairs ? (pairs.has(s) ? state.gauge.pair[state.mode][pairs.get(s)] : null) : state.gauge.state[state.mode][s]);
        const unknown = (s) => (pairs ? maps.pair_unknown && pairs.has(s) && maps.pair_unknown[pairs.get(s)] : maps.unknown[s]);
        left.paint(shown.values.map((r, s) => r === null ? null : unknown(s) ? "hatch" : R.shade("reward", high > low ? (r - low) / (high - low) : 0.5)));
        left.mark(state.previous);
        shown.named = left.nameAll();
        const span = (s) => (state.gauge.name === "canonical" && !pairs && !unknown(s) ? ends(spans.rewards, state.mode, s) : null);
        left.says = (s) => `${names[s]}\nreward ${shown.values[s] === null ? "—" : unknown(s) ? "not known" : R.number(shown.values[s])}`
          + (span(s) ? `\nagainst the mode's mean: ${R.number(spans.rewards.value[state.mode][s], 2)} (${R.between(span(s))})` : "");
        shown.range = [R.number(low), R.number(high)];
      }
      const probable = moves(state.mode, pairs), against = state.view === "odds" ? odds(state.mode, pairs) : null, drawn = [];
      probable.forEach((row, s) => row && row.forEach((p, j) => {
        const to = maps.following[s][j];
        if (to === undefined) return;
        if (!against && forced[s]) drawn.push({ from: s, to, width: 0.35, colour: R.css("soft"), opacity: 0.28 });
        else if (!against && p > 0.004) drawn.push({ from: s, to, width: p, colour: R.facts.colours[state.mode], opacity: R.dark() ? 0.6 + 0.4 * p : 0.35 + 0.65 * p });
        if (!against || against[s][j] === null) return;
        const sure = isSure(oddsEnds(state, s, j));
        if (sure || !state.sure) drawn.push({ from: s, to, width: sure ? 0.62 : 0.5, colour: sure ? R.shade("odds", 0.5 + against[s][j] / 6) : R.css("soft"), opacity: 1, hollow: !sure });
      }));
      right.paint(null); right.arrows(drawn); right.mark(state.previous); right.ring(maps.preferred[state.mode]); shown.named = right.nameAll();
      right.says = (s) => {
        const row = probable[s];
        if (!row) return names[s];
        const order = row.map((p, j) => [p, j]).filter(([, j]) => maps.following[s][j] !== undefined).sort((a, b) => b[0] - a[0]).slice(0, 6);
        return [names[s], ...order.map(([p, j]) => `→ ${maps.following[s][j] === s ? "stay" : names[maps.following[s][j]]}: ${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %` + (against && against[s][j] !== null ? `, log-odds ${R.number(against[s][j], 2)}` + (oddsEnds(state, s, j) ? ` (${R.between(oddsEnds(state, s, j))})` : "") : ""))].join("\n");
      };
      return shown;
    };
    const draw = () => {
      const state = now(), { range, named } = paintPair(left, right, state);
      words(state);
      R.el("choice-words").textContent += named;
      if (range) R.legend("reward-legend", "reward", ...range, "reward");
      if (state.view === "odds") R.legend("choice-legend", "odds", "−3 or less", "3 or more", "log-odds against the average mode");
      else R.el("choice-legend").replaceChildren();
    };
    R.printOther = (holders, state) => {
      const [a, b] = holders.map((holder) => { holder.className = "map"; return new R.Map(holder, maps, ""); });
      paintPair(left ? a : null, left ? b : a, state);
    };
    if (previousPick) for (const map of [left, right]) {
      if (!map) continue;
      map.holder.classList.add("picks");
      map.onpick = (s) => { previousPick.value = +previousPick.value === s ? -1 : s; draw(); };
    }
    if (left) R.registerMap("reward-map", left, () => {
      const rows = [["mode", "reward_gauge", "state", "previous", "reward"]];
      for (const gauge of maps.gauges) modes.forEach((mode, k) => {
        gauge.state[k].forEach((r, s) => rows.push([mode, gauge.name, names[s], "mean", r]));
        if (gauge.pair) gauge.pair[k].forEach((r, i) => rows.push([mode, gauge.name, names[maps.pairs.state[i]], names[maps.pairs.previous[i]], r]));
      });
      return rows;
    });
    R.registerMap("choice-map", right, R.moveRows);
    R.redraw.push(draw); R.drawRewards = draw;
  } else {
    const states = maps.shown, label = (s) => R.label(R.short(R.bare(names[s]), 18)), said = R.facts.nouns;
    const heat = (div, z, x, y, ramp, [low, high], xTitle, yTitle, more) => R.heat(div, { z, x, y, ramp, low, high, xTitle, yTitle, ...more });
    const paintPair = (left, right, state) => {
      const pairs = state.previous < 0 ? null : pairsAfter(state.previous);
      if (left) {
        const g = state.gauge, k = state.mode, blank = R.facts.actions.map(() => null);
        const range = (table) => { const flat = table.flat().filter((r) => r !== null); return [Math.min(...flat), Math.max(...flat)]; };
        if (maps.per_action) {
          // Where actions are the next states, columns stand in the order of the rows.
          const all = R.facts.actions, order = all.map((_, a) => a), same = all.every((name) => names.includes(name));
          if (same) order.sort((a, b) => names.indexOf(all[a]) - names.indexOf(all[b]));
          const z = states.map((s) => { const row = pairs ? (pairs.has(s) ? g.pair_action[k][pairs.get(s)] : blank) : g.action[k][s]; return order.map((a) => row[a]); });
          heat(left, z, order.map((a) => R.label(R.short(R.bare(all[a]), 18))), states.map(label), "reward", range(pairs ? g.pair_action[k] : g.action[k]), said.action, said.state);
        } else if (maps.pairs) {
          const place = new Map(maps.pairs.state.map((s, i) => [maps.pairs.previous[i] * names.length + s, i]));
          const z = states.map((p) => states.map((s) => { const i = place.get(p * names.length + s); return i === undefined ? null : g.pair[k][i]; }));
          heat(left, z, states.map(label), states.map(label), "reward", range(g.pair[k]), said.state, said.previous);
        } else {
          R.bars(left, { names: states.map(label), y: states.map((s) => g.state[k][s]), colour: R.facts.colours[k], yTitle: "reward", xTitle: said.state, height: 360, text: states.map((s) => `${R.label(names[s])}: ${R.number(g.state[k][s])}`) });
        }
      }
      const table = state.view === "odds" ? odds(state.mode, pairs) : moves(state.mode, pairs);
      const odd = state.view === "odds", unsure = states.map((s) => states.map((to) => { const j = maps.following[s].indexOf(to); return odd && j >= 0 && !isSure(oddsEnds(state, s, j)); }));
      const z = states.map((s, a) => states.map((to, b) => { const j = maps.following[s].indexOf(to); return j < 0 || !table[s] || table[s][j] === null || (state.sure && unsure[a][b]) ? null : Math.max(-9, Math.min(9, table[s][j])); }));
      if (odd) heat(right, z, states.map(label), states.map(label), "odds", [-3, 3], said.next, said.state, { rings: state.sure ? null : unsure });
      else heat(right, z, states.map(label), states.map(label), "probability", [0, Math.max(...maps.moves.flat(2))], said.next, said.state, { power: 2 });
    };
    const draw = () => { const state = now(); words(state); paintPair(state.gauge ? R.el("reward-map") : null, R.el("choice-map"), state); };
    R.printOther = (holders, state) => {
      for (const holder of holders) holder.className = "plot";
      paintPair(state.gauge ? holders[0] : null, holders[holders.length - 1], state);
    };
    for (const id of ["reward-map", "choice-map"]) if (R.el(id)) R.registerPlot(id, R.el(id));
    R.csv["choice-map"] = R.moveRows;
    R.redraw.push(draw); R.drawRewards = draw;
  }
  for (const name of ["reward-mode", "reward-gauge", "reward-view", "reward-sure", "reward-previous"]) if (R.el(name)) R.el(name).addEventListener("change", R.drawRewards);
  R.drawRewards();
  // On paper nobody can pick: the other modes follow below.
  R.printRewards = () => {
    const picked = now(), parts = modes.map((name, k) => [name, k]).filter(([, k]) => k !== picked.mode);
    for (const [name, k] of parts.slice(0, 7)) {
      const made = (tag, parent, text) => { const element = document.createElement(tag); if (text) element.textContent = text; parent.append(element); return element; };
      const pair = made("div", R.el("reward-others")), titles = picked.gauge ? [`Reward of ${name}`, `What ${name} does`] : [`What ${name} does`];
      pair.className = picked.gauge ? "pair" : "pair single";
      const holders = titles.map((title) => { const figure = made("figure", pair); made("h3", figure, title); return made("div", figure); });
      R.printOther(holders, { ...picked, mode: k });
    }
  };
};
R.moveRows = () => {
  const maps = R.facts.maps, names = R.facts.states, span = R.facts.intervals && R.facts.intervals.preference;
  const rows = [["mode", "state", "next_state", "probability", ...(span ? ["log_odds_low", "log_odds_high"] : [])]];
  R.facts.modes.forEach((mode, k) => maps.moves[k].forEach((row, s) => maps.following[s].forEach((to, j) => rows.push([mode, names[s], names[to], row[j], ...(span ? [span.low[k][s][j], span.high[k][s][j]] : [])]))));
  return rows;
};
