"""vstore: git for investigation evidence.

Packages, high to low: ``web`` (the testers' page), ``controller`` (services that write),
``verify`` (the replay verifier), ``evidence`` and ``budget`` (documents and pure rules),
``tools`` (snapshots and queries), ``package`` (cases and generations), ``objects``
(content-addressed storage), ``errors``.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
