"""Tests that somebody else performs: documents and pure rules (spec: handoff)."""
