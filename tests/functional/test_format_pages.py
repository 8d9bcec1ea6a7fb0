"""The pages of the format: their tables state what the code does, their examples hold."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
import rfc8785
from blake3 import blake3

from vstore.budget import documents as events
from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.budget.effects import settlement
from vstore.budget.state import OpenAction
from vstore.evidence.atoms import atoms
from vstore.evidence.documents import EvidenceContent
from vstore.evidence.novelty import novelty_score
from vstore.objects.frame import FrameSummary, parse_header, read_payload, trailer_matches
from vstore.objects.ids import object_id
from vstore.objects.layout import encode_format
from vstore.objects.memory import MemoryObjects
from vstore.objects.merkle import EMPTY_ROOT, leaf_hash, root
from vstore.objects.pack import index_rows
from vstore.objects.pack_file import PackFile
from vstore.objects.refs import decode_ref, encode_ref
from vstore.objects.segment import SEGMENT_HEADER_BYTES, parse_segment_header
from vstore.objects.tree import Tree
from vstore.package.bundle_layout import Member, local_header
from vstore.package.checkpoint import encode_checkpoint, origin_of, parse_checkpoint
from vstore.package.lifecycle import RULES
from vstore.testing.format_tables import format_tables
from vstore.tools.chunker import key_of
from vstore.tools.database_content import StoredRow, row_digest
from vstore.tools.values import Real, check_value, real_text

SPEC = Path(__file__).parents[2] / "docs" / "spec"
PAGES = sorted(SPEC.glob("*.md"))


def example(page: str, name: str) -> str:
    """The only example of this name on a page."""
    text = (SPEC / page).read_text("utf-8")
    (found,) = re.findall(rf"^```text example={name}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def members(page: str, name: str) -> dict[str, str]:
    """An example whose lines are ``name: value``."""
    lines = example(page, name).splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def written_tables() -> dict[str, tuple[str, list[tuple[str, str, str]]]]:
    sections = re.split(
        r"^### (\S+)\n", (SPEC / "documents.md").read_text("utf-8"), flags=re.MULTILINE
    )
    tables = {}
    for name, body in zip(sections[1::2], sections[2::2], strict=True):
        head = body.partition("| member |")[0].strip()
        rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| (\w*) \| (.+) \|$", body, re.MULTILINE)
        assert len(rows) == len(re.findall(r"^\| `", body, re.MULTILINE)), name
        tables[name] = (head, [row[:3] for row in rows])
    return tables


# ---- tables


def test_the_tables_of_documents_are_those_of_the_code() -> None:
    written, wanted = written_tables(), format_tables()
    for name, table in wanted.items():
        lines = [f"| `{one}` | `{kind}` | {origin} | ... |" for one, kind, origin in table.rows]
        # What has to stand there, ready to be copied and given a meaning.
        message = "\n".join([f"docs/spec/documents.md, ### {name}", table.head, *lines])
        assert written.get(name) == (table.head, table.rows), message
    assert written.keys() == wanted.keys()


def test_the_lifecycle_is_that_of_the_code() -> None:
    text = (SPEC / "history.md").read_text("utf-8")
    rows = re.findall(r"^\| `[a-z._]+` \| .*$", text, re.MULTILINE)
    targets = {None: "the same", "RESUME": "*resume*"}
    assert rows == [
        f"| `{rule.event}` | {', '.join(rule.sources) or '(nothing)'} "
        f"| {targets.get(rule.target, rule.target)} | {', '.join(rule.reasons)} "
        f"| {', '.join(f'`{one}`' for one in rule.changes)} |"
        for rule in RULES
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert (SPEC / target).exists(), target


def test_every_example_is_checked_here() -> None:
    source = Path(__file__).read_text("utf-8")
    for page in PAGES:
        names = re.findall(r"^```text example=(\S+)$", page.read_text("utf-8"), re.MULTILINE)
        for name in names:
            assert f'("{page.name}", "{name}")' in source or page.name == "bundle.md", name


# ---- examples


def test_format_file() -> None:
    assert encode_format().decode() == example("format.md", "format-file")


def test_ref() -> None:
    raw = example("format.md", "ref").encode()
    assert len(raw) == 68
    assert decode_ref(raw) == object_id(b"")
    assert encode_ref(object_id(b"")) == raw


def test_segment_and_frame() -> None:
    data = b""
    for line in example("log.md", "segment").splitlines():
        offset, _, digits = line.partition("  ")
        assert int(offset, 16) == len(data)
        data += bytes.fromhex(digits)
    header = parse_segment_header(data, 1)
    assert header is not None
    assert (header.number, header.salt, header.first_sequence) == (1, bytes(range(16)), 1)
    frame = parse_header(data, 160, segment=1, salt=header.salt, offset=SEGMENT_HEADER_BYTES)
    assert isinstance(frame, FrameSummary)
    assert trailer_matches(frame, data, 160)
    assert 160 + frame.length == len(data)
    start = 160 + frame.header_length
    payload = read_payload(frame, data[start : start + frame.stored_length])
    (entry,) = frame.objects()
    assert (payload, entry.oid, entry.kind) == (b"hi\n", object_id(b"hi\n"), "blob")
    assert (frame.sequence, frame.parent, frame.generation) == (1, None, None)
    text = (SPEC / "log.md").read_text("utf-8")
    assert f"bytes, the frame {frame.length}, the segment {len(data)}" in " ".join(text.split())


def test_pack(tmp_path: Path) -> None:
    text = " ".join((SPEC / "pack.md").read_text("utf-8").split())
    (size,) = re.findall(r"as a pack `[0-9.a-z-]+` of ([0-9,]+) bytes", text)
    data = bytearray(int(size.replace(",", "")))
    for line in example("pack.md", "pack").splitlines():
        offset, _, digits = line.partition("  ")
        row = bytes.fromhex(digits)
        data[int(offset, 16) : int(offset, 16) + len(row)] = row
    path = tmp_path / "00000001-00000001.vpack"
    path.write_bytes(data)
    pack = PackFile(path, 1, 1)
    segment = bytes.fromhex("".join(line[6:] for line in example("log.md", "segment").splitlines()))
    assert pack.header(1) == parse_segment_header(segment, 1)
    assert pack.valid_end(1) == len(segment)
    wanted = parse_header(segment, 160, segment=1, salt=bytes(range(16)), offset=160)
    assert isinstance(wanted, FrameSummary)
    frame, payload = pack.read(1, 160)
    assert payload == b"hi\n"
    assert (frame.length, frame.raw_table, frame.sequence) == (
        wanted.length,
        wanted.raw_table,
        wanted.sequence,
    )
    found = pack.find(object_id(b"hi\n").to_bytes())
    assert found is not None
    assert found.offset == 160
    assert list(pack.check(index_rows(0, frame.raw_ids()))) == []


def test_header_of_a_bundles_member() -> None:
    (dump,) = re.findall(
        r"^```text\n(.*?)^```$", (SPEC / "bundle.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert local_header(Member(b"VSTORE", 76, 0x11223344)) == bytes.fromhex(dump)


def test_object_id() -> None:
    found = members("documents.md", "object-id")
    assert object_id(found["bytes"].encode()) == found["object id"]
    assert rfc8785.dumps({"schema": "tree-v1", "entries": []}) == found["bytes"].encode()


def test_reals() -> None:
    for line in example("documents.md", "reals").splitlines():
        number, text = line.split()
        assert real_text(float(number)) == text
        check_value(Real(text))


def test_draw() -> None:
    found = members("snapshots.md", "draw")
    key = key_of(StoredRow(17, ["tea"]), "rowid", [])
    assert key.decode() == found["key"]
    assert int.from_bytes(blake3(key).digest(8), "big") == int(found["draw"])


def test_row_digest() -> None:
    found = members("snapshots.md", "row-digest")
    assert row_digest([1, "tea", Real("2.5")]) == found["digest"]
    assert blake3(found["values"].encode()).hexdigest() == found["digest"]


def test_atom() -> None:
    found = members("evidence.md", "atom")
    content = bytes.fromhex(found["file"].partition("=")[2])
    objects = MemoryObjects()
    objects.put(content)
    tree = objects.put(found["tree"].encode())
    (entry,) = objects.document(tree, Tree).entries
    assert (entry.object, entry.size) == (object_id(content), len(content))
    coverage = {"kind": "complete", "statement": ""}
    value = {
        "schema": "evidence-content-v1",
        "kind": "source_lines",
        "scope": {
            "content": tree,
            "name": "code",
            "origin": {"kind": "directory", "label": "", "digest": None},
        },
        "coverage": coverage,
        "lines": [{"path": "a.txt", "file": entry.object, "lines": [[2, "b"]]}],
    }
    names = [name for name, _, _ in format_tables()["evidence-content-v1"].rows]
    value |= {name: None for name in names if name not in value}
    stored = objects.document(objects.put(rfc8785.dumps(value)), EvidenceContent)
    assert atoms(stored) == [found["atom"]]
    item = {"file": entry.object, "line": 2, "path": "a.txt", "text": "b"}
    atom = {
        "coverage": "complete",
        "item": item,
        "kind": "source_lines",
        "schema": "atom-v1",
        "scope": tree,
    }
    assert rfc8785.dumps(atom).decode() == found["bytes"]
    assert blake3(found["bytes"].encode()).hexdigest() == found["atom"]


def test_novelty() -> None:
    for line in example("evidence.md", "novelty").splitlines():
        _, unseen, _, returned, score = line.split()
        assert novelty_score(int(unseen), int(returned)) == int(score)


def test_merkle() -> None:
    lines = example("history.md", "merkle").splitlines()
    for leaves, expected in zip(lines[::2], lines[1::2], strict=True):
        found = [json.loads(one).encode() for one in re.findall(r'"[^"]*"', leaves)]
        assert root(map(leaf_hash, found)) == expected.split()[1]
    first, second, third = (sha256(b"\0record %d" % n).digest() for n in (1, 2, 3))
    left = sha256(b"\1" + first + second).digest()
    assert lines[5].split()[1] == sha256(b"\1" + left + third).hexdigest()
    assert lines[1].split()[1] == EMPTY_ROOT


def test_checkpoint() -> None:
    found = parse_checkpoint(example("history.md", "checkpoint").encode())
    (three,) = re.findall(r'"record 3"\nroot: +([0-9a-f]+)', example("history.md", "merkle"))
    assert (found.origin, found.size, found.root) == (origin_of("P-1"), 3, three)
    assert encode_checkpoint(found).decode() == example("history.md", "checkpoint")


def test_rewards() -> None:
    for line in example("budget.md", "rewards").splitlines()[1:]:
        cost, percent, ceiling, novelty, semantic, reward = map(int, line.split())
        policy = BudgetPolicy(
            costs={"source.read": cost},
            initial_credits=100,
            new_evidence_score=ceiling,
            max_reward_percent=percent,
            low_information=LowInformation(threshold=1, streak=1),
            case_credit_cap=100,
            max_revisions=1,
        )
        action = OpenAction(
            hypothesis_id="H1",
            action_id="q1",
            operation="source.read",
            cost=cost,
            record=object_id(b"record"),
            novelty_cap=novelty,
        )
        assert settlement(policy, action, semantic)[2] == reward
        assert reward == cost * percent * min(ceiling, novelty, semantic) // 10_000


def test_commands_of_the_ledger_are_all_described() -> None:
    text = (SPEC / "budget.md").read_text("utf-8")
    described = re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)
    kinds = (
        events.Initialise,
        events.Reserve,
        events.RecordEvidence,
        events.RecordResult,
        events.Settle,
        events.Void,
        events.Fail,
        events.Reopen,
    )
    assert described == [kind.__struct_config__.tag for kind in kinds]
