// The session that is looked at: unpacked when picked, handed to the timeline and the replay.
R.startSession = () => {
  const pick = R.el("session-pick"), unpacked = new Map();
  const show = () => {
    const index = +pick.value;
    if (!unpacked.has(index)) {
      const session = JSON.parse(R.gunzip(R.facts.timeline.sessions[index].packed));
      session.name = R.facts.timeline.sessions[index].name;
      session.x = session.times || session.states.map((_, t) => t);
      unpacked.clear();  // one at a time: long recordings are large
      unpacked.set(index, session);
    }
    R.session = unpacked.get(index);
    R.showTimeline("first");
    if (R.showReplay) R.showReplay();
  };
  pick.addEventListener("change", show);
  show();
};
