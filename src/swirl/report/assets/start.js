// In order: what needs no plotly at once, then plotly is unpacked, then the rest.
(async () => {
  const theme = R.el("theme");
  const wear = (name) => {
    document.documentElement.dataset.theme = name;
    theme.setAttribute("aria-pressed", String(name === "dark"));
    R.redraw.forEach((draw) => draw());
    R.replot();
  };
  theme.setAttribute("aria-pressed", String(R.dark()));
  theme.addEventListener("click", () => wear(R.dark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => wear(event.matches ? "dark" : "light"));
  R.el("print").addEventListener("click", () => window.print());
  R.el("methods-copy").addEventListener("click", async () => {
    const text = [...R.el("methods-text").querySelectorAll("p")].map((p) => p.textContent.trim()).join("\n\n");
    try { await navigator.clipboard.writeText(text); } catch {  // pages opened from a disk may not have a clipboard
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    R.el("methods-copied").textContent = "Copied.";
  });
  const links = new Map([...document.querySelectorAll("#contents a")].map((link) => [link.hash.slice(1), link]));
  const reading = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      links.forEach((link) => link.removeAttribute("aria-current"));
      if (links.has(entry.target.id)) links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("section").forEach((section) => reading.observe(section));
  R.startTimeline(); R.startReplay(); R.startRewards(); R.startSwitching();
  try {
    const code = await R.unpack(R.el("plotly").textContent), script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
    R.el("plotly").remove();
  } catch { R.trouble("This browser is too old for the figures (it cannot unpack them); the text, tables and maps are here. Firefox 113, Chrome 80 or Safari 16.4 will do."); return; }
  R.replot();
  R.startFigures();
  await R.startSession();
  R.listenTimeline();
  // On paper: light, all figures drawn, at the width of a page.
  let worn = null;
  addEventListener("beforeprint", () => {
    worn = document.documentElement.dataset.theme;
    document.querySelectorAll("details").forEach((part) => { part.open = true; });
    document.documentElement.dataset.theme = "light";
    document.documentElement.classList.add("printing");  // the layout of the page is not yet that of the paper
    R.printing = true;
    R.drawAll(); R.redraw.forEach((draw) => draw()); R.replot();
    if (R.printRewards) R.printRewards();
  });
  addEventListener("afterprint", () => {
    R.printing = false;
    document.documentElement.classList.remove("printing");
    const others = R.el("reward-others");
    if (others) { others.querySelectorAll(".plot").forEach((div) => R.plotted.delete(div)); others.replaceChildren(); }
    if (worn) wear(worn);
  });
  document.documentElement.dataset.ready = "yes";
})();
