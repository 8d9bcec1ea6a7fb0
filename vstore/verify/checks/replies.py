"""VS-EVD: requests, replies and contents, checked against each other and asked again."""

from __future__ import annotations

from typing import Final

from vstore.errors import InvalidError, UnsupportedError, VStoreError
from vstore.evidence.content import envelope as envelope_of
from vstore.evidence.content import item_count
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import EvidenceContent
from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed
from vstore.package.documents import SnapshotDescriptor
from vstore.package.pinned import PinnedPackage
from vstore.tools.reply import EnvelopeResult, ReplyEnvelope
from vstore.tools.request import DatabaseRows, DatabaseSchema, ToolQuery, ToolRequest, operation_of
from vstore.tools.router import Router
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

__all__ = ["KIND_OF", "ReplyCheck", "is_order"]

#: The kind of content that an operation yields.
KIND_OF: Final = {
    "source.list": "source_files",
    "source.search": "source_lines",
    "source.read": "source_lines",
    "database.schema": "database_schema",
    "database.rows": "database_rows",
}


def is_order(order: list[int], count: int) -> bool:
    """Whether these are the places of items in a content of ``count`` that has another order."""
    places = set(order)
    return (
        len(places) == count
        and all(place < count for place in places)
        and order != list(range(count))
    )


