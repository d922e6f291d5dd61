import pytest

pytestmark = pytest.mark.browser


def test_the_demo_report_opens_offline_with_figures_and_search(demo_run, open_page):
    page = open_page(demo_run("speciesism").html)
    figures = page.locator("main img")
    assert figures.count() >= 4
    for figure in figures.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth > 300")
        assert len(figure.get_attribute("alt")) > 20
    table = page.locator("section[aria-label^='Top 5 words for each name']")
    table.locator("input[type=search]").fill("chicken")
    page.wait_for_function("document.body.innerText.includes('of 10 entries (filtered from 460 total entries)')")
    assert page.locator("math").count() >= 4
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")
