"""Evidence: documents and pure rules, without I/O (spec: evidence).

===============  ======================================================================
``documents``    records, contents, indices
``content``      from a tool's answer to a content and back: sort, group, ungroup
``atoms``        the digest of a located item
``novelty``      which atoms of a content are new, and the score
``index``        the cumulative index: the state it stands for, the next one
``limits``       what a package may hold, as operational settings
===============  ======================================================================
"""
