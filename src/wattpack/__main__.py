"""`python -m wattpack`."""

from wattpack.cli import main

main()
