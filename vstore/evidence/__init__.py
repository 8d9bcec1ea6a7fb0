"""Evidence: documents and pure rules, without I/O (spec: evidence).

=================  ====================================================================
``documents``      contents; ``index_documents``: records and indices
``content``        from a tool's answer to a content and back: sort, group, ungroup
``content_check``  whether a stored content is in its normal form
``ordering``       the one order of items
``atoms``          the digest of a located item
``novelty``        which atoms of a content are new, and the score
``payload``        what makes a repeated operation recognisable
``state``          what a case has gathered so far, and taking a publication in
``index``          the records and the index of the next publication
``limits``         what a package may hold, as operational settings
``record_id``      E000001 and its number
``membership``     what the rules ask of sets and maps that caches may stand in for
=================  ====================================================================
"""
