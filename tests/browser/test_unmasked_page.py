import pytest

pytestmark = pytest.mark.browser


def test_the_demo_report_opens_offline_with_figures_and_search(demo_run, open_page):
    page = open_page(demo_run("unmasked").html)
    figures = page.locator("main img")
    assert figures.count() >= 4
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    table = page.locator("section[aria-label='Job prompts']")
    table.locator("input[type=search]").fill("comet")
    page.wait_for_function("document.body.innerText.includes('of 1 entry (filtered from 700 total entries)')")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
