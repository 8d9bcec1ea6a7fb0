"""``python -m vstore_cli`` is the ``vstore`` command."""

from vstore_cli.main import main

main()
