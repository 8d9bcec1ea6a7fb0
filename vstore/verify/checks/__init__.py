"""What is checked, a module an area of the spec's table.

A check takes what the pass over the log gives it, reports findings, and never raises for
what a package holds.
"""
