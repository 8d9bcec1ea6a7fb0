"""Investigation replies: contracts, derivation, audit, rejections; pure rules, no I/O.

A model answers a step of an investigation with one JSON document. It states each judgement
once, in the findings; everything that follows is derived here, by the service that stores
the step and again by the verifier (spec: investigation).

=================  ==================================================================
``vocabulary``     words and bounds that both contracts share
``reply_parts``    what replies are made of: findings, the next move
``reply_v13``      a reply under ``investigation_project_v13``
``reply_v14``      a reply under ``investigation_project_v14``
``reply_schema``   JSON Schemas of replies, also without bounds that providers refuse
``contracts``      both contracts by name, with their frozen schemas
``reading``        from bytes to a JSON value
``schema_check``   every way in which a value fails a schema, in the right alternative
``rejection``      codes, and hints that hold nothing of the reply
``references``     rules on evidence ids and finding ids
``rules_v13``      what a v13 reply must be beyond its schema
``rules_v14``      what a v14 reply must be beyond its schema
``derivation``     reference sets, review effect, reason, calibration
``audit``          what changed since the last brief
``documents``      what is stored: requests, steps, attempts, briefs, the log
``normalise``      from a valid reply to the stored representation
``judgement``      all of it: a reply is accepted or refused
``state``          the fold of the log
``context``        what the model is sent, as data
``projection``     a v13 reply as v14 would have had it
``measure``        how many bytes and rejections that saves
=================  ==================================================================
"""

from __future__ import annotations

__all__: list[str] = []
