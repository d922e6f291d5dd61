"""Tables, figures and notices of a report."""

import html
import io
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML, Image, Markdown
from matplotlib.figure import Figure

from biaslib.plots.style import DPI, figure_style

# A cell with text from right to left (Arabic) runs and begins on that side.
_EITHER_DIRECTION = "function(cell) { cell.dir = 'auto'; cell.style.textAlign = 'start'; }"


def show(figure: Figure, alt: str) -> Image:
    """Turn a figure into an image for the report, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        What the figure shows, for readers who cannot see it.

    Returns
    -------
    IPython.display.Image
        A PNG; `alt` is its alternative text and in its own metadata.

    Raises
    ------
    ValueError
        If `alt` is empty.

    Examples
    --------
    >>> show(Figure(), "An empty page").alt
    'An empty page'
    """
    from matplotlib import pyplot

    if not isinstance(alt, str) or not alt.strip():
        raise ValueError("alt is empty; say in one sentence what the figure shows")
    png = io.BytesIO()
    with figure_style():
        figure.savefig(png, format="png", dpi=DPI, metadata={"Description": alt, "Software": None})
    pyplot.close(figure)
    return Image(data=png.getvalue(), format="png", alt=alt)


def table(frame: pd.DataFrame, caption: str) -> HTML:
    """Show a frame, with all its rows, as a table that can be searched and sorted offline.

    Parameters
    ----------
    frame : pandas.DataFrame
    caption : str

    Returns
    -------
    IPython.display.HTML
        Needs `use_tables` once in the notebook.

    Raises
    ------
    ValueError
        If the caption is empty.

    Examples
    --------
    >>> "Scores" in table(pd.DataFrame({"score": [52.0]}), "Scores").data
    True
    """
    from itables import JavascriptFunction, to_html_datatable

    if not isinstance(caption, str) or not caption.strip():
        raise ValueError("caption is empty; say what the table shows")
    heading = f'<p class="table-caption"><strong>{html.escape(caption)}</strong></p>'
    if frame.empty:
        return HTML(f"{heading}<p>No rows.</p>")
    is_number = np.array([pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes])
    right, left = (np.flatnonzero(side).tolist() for side in (is_number, ~is_number))
    as_text = {"className": "dt-left", "targets": left, "createdCell": JavascriptFunction(_EITHER_DIRECTION)}
    with pd.option_context("display.float_format", "{:.4g}".format):
        drawn = to_html_datatable(
            frame,
            classes="display compact",
            columnDefs=[{"className": "dt-right", "targets": right}, as_text],
            pageLength=15,
            lengthMenu=[15, 50, 200, {"value": -1, "label": "all"}],
            connected=False,
            maxBytes=0,
            maxRows=0,
            maxColumns=0,
            showIndex=False,
            allow_html=False,
            display_logo_when_loading=False,
        )
    return HTML(f'<section aria-label="{html.escape(caption)}">{heading}{drawn}</section>')


def notice(described: Iterable[Mapping]) -> Markdown:
    """Warn of models that are only for trying out.

    Parameters
    ----------
    described : iterable of mapping
        From `biaslib.scoring.open_models`: what ``describe()`` returns.

    Returns
    -------
    IPython.display.Markdown
        Empty if there is none.

    Examples
    --------
    >>> notice([{"name": "bert-base-cased", "for_trying_out": False}]).data
    ''
    """
    trial = [model["name"] for model in described if model["for_trying_out"]]
    if not trial:
        return Markdown("")
    return Markdown(
        f"> **For trying out, not for findings.** The model `{trial[0]}` is a BERT of two layers, trained for an hour, "
        "mostly on old novels. It shows how the measure works and says nothing about the models that people use."
    )


def use_tables() -> None:
    """Let `table` work offline in this notebook and in its HTML page; plain frames stay as they are."""
    from itables import init_notebook_mode

    init_notebook_mode(all_interactive=False, connected=False)
