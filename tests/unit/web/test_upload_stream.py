"""A multipart form from the stream, cut wherever a network may cut it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from vstore.errors import InvalidError, LimitExceeded, VStoreError
from vstore.web.upload_stream import MultipartFiles, boundary_of

BOUNDARY = "----form7MA4YWxk"


@dataclass
class Sink:
    """Keeps what is written, so that a test can look at it."""

    name: str
    fields: dict[str, str]
    most: int = 1 << 20
    held: bytearray = field(default_factory=bytearray)
    ended: str = ""

    def write(self, data: bytes) -> None:
        self.held += data
        if len(self.held) > self.most:
            raise LimitExceeded("too large", kind="upload_limit")

    def finish(self) -> Sink:
        self.ended = "finished"
        return self

    def abort(self) -> None:
        self.ended = "aborted"


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    named = f'; filename="{filename}"' if filename is not None else ""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n'
    kind = "Content-Type: text/html\r\n" if filename is not None else ""
    return f"{head}{kind}\r\n".encode() + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


def taking(*, most: int = 1 << 20) -> tuple[MultipartFiles, list[Sink]]:
    sinks: list[Sink] = []

    def begin(fields: dict[str, str], name: str) -> Sink:
        if name == "refused.exe":
            raise InvalidError("not this one", kind="upload_type")
        sinks.append(Sink(name, dict(fields), most))
        return sinks[-1]

    return MultipartFiles(BOUNDARY.encode(), begin), sinks


BODY = (
    part("fence", b"7")
    + part("field", "größe".encode())
    + part("file", b"first\r\n--not the end", "a.log")
    + part("file", b"\0\xff" * 40, 'schön "1".png'.replace('"', "%22"))
    + part("file", b"", "empty.txt")
    + END
)


@pytest.mark.parametrize("step", [1, 2, 7, 64, 10_000])
def test_fields_and_files_come_out_however_the_body_is_cut(step: int) -> None:
    form, sinks = taking()
    for start in range(0, len(BODY), step):
        form.feed(BODY[start : start + step])
    form.close()
    assert form.fields == {"fence": "7", "field": "größe"}
    assert [one.name for one in sinks] == ["a.log", 'schön "1".png', "empty.txt"]
    assert [bytes(one.held) for one in sinks] == [b"first\r\n--not the end", b"\0\xff" * 40, b""]
    assert {one.ended for one in sinks} == {"finished"}
    assert all(one.fields == {"fence": "7", "field": "größe"} for one in sinks)
    assert form.refused == []


def test_a_refused_file_takes_no_other_with_it() -> None:
    form, sinks = taking(most=5)
    form.feed(
        part("file", b"12345", "fits") + part("file", b"123456", "large")
        + part("file", b"MZ", "refused.exe") + part("file", b"1", "after") + END
    )  # fmt: skip
    form.close()
    assert [one.name for one in sinks if one.ended == "finished"] == ["fits", "after"]
    assert [(one.name, one.error.kind) for one in form.refused] == [
        ("large", "upload_limit"),
        ("refused.exe", "upload_type"),
    ]
    assert [one.name for one in sinks if one.ended == "aborted"] == ["large"]


def test_a_place_for_a_file_that_nobody_chose_is_no_file() -> None:
    form, sinks = taking()
    form.feed(part("file", b"", "") + END)
    form.close()
    assert (sinks, form.taken, form.refused) == ([], [], [])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(part("file", b"half", "a.log"), id="no-end"),
        pytest.param(part("file", b"half", "a.log")[:-10], id="cut-in-a-file"),
        pytest.param(b"what is this\r\n", id="no-form"),
    ],
)
def test_a_body_that_is_cut_is_no_form_and_leaves_no_file(body: bytes) -> None:
    form, sinks = taking()
    with pytest.raises(InvalidError) as caught:
        form.feed(body)
        form.close()
    form.abort()
    assert caught.value.kind == "invalid_form"
    assert all(one.ended != "" for one in sinks)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(part("field", b"x" * 1001), id="long-field"),
        pytest.param(part("field", b"x") * 201, id="many-parts"),
        pytest.param(part("file", b"x", "n" * 9000), id="long-header"),
    ],
)
def test_what_a_form_holds_in_memory_is_bounded(body: bytes) -> None:
    form, _ = taking()
    with pytest.raises(VStoreError) as caught:
        form.feed(body + END)
    assert caught.value.kind in ("limit_exceeded", "invalid_form")


def test_the_boundary_comes_from_the_content_type() -> None:
    assert boundary_of(f'multipart/form-data; boundary="{BOUNDARY}"') == BOUNDARY.encode()


@pytest.mark.parametrize(
    "content_type", ["text/plain", "multipart/form-data", "multipart/form-data; boundary=", ""]
)
def test_another_content_type_is_no_form(content_type: str) -> None:
    with pytest.raises(InvalidError) as caught:
        boundary_of(content_type)
    assert caught.value.kind == "invalid_form"
