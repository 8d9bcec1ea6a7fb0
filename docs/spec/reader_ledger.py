"""The budget for the independent reader: the fold of the ledger's events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
Report = Callable[[str, str, str], None]


class Refused(Exception):
    """The rules don't allow an event."""


class Absent(Refused):
    """What an event refers to isn't known."""


def demand(condition: bool, message: str) -> None:
    """Refuse an event unless a condition holds."""
    if not condition:
        raise Refused(message)


class Ledger:
    """Folds the ledger of a case.

    Args:
        lookup: Gives a document by object id and schema, None where it can't be had.
        recorded: Whether an action of a revision has an evidence record.
        submitted: Whether a test was handed out for it.
        facts: Gives what is known of an evidence record by its object id.
        evidence_ended: Whether the evidence could not be followed to here.
        report: Takes findings.
    """

    def __init__(
        self,
        lookup: Callable[[str, str], Document | None],
        recorded: Callable[[int, str], bool],
        submitted: Callable[[int, str], bool],
        facts: Callable[[str], Document | None],
        evidence_ended: Callable[[], bool],
        report: Report,
    ) -> None:
        self._lookup = lookup
        self._recorded = recorded
        self._submitted = submitted
        self._facts = facts
        self._evidence_ended = evidence_ended
        self._report = report
        self.head: str | None = None
        self.ended = False
        self.sequence = 0
        self.revision = 0
        self._policy_id: str | None = None
        self._policy: Document = {}
        self._cap = self._max_revisions = self._granted = 0
        #: Accounts of the revision by hypothesis, and whether they are open.
        self.accounts: dict[str, Document] = {}
        self.open = False
        self._actions: dict[str, Document] = {}
        self._keys: set[tuple[int, str, str]] = set()
        self._refs: set[str] = set()
        self._identity: tuple[str, str] = ("", "")

    def reserved(self, revision: int, hypothesis: str, action: str, operation: str) -> bool | None:
        """Whether an action is reserved and has no record; None where that isn't known."""
        if self.ended:
            return None
        found = self._actions.get(action) if revision == self.revision else None
        return (
            found is not None
            and (found["hypothesis_id"], found["operation"]) == (hypothesis, operation)
            and not found["recorded"]
        )

    def step(self, child: Document, kinds: list[str], moved: bool) -> None:
        """Take in the entries that a generation adds; ``moved``: it must not add any."""
        if self.ended:
            return
        if not self._identity[0]:
            self._identity = (child["case_id"], child["package_id"])
        head = child["artifacts"].get("budget_ledger")
        if head != self.head:
            chain = self._chain(head)
            if chain is None:
                self.ended = True
                return
            said = {kind[7:] for kind in kinds if kind.startswith("budget.")}
            said |= {"reopen" for kind in kinds if kind.startswith("reopen.")}
            if not moved and said != {entry["event"]["command"] for _, entry in chain}:
                self._report("history", "error", "events say something else than the ledger")
            for oid, entry in chain:
                if not self._take(oid, entry, child):
                    self.ended = True
                    return
        if child["artifacts"].get("budget_policy") != self._policy_id:
            self._report("ledger", "error", "another policy than the accounts were opened with")

    def _chain(self, head: str | None) -> list[tuple[str, Document]] | None:
        chain: list[tuple[str, Document]] = []
        while head is not None and head != self.head:
            entry = self._lookup(head, "budget-ledger-v1")
            if entry is None:
                return None
            chain.append((head, entry))
            if entry["sequence"] <= self.sequence:
                break
            head = entry["parent"]
        if head != self.head:
            self._report("ledger", "error", "the ledger doesn't continue the one before")
            return None
        return chain[::-1]

    def _take(self, oid: str, entry: Document, child: Document) -> bool:
        if entry["rules"] != "budget/1":
            self._report("verifier", "unsupported", f"{oid}: unknown rules")
            return False
        event = entry["event"]
        opens = event["command"] == "initialise"
        revision = child["analysis_revision"] if opens else max(self.revision, 1)
        key = (revision, event["command"], event.get("action_id", ""))
        try:
            demand(key not in self._keys, "the command was carried out before")
            demand(opens or self.open, "no open accounts")
            expected, touched = self._event(event, revision, child)
        except Refused as error:
            if isinstance(error, Absent) and self._evidence_ended():
                return False
            self._report("ledger", "error", f"entry {self.sequence + 1}: {error}")
            return False
        self._keys.add(key)
        self.sequence += 1
        wanted = {
            "schema": "budget-ledger-v1",
            "case_id": self._identity[0],
            "package_id": self._identity[1],
            "analysis_revision": revision,
            "parent": self.head,
            "sequence": self.sequence,
            "rules": "budget/1",
            "event": {**event, **expected},
            "accounts": [{"hypothesis_id": name, **self.accounts[name]} for name in touched],
        }
        for member, value in wanted.items():
            if entry[member] != value:
                self._report("ledger", "error", f"entry {self.sequence}: wrong {member}")
        self.head = oid
        return True

    def _event(self, event: Document, revision: int, child: Document) -> tuple[Document, list[str]]:
        """The derived members of an event and the accounts that it touches."""
        command = event["command"]
        if command == "initialise":
            return self._initialise(event, revision, child)
        if command == "reopen":
            return self._reopen()
        name, action_id = event["hypothesis_id"], event["action_id"]
        demand(name in self.accounts, "no such hypothesis")
        account = self.accounts[name]
        if command == "reserve":
            return self._reserve(event, account), [name]
        action = self._actions.get(action_id)
        demand(action is not None and action["hypothesis_id"] == name, "the action isn't open")
        assert action is not None
        evidence = self._recorded(self.revision, action_id)
        expected: Document = {}
        if command == "record_evidence":
            expected = self._bind(event, action)
        elif command == "record_result":
            testing = action["operation"].startswith("testing.request_")
            demand(not testing and not action["recorded"] and not evidence, "can't have a result")
            action["recorded"] = True
            action["unseen"] = any(one not in self._refs for one in event["novel_refs"])
            self._refs.update(event["novel_refs"])
        elif command == "settle":
            demand(action["recorded"], "not recorded")
            expected = self._settle(event, account, action)
        elif command == "void":
            demand(not self._dispatched(action_id), "dispatched")
            self._end(account, action_id, refund=True)
        else:
            demand("cap" not in action and not evidence, "has evidence")
            self._end(account, action_id, refund=False)
        return expected, [name]

    def _initialise(
        self, event: Document, revision: int, child: Document
    ) -> tuple[Document, list[str]]:
        names = [grant["hypothesis_id"] for grant in event["grants"]]
        demand(len(set(names)) == len(names), "a hypothesis stands twice")
        demand(revision > self.revision and not self.open, "accounts are open, or were")
        policy = self._lookup(event["policy"], "budget-policy-v1")
        if policy is None:
            raise Absent("no policy")
        demand(bool(policy["costs"]), "a policy without costs")
        demand(policy["initial_credits"] <= policy["case_credit_cap"], "a cap too low")
        if self.revision == 0:
            self._cap, self._max_revisions = policy["case_credit_cap"], policy["max_revisions"]
        demand(policy["case_credit_cap"] == self._cap, "another cap than the first policy's")
        demand(revision <= min(self._max_revisions, policy["max_revisions"]), "too many revisions")
        share = min(policy["initial_credits"], (self._cap - self._granted) // len(names))
        demand(share > 0, "the cap leaves nothing")
        self._granted += share * len(names)
        self.revision, self.open, self._actions = revision, True, {}
        self._policy_id, self._policy = event["policy"], policy
        figures = dict.fromkeys(("reserved", "debited", "rewarded", "expired", "streak"), 0)
        self.accounts = {
            name: {"granted": share, "balance": share, **figures, "status": "open"}
            for name in names
        }
        stated = child["artifacts"].get("hypotheses")
        document = None if stated is None else self._lookup(stated, "hypotheses-v1")
        if stated is None or document is not None:
            ids = [] if document is None else [one["id"] for one in document["hypotheses"]]
            if sorted(ids) != sorted(names):
                self._report("ledger", "error", "accounts for other hypotheses than there are")
        return {"grants": [{"hypothesis_id": name, "credits": share} for name in names]}, names

    def _reserve(self, event: Document, account: Document) -> Document:
        demand(account["status"] != "stopped", "the account is stopped")
        cost = self._policy["costs"].get(event["operation"])
        demand(cost is not None and account["balance"] >= cost, "no cost, or no credits")
        account["balance"] -= cost
        account["reserved"] += cost
        self._actions[event["action_id"]] = {
            "hypothesis_id": event["hypothesis_id"],
            "operation": event["operation"],
            "cost": cost,
            "recorded": False,
            "unseen": False,
        }
        return {"cost": cost}

    def _bind(self, event: Document, action: Document) -> Document:
        demand(not action["recorded"], "recorded already")
        facts = self._facts(event["record"])
        if facts is None:
            raise Absent("no such record")
        demand(
            (
                facts["analysis_revision"],
                facts["hypothesis_id"],
                facts["action_id"],
                facts["operation"],
            )
            == (self.revision, action["hypothesis_id"], event["action_id"], action["operation"]),
            "a record of another action",
        )
        action["recorded"], action["cap"] = True, facts["novelty_score"]
        return {"record_id": facts["id"], "novelty_cap": facts["novelty_score"]}

    def _settle(self, event: Document, account: Document, action: Document) -> Document:
        policy = self._policy
        if "cap" in action:
            deterministic = min(policy["new_evidence_score"], action["cap"])
        else:
            deterministic = policy["new_evidence_score"] if action["unseen"] else 0
        score = min(event["semantic_score"], deterministic)
        reward = action["cost"] * policy["max_reward_percent"] * score // 10_000
        self._end(account, event["action_id"], refund=False)
        account["rewarded"] += reward
        account["balance"] += reward
        low = policy["low_information"]
        account["streak"] = account["streak"] + 1 if score < low["threshold"] else 0
        if account["streak"] >= low["streak"]:
            account["status"] = "stopped"
        if "cap" not in action and reward:
            self._report("ledger", "note", f"entry {self.sequence + 1}: a reward without evidence")
        return {"deterministic": deterministic, "score": score, "reward": reward}

    def _dispatched(self, action_id: str) -> bool:
        key = (self.revision, action_id)
        recorded: bool = self._actions[action_id]["recorded"]
        return recorded or self._recorded(*key) or self._submitted(*key)

    def _end(self, account: Document, action_id: str, *, refund: bool) -> None:
        cost = self._actions.pop(action_id)["cost"]
        account["reserved"] -= cost
        account["balance" if refund else "debited"] += cost

    def _reopen(self) -> tuple[Document, list[str]]:
        outcomes = []
        for action_id, action in list(self._actions.items()):
            dispatched = self._dispatched(action_id)
            name = action["hypothesis_id"]
            self._end(self.accounts[name], action_id, refund=not dispatched)
            outcome = "forfeited" if dispatched else "voided"
            outcomes.append({"hypothesis_id": name, "action_id": action_id, "outcome": outcome})
        for account in self.accounts.values():
            account["expired"] += account["balance"]
            account["balance"], account["status"] = 0, "closed"
        self.open = False
        return {"actions": outcomes}, list(self.accounts)