class ReplyCheck:
    """Checks one batch's request, reply and contents.

    Args:
        objects: Where documents are.
        found: Takes the findings.
        router: Answers the requests again; None to leave that out.
    """

    def __init__(
        self, objects: ObjectCheck, found: FindingCollector, router: Router | None
    ) -> None:
        self._objects = objects
        self._found = found
        self._router = router
        #: Contents that were checked already, and how many items each has.
        self._normal: dict[ObjectId, int] = {}
        self._batch: dict[ObjectId, Sealed[EvidenceContent]] = {}
        #: The records that fall with the batch at hand.
        self._affects: tuple[str, ...] = ()
        self.recomputed = 0
        self._unanswered: list[tuple[ObjectId, str, str]] = []

    def content(self, oid: ObjectId) -> Sealed[EvidenceContent] | None:
        """A content of the batch that was checked last."""
        return self._batch.get(oid)

    def check(
        self,
        step: Step,
        request_id: ObjectId,
        request: ToolRequest,
        reply_id: ObjectId,
        reply: ReplyEnvelope,
        affects: tuple[str, ...],
    ) -> bool:
        """Check a batch; False when a content can't be read.

        Args:
            step: The generation that stores it.
            request_id: The id of the request.
            request: What was asked.
            reply_id: The id of the reply.
            reply: What was answered.
            affects: The records that fall with the reply.
        """
        self._affects = affects
        self._check_binding(step, request_id, request, reply_id, reply)
        self._batch = {}
        for position, result in enumerate(reply.results):
            oid = result.content
            if oid is None or oid in self._batch:
                continue
            pointer = f"/results/{position}/content"
            document = self._objects.lookup(oid, EvidenceContent, reply_id, pointer)
            if document is None:
                return False
            self._batch[oid] = Sealed(document, self._objects.encoded(oid), oid)
            if oid not in self._normal:
                self._check_normal(oid, document)
        if len(reply.results) == len(request.queries):
            for position, (query, result) in enumerate(
                zip(request.queries, reply.results, strict=True)
            ):
                self._check_result(step, reply_id, position, query, result)
        else:
            self._inconsistent(reply_id, "/results", "other results than its request has queries")
        self._recompute(step, request_id, request, reply_id, reply, affects)
        return True

    def _check_binding(
        self,
        step: Step,
        request_id: ObjectId,
        request: ToolRequest,
        reply_id: ObjectId,
        reply: ReplyEnvelope,
    ) -> None:
        generation = step.generation
        # The parent's identity is the package's, also where this generation's was changed.
        before = generation if step.parent is None else step.parent
        for name, expected in (
            ("case_id", before.case_id),
            ("package_id", before.package_id),
            ("analysis_revision", generation.analysis_revision),
            ("generation", step.parent_id),
        ):
            actual = getattr(request, name)
            if actual != expected:
                self._found.add(
                    "VS-EVD-014",
                    f"the request that {step.name} stores is bound to something else",
                    object=request_id,
                    pointer=f"/{name}",
                    expected=expected,
                    actual=actual,
                    affects=(step.name,),
                )
        if reply.request != request_id:
            self._inconsistent(reply_id, "/request", "another request than its records name")
        if reply.generation != request.generation:
            self._inconsistent(reply_id, "/generation", "another generation than its request")

    def _inconsistent(self, reply_id: ObjectId, pointer: str, what: str) -> None:
        self._found.add(
            "VS-EVD-015",
            f"the reply has {what}",
            object=reply_id,
            pointer=pointer,
            affects=self._affects,
        )

    def _check_normal(self, oid: ObjectId, content: EvidenceContent) -> None:
        self._normal[oid] = item_count(content)
        try:
            check_content(content)
        except InvalidError as error:
            self._found.add(
                "VS-EVD-016", f"not normal: {error.message}", object=oid, affects=self._affects
            )

    def _check_result(
        self,
        step: Step,
        reply_id: ObjectId,
        position: int,
        query: ToolQuery,
        result: EnvelopeResult,
    ) -> None:
        """Check what can be seen without asking again."""
        operation = operation_of(query.arguments)
        at = f"/results/{position}"
        for name, wanted in (
            ("action_id", query.action_id),
            ("operation", operation),
            ("provider", query.contract),
        ):
            if getattr(result, name) != wanted:
                self._inconsistent(reply_id, f"{at}/{name}", "a result of another query")
        successful = result.status == "ok"
        if successful == (result.content is None) or successful == (result.error is not None):
            self._inconsistent(reply_id, f"{at}/status", "a result that is and is not an error")
        if result.content is None:
            if result.order is not None:
                self._inconsistent(reply_id, f"{at}/order", "an order of nothing")
            return
        content = self._batch[result.content].document
        if content.kind != KIND_OF.get(operation, content.kind):
            self._inconsistent(reply_id, f"{at}/content", "a content of another kind")
        if content.truncated != result.truncated:
            self._inconsistent(reply_id, f"{at}/truncated", "another truncation than its content")
        self._check_order(reply_id, at, result)
        self._check_scope(step, result.content, query, content)

    def _check_order(self, reply_id: ObjectId, at: str, result: EnvelopeResult) -> None:
        assert result.content is not None
        count, order = self._normal[result.content], result.order
        returned = count
        if order is not None:
            returned = len(order)
            if not is_order(order, count):
                self._inconsistent(reply_id, f"{at}/order", "an order that is not its content's")
        if result.page is not None and result.page.returned != returned:
            self._inconsistent(reply_id, f"{at}/page/returned", "a page that miscounts its items")

    def _check_scope(
        self, step: Step, oid: ObjectId, query: ToolQuery, content: EvidenceContent
    ) -> None:
        """The content's scope and coverage are those of the snapshot that was asked."""
        descriptor = self._descriptor(step, query)
        scope, coverage = content.scope, content.coverage
        if descriptor is None or scope is None or coverage is None:
            return
        for pointer, expected, actual in (
            ("/scope/content", descriptor.content, scope.content),
            ("/scope/name", descriptor.name, scope.name),
            ("/scope/origin", descriptor.origin, scope.origin),
            ("/coverage", descriptor.coverage, coverage),
        ):
            if expected != actual:
                self._found.add(
                    "VS-EVD-024",
                    "a content names another snapshot than was asked",
                    object=oid,
                    pointer=pointer,
                    affects=self._affects,
                )

    def _descriptor(self, step: Step, query: ToolQuery) -> SnapshotDescriptor | None:
        if step.parent is None or step.parent_id is None:
            return None
        arguments = query.arguments
        asked_database = isinstance(arguments, DatabaseRows | DatabaseSchema)
        name = (
            arguments.database
            if isinstance(arguments, DatabaseRows | DatabaseSchema)
            else (arguments.source)
        )
        package = PinnedPackage(step.parent_id, step.parent, self._objects.table)
        try:
            return package.snapshot(name, kind="database" if asked_database else "source")
        except VStoreError:
            return None  # such a query has an error for its result, which asking again shows

    # ---- asking again

    def _recompute(
        self,
        step: Step,
        request_id: ObjectId,
        request: ToolRequest,
        reply_id: ObjectId,
        reply: ReplyEnvelope,
        affects: tuple[str, ...],
    ) -> None:
        if self._router is None or step.parent is None or request.generation != step.parent_id:
            return
        package = PinnedPackage(request.generation, step.parent, self._objects.table)
        try:
            answer, contents = envelope_of(request_id, self._router.query(package, request))
        except UnsupportedError as error:
            self._found.add("VS-VER-003", error.message, object=request_id)
            return
        except VStoreError as error:
            # The request is bound to something else, or what it asks is damaged: both are
            # reported where they are found; that it can't be asked again is said here.
            self._found.skip(f"the reply stored by {step.name}: {error.message}")
            self._unanswered.append((request_id, step.name, error.message))
            return
        self.recomputed += 1
        if answer != reply:
            self._forged(step, affects, reply_id, answer, reply, contents)

    def finish(self) -> None:
        """Never let a request pass that could not be asked again, whatever the reason."""
        if self._found.faulty:
            return
        for request_id, name, reason in self._unanswered:
            self._found.add(
                "VS-EVD-027",
                f"the request that {name} stores could not be asked again: {reason}",
                object=request_id,
            )

    def _forged(
        self,
        step: Step,
        affects: tuple[str, ...],
        reply_id: ObjectId,
        answer: ReplyEnvelope,
        reply: ReplyEnvelope,
        contents: list[Sealed[EvidenceContent] | None],
    ) -> None:
        place, pointer = reply_id, difference_of(to_value(answer), to_value(reply))[0]
        for position, (expected, result) in enumerate(zip(contents, reply.results, strict=False)):
            stored = None if result.content is None else self.content(result.content)
            if pointer == f"/results/{position}/content" and expected and stored:
                place = stored.id
                pointer = difference_of(to_value(expected.document), to_value(stored.document))[0]
                break
        self._found.add(
            "VS-EVD-022",
            f"the reply that {step.name} stores is not what its pinned inputs yield",
            object=place,
            pointer=pointer,
            affects=affects,
        )
