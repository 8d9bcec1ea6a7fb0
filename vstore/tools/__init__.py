"""What an investigation may ask: snapshots, their capture, and deterministic queries.

===================  ================================================================
``values``           typed values of database cells
``items``            what a query returns: lines, files, rows, schema descriptors
``request``          what was asked: queries with contracts and limits
``reply``            what was answered: envelope and results
``database_content`` documents of a database snapshot
``adapter``          the protocol of an adapter
``router``           dispatch of a request to adapters
``source_adapter``   ``source-snapshot/1``: source.list, source.search, source.read
``database_adapter`` ``database-snapshot/1``: database.schema, database.rows
``source_*``         patterns, matching, paths, the index of words behind it
``archive_*``        reading hostile zips and tars
``capture_*``        pinning sources and databases into a package
===================  ================================================================
"""
