"""The command line of vstore: the only place that reads environment variables or the terminal.

``main`` runs a command, which ``plain`` reads from the command line or else click's ``group``;
``failures`` maps errors to exit codes; ``commands`` lists the commands, each in a module of its
own under ``command_*`` that is imported when it is used; ``session`` finds the package;
``terminal`` prints; the ``show_*`` and ``log_*`` modules render what a package holds for people.
"""
