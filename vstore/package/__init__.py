"""Cases, packages and their generations: what a package is, apart from what is in it.

=================  ==================================================================
``documents``      generations, events, snapshot descriptors, hypotheses
``lifecycle``      the one table of states and events; ``lifecycle_page`` renders it
``succession``     how a generation follows its parent; ``change``: making the next one
``pinned``         a generation pinned for reading
``reader``         reading a package: history, names (``naming``), refs
                   (``refs_policy``), unclaimed files (``unclaimed``)
``health``         what a crash left, what lags, who holds a lock, what takes space
``tree_builder``   trees from paths in any order; ``folder``: a folder on disk, without
                   what ``exclude`` leaves out
``assembler``      the raw input identity, and undeclared files that would change it
``inputs``         raw input; ``hypotheses``: reading what was stated
``history``        the Merkle tree over the generations
``repository``     one package, for writing: publishing the next generation
``bundle_writer``  writing a bundle (``bundle_plan``: what goes in, ``survey``: one frame,
                   ``survey_ahead``: in a second process, ``reachable``: what a
                   generation leads to); ``bundle_unpack``: a package of one
``bundle_reader``  a package in a bundle, read in place: ``bundle_file``, its bytes
                   (``bundle_layout``), names (``bundle_names``), log (``bundle_log``) and
                   claims (``bundle_needs``)
``transfer``       generations that another copy of a package went on to
``case``           what a person does to a case, each one publication
``workspace``      a folder of packages, one per case
``options``        what a writer can be told; ``limits``, ``clock``
=================  ==================================================================

Reading needs nothing that writes: ``repository``, ``case`` and ``workspace`` are loaded when
one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vstore.package.case import Case
    from vstore.package.pinned import PinnedPackage
    from vstore.package.reader import PackageReader
    from vstore.package.repository import Repository
    from vstore.package.workspace import Workspace

__all__ = ["Case", "PackageReader", "PinnedPackage", "Repository", "Workspace"]

_MODULES = {
    "Case": "case",
    "PackageReader": "reader",
    "PinnedPackage": "pinned",
    "Repository": "repository",
    "Workspace": "workspace",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)
