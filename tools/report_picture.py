"""Take the picture of a report for the documentation: ``make docs-picture`` (needs Chromium).

The report is that of ``graphfilter fit --dataset digits``, in the default setting.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

FILE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"
SIZE: ViewportSize = {"width": 1000, "height": 930}
COMMAND = ("fit", "--dataset", "digits", "--title", "Handwritten digits", "--quiet")


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
            taken = page.screenshot()
            browser.close()
    # Few colours are enough for text and bars, and keep the file small.
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(64).save(FILE, optimize=True)


if __name__ == "__main__":
    main()
