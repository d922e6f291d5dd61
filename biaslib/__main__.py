"""``python -m biaslib``: the command line, also for ``accelerate launch -m biaslib``."""

import sys

from biaslib.cli import main

if __name__ == "__main__":
    sys.exit(main())
