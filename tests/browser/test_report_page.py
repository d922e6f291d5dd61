"""A finished report in a browser without a network: figures, formulas, tables, contents."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from biaslib.runs import run

CELLS = [
    new_markdown_cell("# Bias of $x_1$\n\nIt costs \\$5."),
    new_code_cell('results_dir: str = "results"  # where tables go', metadata={"tags": ["parameters"]}),
    new_markdown_cell("## Method\n\n$$\\bar{p}(w) = \\frac{1}{n}\\sum_{i=1}^{n} p_i(w)$$"),
    new_markdown_cell("## Results"),
    new_code_cell("#| fig-alt: A rising line\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"),
    new_code_cell(
        "import itables\nimport pandas as pd\n"
        "itables.init_notebook_mode(all_interactive=False, connected=False)\n"
        "frame = pd.DataFrame({'word': [f'word{i}' for i in range(3000)], 'score': range(3000)})\n"
        "itables.show(frame, maxBytes=0)"
    ),
    new_code_cell("from tqdm.auto import tqdm\nfor _ in tqdm(range(3)):\n    pass"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    notebook = new_notebook(cells=CELLS)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "paper.ipynb")
    done = run(folder / "paper.ipynb", out=folder / "outputs", params={})
    assert done.ok, done.error
    return done.html


def test_figure_formulas_and_table_are_all_there(report, open_page):
    page = open_page(report)
    page.wait_for_selector(".dt-container")
    assert page.title() == "Bias of x1"
    picture = page.locator("img[alt='A rising line']")
    assert picture.evaluate("image => image.naturalWidth") > 100
    assert page.locator("math").count() == 2
    assert page.locator("math[display=block] mfrac").bounding_box()["height"] > 20
    assert "$5" in page.locator("p", has_text="It costs").inner_text()
    assert "of 3,000 entries" in page.locator(".dt-info").inner_text()
    assert page.locator("text=0%").count() == 0
    assert report.stat().st_size < 5_000_000


def test_table_is_searched_and_sorted(report, open_page):
    page = open_page(report)
    search = page.locator(".dt-search input")
    search.fill("word2999")
    page.wait_for_function("document.querySelectorAll('.dt-container tbody tr').length == 1")
    assert page.locator(".dt-container tbody").inner_text().split() == ["word2999", "2999"]
    search.fill("")
    for order in ("ascending", "descending"):
        page.locator(".dt-container th", has_text="score").get_by_role("button").click()
        page.wait_for_selector(f".dt-container th[aria-sort={order}]")
    page.wait_for_function("document.querySelector('.dt-container tbody tr').innerText.includes('2999')")


def test_code_is_folded_and_opens_by_keyboard(report, open_page):
    page = open_page(report)
    code = page.locator("details.code", has_text="itables.show")
    assert not code.locator("pre").is_visible()
    code.locator("summary").focus()
    page.keyboard.press("Enter")
    assert code.locator("pre").is_visible()


def test_contents_lead_to_the_sections_by_keyboard(report, open_page):
    page = open_page(report, viewport={"width": 1400, "height": 600})
    assert page.locator("#contents a").all_inner_texts() == ["Method", "Results"]
    page.locator("#contents a", has_text="Results").focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#Results")
    assert page.locator("h2#Results").bounding_box()["y"] < 100


def test_a_phone_shows_everything_within_its_width(report, open_page):
    page = open_page(report, viewport={"width": 360, "height": 700})
    page.wait_for_selector(".dt-container")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert not page.locator("#contents a").first.is_visible()
    page.locator("#contents summary").click()
    assert page.locator("#contents a").first.is_visible()


def test_print_leaves_out_contents_and_code(report, open_page):
    page = open_page(report)
    page.emulate_media(media="print")
    assert not page.locator("#contents").is_visible()
    assert not page.locator("details.code").first.is_visible()
    assert page.locator("img[alt='A rising line']").is_visible()


def test_a_page_is_kept_from_the_network_by_the_browser_too(report, chromium, tmp_path):
    script = "<script>fetch('http://127.0.0.1:9/x').catch(() => { document.title = 'refused'; })</script></body>"
    (tmp_path / "page.html").write_text(report.read_text().replace("</body>", script))
    page = chromium.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("document.title == 'refused'")
    assert not [url for url in asked if url.startswith("http")]
    page.close()
