"""Tools for tests of vstore, and of programs that use it.

==============  ===================================================================
``faults``      durable I/O that records, fails, or kills its process at any operation
``crashes``     every state that a power cut may leave, from a recorded trace
``store``       a history over an object store, and the checks of a recovered one
==============  ===================================================================
"""
