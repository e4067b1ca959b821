// The session that is looked at: unpacked when picked, handed to the timeline and the replay, which begin with the first.
R.startSession = () => {
  const pick = R.el("session-pick");
  const read = async (index) => {
    const { name, packed } = R.facts.timeline.sessions[index], session = JSON.parse(await R.unpack(packed));
    return { ...session, name, x: session.times || session.states.map((_, t) => t) };
  };
  const show = async () => {
    let index, session;
    do { index = pick.value; session = await read(index); } while (index !== pick.value);  // another was picked meanwhile
    const first = !R.session;
    R.session = session;  // one at a time: long recordings are large
    if (first) { R.startTimeline(); R.startReplay(); }
    R.showTimeline("first");
    if (R.showReplay) R.showReplay();
  };
  pick.addEventListener("change", show);
  return show();
};
