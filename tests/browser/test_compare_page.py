import shutil

import pytest

from biaslib.cli import main

pytestmark = pytest.mark.browser


def test_the_report_opens_offline_and_leads_to_the_reports(demo_run, open_page, tmp_path):
    # The same run under a second name makes a table of more than one page, which has a search.
    for notebook, name in (("unmasked", "demo"), ("unmasked", "again"), ("mbe", "demo")):
        shutil.copytree(demo_run(notebook).folder, tmp_path / notebook / name)
    assert main(["compare", str(tmp_path)]) == 0
    page = open_page(tmp_path / "compare" / "all" / "report.html")
    figures = page.locator("main img")
    assert figures.count() == 2
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    table = page.locator("section[aria-label^='All scores']")
    table.locator("input[type=search]").fill("rank_biserial")
    page.wait_for_function("document.body.innerText.includes('of 14 entries (filtered from 29 total entries)')")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
    page.locator("a", has_text="unmasked/demo").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/unmasked/demo/report.html")
    assert page.title().startswith("UnMASKed")
