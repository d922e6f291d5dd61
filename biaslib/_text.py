"""Small helpers for texts: shown in one line, checked for half characters, escaped for Markdown."""

# The mask marker of every model, whatever its own token is.
MASK = "[MASK]"


def one_line(text, most=None):
    """Give a text in one line, cut to `most` characters, the last of them then an ellipsis."""
    line = " ".join(str(text).split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def lone_surrogate(text):
    """Give the first half of a character that stands alone in a text, which UTF-8 cannot hold; "" if there is none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""


def escape_markdown(text):
    """Write a text into Markdown so that it is shown as it is, whatever markup or formula it holds.

    Examples
    --------
    >>> escape_markdown("A_1 <b>")
    'A&#95;1 &#60;b&#62;'
    """
    return "".join(c if c.isalnum() or c in " .,-/" else f"&#{ord(c)};" for c in str(text))
