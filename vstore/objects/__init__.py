"""Content-addressed storage: everything below the notion of a case.

========================  ==========================================================
``ids``                   object ids and digests
``plain_json``            plain values of canonical JSON (RFC 8785 subset), strict reading
``canonical``             the same for documents, which have a type
``document``              the base of every document type, and their registry
``text``                  text that may not be UTF-8
``display``               untrusted text made safe to show
``tree``                  folders
``memory``                objects in memory, and the protocols of a source and a sink
``merkle``                RFC 6962 tree hashes and proofs
``durable``               the only module that does durable I/O
``index_cache``           a derived index of the log under ``cache/``
``layout``                names of files, and the VSTORE file
``frame_table``           what a reader holds of a frame
``frame`` ``segment``     the envelopes of a publication and of a log segment
``segment_files``         the files of the log; ``damage`` says what is wrong with them
``frame_walk``            frames forwards and backwards, checked
``log`` ``log_writer``    the append-only log of frames: reading, appending
``large`` ``large_writer``  objects kept in files of their own: reading, writing
``refs``                  named object ids, a checked projection of the log
``locks``                 locks between processes
``forked``                a second process that reads ahead, and the rows that it sends
``reader`` ``writer``     the object store of one package: reading, writing
``transaction``           objects on their way into a package
========================  ==========================================================
"""
