"""Budget: documents and pure rules, integers only, no clocks (spec: budget).

=============  ========================================================================
``documents``  policy, ledger entries and their events
``policy``     loading and checking a policy
``ledger``     the state of all accounts and the fold of events into it
=============  ========================================================================
"""
