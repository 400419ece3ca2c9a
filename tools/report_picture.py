"""Take the pictures of a report for the documentation: ``make docs-picture`` (needs Chromium).

The report is that of ``graphfilter fit --dataset digits``, in the default setting. ``report.png``
is the top of the page; ``report-wide.png``, for the README, has beside it what the graph needed and
the filter.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE: ViewportSize = {"width": 1000, "height": 890}
COMMAND = ("fit", "--dataset", "digits", "--set", "title=Handwritten digits", "--quiet")
WIDTH, GAP = 1700, 24


def shot(page: Page, place: str | None = None) -> Image.Image:
    """Return what is in the window, or one element of the page."""
    taken = page.screenshot() if place is None else page.locator(place).first.screenshot()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def side_by_side(left: Image.Image, right: list[Image.Image]) -> Image.Image:
    """Return the first picture with the others below each other at its right, as high as it."""
    height = sum(each.height for each in right) + GAP * (len(right) - 1)
    width = max(each.width for each in right)
    scale = left.height / height
    whole = Image.new("RGB", (left.width + GAP + round(scale * width), left.height), "white")
    whole.paste(left)
    top = 0.0
    for each in right:
        size = (round(scale * each.width), round(scale * each.height))
        whole.paste(each.resize(size, Image.Resampling.LANCZOS), (left.width + GAP, round(top)))
        top += scale * (each.height + GAP)
    if whole.width <= WIDTH:
        return whole
    return whole.resize(
        (WIDTH, round(WIDTH * whole.height / whole.width)), Image.Resampling.LANCZOS
    )


def save(picture: Image.Image, name: str) -> None:
    """Write a picture; few colours are enough for text and bars, and keep the file small."""
    picture.quantize(64).save(IMAGES / name, optimize=True)


def main() -> None:
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        subprocess.run([sys.executable, "-m", "graphfilter", *COMMAND, "--out", run], check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport=SIZE)
            page.goto((run / "report.html").as_uri())
            page.wait_for_selector("#filter-plot .main-svg")
            top = shot(page)
            parts = [shot(page, "#needs"), shot(page, "#filter figure")]
            browser.close()
    save(top, "report.png")
    save(side_by_side(top, parts), "report-wide.png")


if __name__ == "__main__":
    main()
