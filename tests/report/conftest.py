import json

import pytest
from made_runs import MODEL

from biaslib.report import write_results


@pytest.fixture
def write(tmp_path):
    """Write a run by hand: its scores and its manifest."""

    def write_run(run, rows, *, models=(MODEL,), version="0.1.0", **manifest):
        folder = tmp_path / run
        write_results(folder / "results", scores=rows, tables={})
        made = {"ok": True, "notebook": f"notebooks/{folder.parent.name}.ipynb", "versions": {"biaslib": version}}
        made |= {"models": list(models), "started": "2026-01-01T00:00:00+00:00", **manifest}
        (folder / "run.json").write_text(json.dumps(made))
        return folder

    write_run.root = tmp_path
    return write_run
