"""The demonstration's own page: what was true beside what was found.  It needs no library that the report needs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.io.atomic_write import write_text
from swirl.report.writing import ASSETS
from swirl.text import minus
from swirl.workflows.demo.figures import Picture
from swirl.workflows.html import Block, Markup, Prose, Section, embedded, escaped, page

HERE = Path(__file__).parent
TEXT = Prose(HERE / "text.md")
COLUMNS = {
    "test_log_likelihood": ("Score", "{:.4f}"),
    "accuracy": ("Right mode", "{:.1%}"),
    "reward_canonical": ("Reward", "{:.3f}"),
    "reward_paper": ("Reward, as fitted", "{:.3f}"),
    "seconds": ("Seconds", "{:.1f}"),
}
THEME = """document.documentElement.dataset.theme = \
matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";"""


def write_page(
    path: Path,
    rows: list[dict[str, Any]],
    n_scored: int,
    fits: Mapping[str, SWIRL],
    sentences: Mapping[str, str],
    pictures: Mapping[str, Picture],
    commands: Mapping[str, str],
    *,
    seed: int,
    found: str,
    with_report: bool,
) -> None:
    """Write the page to `path`, with the figures inside it.

    Parameters
    ----------
    rows
        Of the table, the truth's first.
    sentences
        What each model may do.
    commands
        What to try next: words → command.
    found
        Which of S-2's modes is which.
    with_report
        Whether report.html stands beside it.
    """
    truth, s2 = rows[0], next(row for row in rows if row["model"] == "S-2")
    tiles = [
        _tile(s2, "accuracy", "{:.1%}", "of steps in the right mode"),
        _tile(truth, "accuracy", "{:.1%}", "with the true model"),
        _tile(s2, "reward_canonical", "{:.2f}", "correlation with the true reward"),
    ]
    found = escaped(found) + (" " + TEXT("report") if with_report else "")
    summary = f'<p class="lead">{TEXT("summary")}</p>{_list("ul", "tiles", tiles).html}<p>{found}</p>'
    models = (f"<dt>{n}</dt><dd>{escaped(_sentence(sentences[n]))}</dd>" for n in fits)

    def figure(name: str, caption: str) -> list[Block]:
        return [_figure(pictures[name], caption)] if name in pictures else []

    scores = [TEXT.text("scores", "lead"), *_table(rows, n_scored), *figure("scores", TEXT("scores, figure"))]
    rewards = [TEXT.text("rewards", "lead"), *figure("rewards", TEXT("rewards, figure"))]
    segments = [TEXT.text("segments", "lead"), *figure("segments", TEXT("segments, figure"))]
    switching = [TEXT.text("switching", "lead"), *figure("switching", TEXT("switching, figure"))]
    endings = (f"<li><strong>{n}</strong>: {escaped(minus(model.fit_report_))}</li>" for n, model in fits.items())
    steps = (f"<li>{escaped(words)}<pre>{_wrapped(command)}</pre></li>" for words, command in commands.items())
    sections = [
        Section("Summary", [Markup(summary), TEXT.text("simulated", seed=seed)], name="summary"),
        Section("The models", [TEXT.text("models", "lead"), _list("dl", "models", models)], name="models"),
        Section("How close did each model come?", scores, "Scores", "scores"),
        Section("What did it want?", rewards, "Rewards", "rewards"),
        Section("When did it change its mind?", segments, "When it switched", "segments"),
        Section("Where did it change its mind?", switching, "Where it switched", "switching"),
        Section("How the fits ended", [_list("ul", "plain", endings)], "The fits", "fits"),
        Section("What next", [TEXT.text("next", "lead"), _list("ul", "next", steps)], name="next"),
    ]
    made_with = ", ".join(f"{name} {number}" for name, number in versions().items())
    text = page(
        "What was true, and what was found",
        sections,
        footer=f"Made with {made_with}.",
        brand=Markup('<p class="brand">swirl<span> demo</span></p>'),
        style="".join((folder / "style.css").read_text(encoding="utf-8") for folder in (ASSETS, HERE)),
        script=THEME,
    )
    write_text(path, text, overwrite=True)


def _list(tag: str, kind: str, items: Iterable[str]) -> Markup:
    return Markup(f'<{tag} class="{kind}">{"".join(items)}</{tag}>')


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _wrapped(command: str) -> str:
    """Where the screen is narrow, lines break between the words of a command only: not after the hyphens of an option.

    >>> _wrapped("swirl fit --modes 3")
    '<span>swirl</span> <span>fit</span> <span>--modes</span> <span>3</span>'
    """
    return " ".join(f"<span>{escaped(word)}</span>" for word in command.split(" "))


def _tile(row: dict[str, Any], key: str, form: str, label: str) -> str:
    return f"<li><b>{_number(row[key], form)}</b><span>{label}</span></li>"


def _number(value: float | None, form: str) -> str:
    return "—" if value is None else minus(form.format(value)).replace("%", " %")


def _table(rows: list[dict[str, Any]], n_scored: int) -> list[Block]:
    best = max(rows[1:], key=lambda row: row["test_log_likelihood"])["model"]
    head = "".join(f'<th scope="col">{title}</th>' for title, _ in COLUMNS.values())
    body = ""
    for row in rows:
        kind = "truth" if row["model"] == "truth" else "best" if row["model"] == best else ""
        cells = "".join(f"<td>{_number(row[key], form)}</td>" for key, (_, form) in COLUMNS.items())
        body += f'<tr class="{kind}"><th scope="row">{row["model"]}</th>{cells}</tr>'
    table = (
        f'<div class="table"><table class="scores"><thead><tr><th scope="col">Model</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    return [Markup(table), TEXT.text("scores, table", "small", n_scored=n_scored)]


def _figure(picture: Picture, caption: str) -> Markup:
    wide, narrow = embedded(picture.file.read_bytes()), embedded(picture.narrow)
    text = escaped(caption)
    return Markup(
        f'<figure><picture class="card"><source media="(max-width: 46rem)" srcset="{narrow}">'
        f'<img alt="{text}" src="{wide}" style="max-width: {110 * picture.width:.0f}px"></picture>'
        f"<figcaption>{text}</figcaption></figure>"
    )
