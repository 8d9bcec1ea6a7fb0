"""Budget: documents and pure rules, integers only, no clocks (spec: budget).

=============  ========================================================================
``documents``  policy, ledger entries and their events
``policy``     loading and checking a policy
``commands``   what a caller asks, before it becomes an event
``facts``      what the rules must be told of the rest of the package
``effects``    what each command on an action does, one function each
``revisions``  what opening and ending the accounts of a revision does
``ledger``     from a command to its event and entry; repeats and batches
``replay``     folding stored entries: to judge them, or to continue from them
``state``      the accounts so far, and taking an event in
``tables``     what the rules ask of maps and sets that caches may stand in for
=============  ========================================================================
"""
