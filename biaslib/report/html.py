"""An executed notebook as one HTML page that opens anywhere, offline.

Formulas become MathML, figures are embedded, code is folded, and the headings make a table of contents. A page that
would load a script, a style sheet or a picture from a network is refused, and its policy makes the browser refuse
whatever its scripts ask for. The alternative text of a figure is the first of: ``alt`` in the output's metadata
(``Image(..., alt="…")``, ``display(figure, metadata={"alt": "…"})``), ``alt`` in the cell's metadata, a line
``#| fig-alt: …`` in the cell.
"""

import base64
import html
import itertools
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from biaslib._files import DATA, write_text
from biaslib._text import one_line

if TYPE_CHECKING:
    from nbformat import NotebookNode

_WIDGET = "application/vnd.jupyter.widget-view+json"
_PROGRESS = re.compile(r"\d+%\||\d*(it|s)/(it|s)\]|\?it/s")
_FIGURE_ALT = re.compile(r"^#\| *fig-alt: *(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_CSS_REQUEST = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])((?:https?:)?//[^'")\s]+)""", re.IGNORECASE)
_SCRIPT_REQUEST = re.compile(r"""\b(?:import|from)\s*\(?\s*['"](https?://[^'"]+)['"]""")
_MATH_CHILDREN = {
    "mfrac": 2,
    "mroot": 2,
    "msub": 2,
    "msup": 2,
    "mover": 2,
    "munder": 2,
    "msubsup": 3,
    "munderover": 3,
}
_FOLD_ON_PHONES = (
    'if (!matchMedia("(min-width: 80rem)").matches) document.querySelector("#contents details").open = false;'
)


class ReportError(ValueError):
    """A notebook cannot become a page that opens offline; one line says why."""


def to_html(
    notebook_path: str | Path,
    html_path: str | Path,
    *,
    title: str | None = None,
    failed: str | None = None,
    base: str | Path | None = None,
) -> Path:
    """Write a notebook as one HTML page that needs no network.

    Parameters
    ----------
    notebook_path : str or path
        The notebook, usually executed.
    html_path : str or path
        The file of the page, which is moved into place when complete.
    title : str, optional
        The title of the page; by default the notebook's first heading.
    failed : str, optional
        The error that ended the run, shown at the top of the page. Such a page is written even if a formula cannot be
        drawn (it is shown as typed) or something is not embedded (it is not shown).
    base : str or path, optional
        The folder to which the notebook's pictures are relative; by default its own.

    Returns
    -------
    pathlib.Path
        The file of the page.

    Raises
    ------
    ReportError
        If a formula cannot be drawn, or the page would load a script, style sheet or picture from elsewhere.

    Examples
    --------
    >>> to_html("outputs/speciesism/demo/report.ipynb", "report.html")  # doctest: +SKIP
    PosixPath('report.html')
    """
    page = render(notebook_path, title=title, failed=failed, base=base)
    write_text(html_path, page)
    return Path(html_path)


def render(
    notebook_path: str | Path,
    *,
    title: str | None = None,
    failed: str | None = None,
    base: str | Path | None = None,
) -> str:
    """Return the page that `to_html` writes as a string.

    Parameters
    ----------
    notebook_path, title, failed, base
        As for `to_html`.

    Returns
    -------
    str
        The HTML page, the same for the same notebook.

    Raises
    ------
    ReportError
        As for `to_html`.

    Examples
    --------
    >>> "<math" in render("notebooks/speciesism.ipynb")  # doctest: +SKIP
    True
    """
    import nbformat

    notebook_path = Path(notebook_path)
    folder = Path(base) if base is not None else notebook_path.parent
    return _page(nbformat.read(notebook_path, as_version=4), notebook_path, folder, title, failed)


def check_report(notebook: "NotebookNode", path: str | Path) -> None:
    """Check before a run that a notebook's text can become a report; its outputs are not looked at.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        The notebook.
    path : str or Path
        Its file, beside which its pictures lie.

    Raises
    ------
    ReportError
        If a formula cannot be drawn or a picture is missing.

    Examples
    --------
    >>> import nbformat
    >>> check_report(nbformat.v4.new_notebook(), "empty.ipynb")
    """
    text = notebook.copy()
    # Code can always be shown: to colour it would take most of the time.
    text.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    _page(text, Path(path), Path(path).parent, None, None)


def to_mathml(latex: str, *, display: str = "inline") -> str:
    r"""Convert a formula to MathML, which browsers show without a script.

    Parameters
    ----------
    latex : str
        The formula, without dollar signs.
    display : {"inline", "block"}
        Within a line of text, or on its own line.

    Returns
    -------
    str
        A ``<math>`` element.

    Raises
    ------
    ReportError
        If the formula is incomplete or has an unknown command.

    Examples
    --------
    >>> to_mathml("x < 1")
    '<math display="inline"><mrow><mi>x</mi><mo>&lt;</mo><mn>1</mn></mrow></math>'
    """
    from latex2mathml.converter import convert_to_element

    try:
        element = convert_to_element(one_line(latex), display=display)
    except Exception as error:
        raise ReportError(_undrawable(latex, f"it is not complete ({type(error).__name__})")) from None
    element.attrib.pop("xmlns")
    for part in element.iter():
        # The converter writes characters as entities, and passes on what it does not know as text.
        literal, part.text = part.text or "", html.unescape(part.text or "")
        if "\\" in part.text or literal in ("{", "}", "&"):
            raise ReportError(_undrawable(latex, f"{part.text} is not known"))
        if len(part) != _MATH_CHILDREN.get(part.tag, len(part)):
            raise ReportError(_undrawable(latex, f"a part of its {part.tag} is missing"))
    return ElementTree.tostring(element, encoding="unicode")


def _page(notebook, path, folder, title, failed):
    from nbconvert.filters.markdown_mistune import InvalidNotebook

    exporter = _exporter_class()(
        template_name="report_template",
        extra_template_basedirs=[str(DATA)],
        require_js_url="",
        mathjax_url="",
        embed_images=True,
        strict=failed is None,
    )
    resources = {"metadata": {"name": path.stem, "path": str(folder)}, "failed": failed}
    try:
        page, _ = exporter.from_notebook_node(_prepare(notebook), resources=resources)
        return _finish(page, title=title, name=path.stem, strict=failed is None)
    except (InvalidNotebook, ReportError) as error:
        raise ReportError(f"{path.name}: {error}") from None


def _undrawable(latex, why):
    return f"the formula ${one_line(latex)}$ cannot be drawn: {why}; write it in plain one-line LaTeX"


def _prepare(notebook):
    """Drop what a page cannot show (progress bars, widgets without HTML) and note the heading above each cell."""
    notebook.metadata.pop("widgets", None)
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = (_HEADING.findall(cell.source) or [heading])[-1]
        elif cell.cell_type == "code":
            cell.metadata["report_heading"] = heading
            cell.outputs = [output for output in map(_without_progress, cell.outputs) if output is not None]
    return notebook


def _without_progress(output):
    if _WIDGET in output.get("data", {}):
        del output.data[_WIDGET]
        return output if "text/html" in output.data else None
    if output.output_type == "stream" and output.name == "stderr":
        lines = re.split(r"[\r\n]+", output.text)
        output.text = "\n".join(line for line in lines if line.strip() and not _PROGRESS.search(line))
        return output if output.text else None
    return output


def _picture(output, cell, kind):
    data, metadata = output.data[kind], output.metadata
    if kind == "image/svg+xml":
        data = base64.b64encode(data.encode()).decode()
    own = metadata.get(kind, {})
    attributes = {
        "src": f"data:{kind};base64,{''.join(data.split())}",
        "alt": _alt_text(metadata, own, cell),
        "width": own.get("width"),
        "height": own.get("height"),
    }
    written = " ".join(f'{name}="{html.escape(str(v))}"' for name, v in attributes.items() if v is not None)
    return f'<div class="jp-RenderedImage jp-OutputArea-output"><img {written}></div>'


def _alt_text(metadata, own, cell):
    comment = _FIGURE_ALT.search(cell.source)
    written = own.get("alt") or metadata.get("alt") or cell.metadata.get("alt") or (comment and comment[1].strip())
    place = f" in the section {cell.metadata['report_heading']}" if cell.metadata["report_heading"] else ""
    return written or f"Figure{place}, without a description"


@cache
def _exporter_class():
    """Return the exporter; nbconvert takes a second to load, so it is loaded when first needed."""
    from jinja2 import pass_context
    from nbconvert.exporters import HTMLExporter
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath, MathInlineParser
    from traitlets import Bool

    class Inline(MathInlineParser):
        # As pandoc has it, so that "$5 and $6" stays money: no space inside the dollars, no digit after them;
        # and no backtick between them, which is code.
        SPECIFICATION = {  # noqa: RUF012
            **MathInlineParser.SPECIFICATION,
            "inline_math_tex": r"(?<![$\\])\$(?=\S)(?P<math_inline_tex>(?:\\.|[^$\\`])+)(?<!\s)\$(?![$\d])",
        }

    class Renderer(IPythonRenderer):
        strict = True

        def block_math(self, body):
            return self.draw(body, "block")

        def inline_math(self, body):
            return self.draw(body, "inline")

        def latex_environment(self, name, body):
            numbered = name.rstrip("*") == "equation"
            return self.draw(body if numbered else f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

        def draw(self, latex, display):
            try:
                return to_mathml(latex, display=display)
            except ReportError:
                if self.strict:
                    raise
                return f"<code>{html.escape(latex)}</code>"

    class Exporter(HTMLExporter):
        strict = Bool(True)

        @pass_context
        def markdown2html(self, context, source):
            renderer = Renderer(
                escape=False,
                attachments=context.get("cell", {}).get("attachments", {}),
                embed_images=self.embed_images,
                path=context["resources"]["metadata"]["path"],
            )
            renderer.strict = self.strict
            return MarkdownWithMath(renderer=renderer, inline=Inline(hard_wrap=False)).render(source)

        def default_filters(self):
            yield from super().default_filters()
            yield ("picture", _picture)

        def _create_environment(self):
            environment = super()._create_environment()
            numbers = itertools.count(1)
            # Numbered, so that the same notebook gives the same page.
            environment.globals["uuid4"] = lambda: f"output-{next(numbers)}"
            return environment

    return Exporter


def _finish(page, *, title, name, strict):
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(page, features="html.parser")
    headings = _headings(soup)
    first = next((text for level, text, _ in headings if level == 1), name)
    soup.title.string = title or first
    _fill_contents(soup, [heading for heading in headings if heading[0] in (2, 3)])
    for cell in soup.select(".jp-MarkdownCell > [tabindex]"):
        del cell["tabindex"]
    if strict:
        _refuse_requests(soup)
    return str(soup)


def _headings(soup):
    """Give every heading a unique id; return level, text and id of each."""
    found, seen = [], set()
    for anchor in soup.select("a.anchor-link"):
        anchor.decompose()
    for heading in soup.select(".jp-MarkdownOutput :is(h1, h2, h3, h4, h5, h6)"):
        text = one_line(heading.get_text())
        wanted = heading.get("id") or "-".join(text.split()) or "section"
        numbered = (f"{wanted}-{n}" for n in itertools.count(2))
        heading["id"] = next(i for i in itertools.chain([wanted], numbered) if i not in seen)
        seen.add(heading["id"])
        found.append((int(heading.name[1]), text, heading["id"]))
    return found


def _fill_contents(soup, headings):
    contents = soup.find(id="contents")
    if not headings:
        contents.decompose()
        return
    details = soup.new_tag("details", open="")
    summary = soup.new_tag("summary")
    summary.string = "Contents"
    entries = soup.new_tag("ul")
    for level, text, target in headings:
        entry = soup.new_tag("li", attrs={"class": f"level-{level}"})
        link = soup.new_tag("a", href=f"#{target}")
        link.string = text
        entry.append(link)
        entries.append(entry)
    details.extend([summary, entries])
    script = soup.new_tag("script")
    script.string = _FOLD_ON_PHONES
    contents.extend([details, script])


def _refuse_requests(soup):
    for tag in soup.find_all(True):
        asked = _request(tag)
        if asked:
            raise ReportError(
                f"the page would load {asked[:100]} (<{tag.name}>) when opened; embed it "
                "(tables: connected=False in itables; pictures: attach them or keep them beside it)"
            )


def _request(tag):
    names = ["src", "srcset", "data", "poster", "background"]
    if tag.name in ("link", "image", "use"):
        names += ["href", "xlink:href"]
    for value in (tag.get(name) for name in names):
        if value and not value.strip().lower().startswith(("data:", "blob:", "#")):
            return value.strip()
    styles = f"{tag.get('style', '')} {tag.string or ''}" if tag.name == "style" else tag.get("style", "")
    found = _CSS_REQUEST.search(styles)
    if not found and tag.name == "script":
        found = _SCRIPT_REQUEST.search(tag.string or "")
    return found and found[1]
