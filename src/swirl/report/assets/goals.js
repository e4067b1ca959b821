// The goals on a map, each in the colour of its mode.
R.startGoals = () => {
  const goals = R.facts.goals, maps = R.facts.maps, names = R.facts.states;
  if (!goals || !R.el("goals-map")) return;
  const map = new R.Map(R.el("goals-map"), { ...maps, texts: goals.map((goal) => goal.name) }, "The goals");
  const at = (s) => goals.filter((goal) => goal.states.includes(s)), called = new Map(goals.map((goal) => [goal.states[0], goal.name]));
  const draw = () => {
    map.paint(null);
    for (const goal of goals) for (const s of goal.states) map.states[s].setAttribute("fill", R.facts.colours[goal.mode]);
    if (maps.kind !== "grid") map.ring(goals.flatMap((goal) => goal.states));  // a coloured cell is seen without
    map.name([...called.keys()], (s) => called.get(s));
    map.says = (s) => [names[s], ...at(s).map((goal) => `goal of ${R.facts.modes[goal.mode]}`)].join("\n");
  };
  R.registerMap("goals-map", map, () => [["goal", "state"], ...goals.flatMap((goal) => goal.states.map((s) => [R.facts.modes[goal.mode], names[s]]))]);
  R.redraw.push(draw);
  draw();
};
