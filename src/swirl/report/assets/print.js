// On paper: light, all figures drawn, at the width of a page. The browser does not wait, so all of it happens at once.
// The page's own button waits until plotly is unpacked. The browser's print command cannot: in the first instant after
// opening, it prints text, tables and maps, and leaves the figures blank.
R.startPrinting = (wear) => {
  let worn = null;
  const paper = matchMedia("print"), root = document.documentElement;
  const prepare = () => {
    if (R.printing) return;
    R.printing = true;
    worn = root.dataset.theme;
    document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; part.dataset.opened = ""; });
    root.dataset.theme = "light";
    root.classList.add("printing");  // the layout of the page is not yet that of the paper
    R.drawAll(); R.redraw.forEach((draw) => draw()); R.replot();
    if (R.session) R.showTimeline(R.timelineRange());
    if (R.printRewards) R.printRewards();
  };
  const restore = () => {
    if (!R.printing || paper.matches) return;
    R.printing = false;
    root.classList.remove("printing");
    document.querySelectorAll("details[data-opened]").forEach((part) => { part.open = false; delete part.dataset.opened; });
    const others = R.el("reward-others");
    if (others) { others.querySelectorAll(".plot").forEach((div) => R.plotted.delete(div)); others.replaceChildren(); }
    wear(worn);
    if (R.session) R.showTimeline(R.timelineRange());
  };
  addEventListener("beforeprint", prepare);
  addEventListener("afterprint", restore);
  paper.addEventListener("change", () => (paper.matches ? prepare() : restore()));
  if (paper.matches) prepare();
};
