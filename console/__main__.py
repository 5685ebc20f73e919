"""`python -m console`."""

from __future__ import annotations

import sys

from console.cli import main

if __name__ == "__main__":
    sys.exit(main())
