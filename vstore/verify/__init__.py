"""The replay verifier: recomputes every derived fact of a package from its originals.

It reads only, takes no lock, trusts no cache, and shares the pure rules with the services
that write (spec: verify). Nothing here can reach code that writes packages.

=============  ==================================================================
``findings``   what a finding is
``rules``      every kind of finding, by code
``report``     the outcome: findings, what was not checked, counts, exit code
``source``     what the verifier needs of a package: frames, refs, files
``folder``     a package directory as such a source; ``bundle``: a bundle
``objects``    all objects met so far, an object source
``decoding``   decoding any document once, with what it names
``replay``     one pass over all frames
``swift``      publications proved as a whole; ``swift_read``, ``swift_contents``,
               ``swift_documents`` and ``swift_ledger`` read and write for it, ``ahead``
               in another process
``checks``     what is checked, a module an area
``render``     reports as text and JSON
=============  ==================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vstore.verify.replay import verify_package as verify_package
    from vstore.verify.report import Report as Report

__all__ = ["Report", "verify_package"]


def __getattr__(name: str) -> Any:
    # Lazy: the command line imports this package to render errors of its own.
    if name == "verify_package":
        from vstore.verify.replay import verify_package

        return verify_package
    if name == "Report":
        from vstore.verify.report import Report

        return Report
    raise AttributeError(name)
