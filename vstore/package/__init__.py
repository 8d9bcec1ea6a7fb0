"""Cases, packages and their generations: what a package is, apart from what is in it.

=================  ==================================================================
``documents``      generations, events, snapshot descriptors, hypotheses
``lifecycle``      the one table of states and transitions
``pinned``         a generation pinned for reading
``repository``     one package: reading its generations, publishing the next one
``workspace``      a folder of packages, one per case; locks
``inputs``         raw input
=================  ==================================================================
"""
