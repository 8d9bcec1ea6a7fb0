"""The command line of vstore: the only place that reads environment variables or the terminal.

``main`` finds and runs a command and maps errors to exit codes; ``commands`` lists the
commands, each in a module of its own under ``command_*`` that is imported when it is
used; ``context`` finds the package; ``terminal`` prints; the ``show_*`` and ``log_*``
modules render what a package holds for people.
"""
