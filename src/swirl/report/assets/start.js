// In order: what needs nothing unpacked, then the first session, then plotly and all that it draws.
{
  const theme = R.el("theme"), say = () => { R.el("theme-word").textContent = R.dark() ? "Light" : "Dark"; };
  const wear = (name) => {
    document.documentElement.dataset.theme = name;
    say();
    R.redraw.forEach((draw) => draw());
    R.replot();
  };
  say();
  theme.addEventListener("click", () => wear(R.dark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => wear(event.matches ? "dark" : "light"));
  R.el("print").addEventListener("click", () => R.ready.then(() => window.print()));
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
  R.startTables(); R.startRewards(); R.startGoals(); R.startSwitching();
  R.ready = (async () => {
    await R.startSession();
    const script = document.createElement("script");
    script.textContent = await R.unpack(R.el("plotly").textContent);
    document.head.append(script);
    R.el("plotly").remove();
    R.replot(); R.startFigures(); R.listenTimeline();
    document.documentElement.dataset.ready = "yes";
  })().catch((error) => R.trouble(`The figures could not be drawn (${error.message}). They need a browser of 2023 or later; the text, tables and maps are here.`));
  R.startPrinting(wear);
}
