"""Columns of the frames that measures take and add to."""

from biaslib._checks import check_columns, listed


def grouping_columns(frame, columns):
    """Return the columns to group a frame by, with ``model`` as the first if the frame has it."""
    check_columns(frame, columns)
    return ["model", *columns] if "model" in frame else list(columns)


def check_absent(frame, columns):
    """Raise ValueError if a frame already has one of the columns that a measure adds."""
    present = [column for column in columns if column in frame]
    if present:
        raise ValueError(f"the frame already has the columns {listed(present)}; drop or rename them")
