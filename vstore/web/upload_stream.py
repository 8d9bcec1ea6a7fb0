"""Files of a multipart form, taken from the stream as they come in: nothing is held in memory.

A form without script sends its fields first and then one part a file. Each file stands on its
own: one that is refused takes none of the others with it, and the page says which it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from vstore.errors import InvalidError, LimitExceeded, VStoreError
from vstore.web.uploads import Upload

__all__ = ["FileSink", "MultipartFiles", "RefusedFile", "boundary_of"]

_MAX_FIELD: Final = 1_000
_MAX_PARTS: Final = 200
_MAX_HEADER: Final = 8_192


class FileSink(Protocol):
    """Where the bytes of one file go."""

    def write(self, data: bytes) -> None: ...
    def finish(self) -> Upload: ...
    def abort(self) -> None: ...


class RefusedFile(NamedTuple):
    """A file that was not taken.

    Attributes:
        name: What its sender calls it; untrusted.
        error: Why.
    """

    name: str
    error: VStoreError


def boundary_of(content_type: str) -> bytes:
    """The boundary that a form's content type names.

    Raises:
        InvalidError: No multipart form (``invalid_form``).
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 1 <= len(boundary) <= 70:
        raise _invalid()
    return boundary


def _invalid() -> InvalidError:
    return InvalidError(
        "this is no form with files", kind="invalid_form", hint="go back and send it again"
    )


class MultipartFiles:
    """Splits a multipart body; blocking, one call at a time.

    Args:
        boundary: From :func:`boundary_of`.
        begin: Opens a sink for a file of this name, given the fields before it.

    Attributes:
        fields: The fields so far.
        taken: The files that were stored.
        refused: Those that were not.
    """

    def __init__(self, boundary: bytes, begin: Callable[[dict[str, str], str], FileSink]) -> None:
        self.fields: dict[str, str] = {}
        self.taken: list[Upload] = []
        self.refused: list[RefusedFile] = []
        self._begin = begin
        self._parts = 0
        self._header = bytearray()
        self._value = bytearray()
        self._field: str | None = None
        self._text = bytearray()
        self._name: str | None = None
        self._sink: FileSink | None = None
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begins,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._headers_end,
                "on_part_data": self._data,
                "on_part_end": self._part_ends,
            },
        )

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body.

        Raises:
            InvalidError: No such form (``invalid_form``).
            LimitExceeded: Too many parts, or a field that is too long.
            StorageError: The disk failed.
        """
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise _invalid() from error

    def close(self) -> None:
        """The body has ended.

        Raises:
            InvalidError: Before its form did (``invalid_form``).
        """
        try:
            self._parser.finalize()
        except FormParserError as error:
            raise _invalid() from error
        if self._sink is not None or self._name is not None:
            raise _invalid()

    def abort(self) -> None:
        """Drop a file that is only half there."""
        if self._sink is not None:
            self._sink.abort()
            self._sink = None

    # ---- what the parser calls

    def _part_begins(self) -> None:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise LimitExceeded(
                f"more than {_MAX_PARTS} fields and files at once",
                limit="max_parts",
                value=_MAX_PARTS,
                asked=self._parts,
            )
        self._header.clear()
        self._value.clear()
        self._text.clear()
        self._field = self._name = None

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._grow(self._header, data[start:end], _MAX_HEADER)

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._grow(self._value, data[start:end], _MAX_HEADER)

    def _header_ends(self) -> None:
        if bytes(self._header).lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            name = options.get(b"filename")
            self._field = options.get(b"name", b"").decode("utf-8", "replace")
            # The one mark that a browser has to write in another way (HTML, 4.10.21.8).
            self._name = (
                None if name is None else name.decode("utf-8", "replace").replace("%22", '"')
            )
        self._header.clear()
        self._value.clear()

    def _headers_end(self) -> None:
        if not self._name:  # a field, or a place for a file that nobody chose
            return
        try:
            self._sink = self._begin(self.fields, self._name)
        except VStoreError as error:
            self._refuse(error)

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._name is None:
            self._grow(self._text, data[start:end], _MAX_FIELD)
        elif self._sink is not None:
            try:
                self._sink.write(data[start:end])
            except VStoreError as error:
                self.abort()
                self._refuse(error)

    def _part_ends(self) -> None:
        if self._name is None:
            if self._field:
                self.fields[self._field] = self._text.decode("utf-8", "replace")
        elif self._sink is not None:
            sink, self._sink = self._sink, None
            try:
                self.taken.append(sink.finish())
            except VStoreError as error:
                self._refuse(error)
        self._name = None

    def _refuse(self, error: VStoreError) -> None:
        self.refused.append(RefusedFile(self._name or "", error))

    @staticmethod
    def _grow(held: bytearray, more: bytes, most: int) -> None:
        if len(held) + len(more) > most:
            raise LimitExceeded(
                f"a field of a form has more than {most} bytes",
                limit="max_field_bytes",
                value=most,
                asked=len(held) + len(more),
            )
        held.extend(more)
