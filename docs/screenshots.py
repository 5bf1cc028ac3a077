"""The pictures of docs/explorer.md: python docs/screenshots.py FOLDER, with chromium installed."""

import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

SIZE = {"width": 1400, "height": 860}


def main(folder: Path) -> None:
    """Write report.png and explorer.png, both of the matrix that ships with taskorder."""
    command = [sys.executable, "-m", "taskorder"]
    page_file = folder / "report.html"
    subprocess.run([*command, "report", "--demo", "-o", str(page_file)], check=True)
    server = subprocess.Popen([*command, "explore", "--demo", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()  # it listens before it says where
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE)
            page.goto(page_file.absolute().as_uri())
            page.screenshot(path=folder / "report.png")
            page.goto(address)
            page.click("#optimal")
            page.get_by_text("proven").first.wait_for(timeout=60_000)
            page.get_by_text("beats").first.wait_for()
            page.wait_for_timeout(500)  # bars move to their places
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=folder / "explorer.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()
    page_file.unlink()
    for name in ("report", "explorer"):
        picture = Image.open(folder / f"{name}.png").convert("RGB")
        picture.save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
