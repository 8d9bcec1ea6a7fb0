"""Taking packages in from elsewhere: verify in quarantine, then install or fast-forward.

==============  ======================================================================
``admit``       :func:`admit`: one bundle into a workspace, or a refusal that says why
``quarantine``  where a bundle lies while it is judged, under a lock of its own
``claims``      locks of a workspace: one admission, one worker a case
``inbox``       bundles dropped into a directory, each claimed by one worker
``worker``      :class:`InboxWorker`: admits what comes in, hands out runnable cases
==============  ======================================================================

Nothing that is there is ever overwritten: a history that diverged is refused with the last
generation that both have (spec: lifecycle, "Workspace, admission, worker").
"""

from __future__ import annotations

from vstore.admission.admit import Admission, NotVerified, Unverifiable, admit
from vstore.admission.worker import InboxWorker, PassSummary

__all__ = ["Admission", "InboxWorker", "NotVerified", "PassSummary", "Unverifiable", "admit"]
