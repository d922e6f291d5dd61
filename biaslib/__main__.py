"""``python -m biaslib``, the same as the command ``biaslib``."""

import sys

from biaslib.cli import main

if __name__ == "__main__":
    sys.exit(main())
