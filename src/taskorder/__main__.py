"""`python -m taskorder` is the command line."""

import sys

from taskorder.cli import main

if __name__ == "__main__":
    sys.exit(main())
