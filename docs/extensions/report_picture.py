"""The picture of a report for the README: the verdict, the modes and the maps of one of them (`make picture`).

What is between them in the page is left out of the picture; nothing else is changed.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH = 1280
LEFT_OUT = """
nav, main > section:not(#summary):not(#rewards), #summary > :not(h2, .verdict, .tiles, .share-bar, .mode-cards),
#rewards > :not(h2, .lead, .pair), .tools { display: none !important; }
"""


def picture(report: Path, target: Path) -> None:
    """Save the top of a report, down to its first pair of maps."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = running.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        page.add_style_tag(content=LEFT_OUT)
        page.wait_for_timeout(500)
        pair, head = page.locator("#rewards .pair").bounding_box(), page.locator("main").bounding_box()
        if pair is None or head is None:
            raise ValueError(f"{report} has no maps of rewards: give the report of swirl demo")
        height = pair["y"] + pair["height"] + 16
        page.set_viewport_size({"width": WIDTH, "height": int(height)})
        clip = {"x": head["x"], "y": 0, "width": head["width"], "height": height}
        page.screenshot(path=target, clip=clip)
        running.close()


if __name__ == "__main__":
    picture(Path(sys.argv[1]), Path(sys.argv[2]))
