"""``python -m graphfilter`` is the command ``graphfilter``."""

from graphfilter.cli import main

main()
