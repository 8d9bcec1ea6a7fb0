"""msgspec and pathlib with stand-ins: everything but the time is the same."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec

from vstore_cli.lean_imports import import_leanly

LEAN = "from vstore_cli.lean_imports import import_leanly; import_leanly()"
TELL = """
import sys
import msgspec, pathlib
print(*{"textwrap", "typing_extensions", "urllib.parse"} & set(sys.modules), file=sys.stderr)
print([pathlib.Path(one).as_uri() for one in ("/", "/a b/%/ä", "/\\udcff")])
from typing_extensions import NotRequired, TypedDict
from msgspec._utils import get_class_annotations
from vstore_schemas.render import document_types, render

class Partial(TypedDict):
    one: NotRequired[int]

print(msgspec.json.schema(Partial))
for kind in (Partial, dict[str, Partial], *document_types().values()):
    print(msgspec.inspect.type_info(kind))
    print(get_class_annotations(kind) if isinstance(kind, type) else "")
for name, kind in document_types().items():
    print(name, render(name, kind))
"""


def told(script: str) -> tuple[str, str]:
    # Coverage, told by its variables, would load the very modules in the new process first.
    own = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=own
    )
    return done.stdout, done.stderr.strip()


def test_msgspec_reads_the_same_types_either_way() -> None:
    lean, fat = told(f"{LEAN}\n{TELL}"), told(TELL)
    assert lean[1] == ""
    assert "typing_extensions" in fat[1]
    assert lean[0] == fat[0]
    assert "NotRequired" in lean[0] or "required=False" in lean[0]


def test_stand_ins_lead_to_the_modules() -> None:
    script = f"""
{LEAN}
import msgspec._json_schema, textwrap, urllib.parse
assert msgspec._json_schema.textwrap is not textwrap
assert msgspec._json_schema.textwrap.indent is textwrap.indent
assert textwrap.dedent(" a") == "a"
assert urllib.parse.urlsplit("http://[::1]/x").hostname == "::1"
"""
    assert told(script) == ("", "")


def test_a_name_can_be_imported_of_a_stand_in() -> None:
    # As another version of msgspec or pathlib might.
    script = """
from vstore_cli.lean_imports import _instead, _later
import sys
with _instead("textwrap", _later("textwrap")), _instead("urllib.parse", _later("urllib.parse")):
    from textwrap import indent
    from urllib.parse import urlsplit
import textwrap, urllib.parse
assert indent is textwrap.indent is sys.modules["textwrap"].indent
assert urlsplit is urllib.parse.urlsplit
"""
    assert told(script) == ("", "")


def test_nothing_happens_where_msgspec_is_there_already() -> None:
    before = dict(sys.modules)
    import_leanly()
    assert sys.modules == before
    assert sys.modules["msgspec"] is msgspec


def test_typing_extensions_can_be_imported_where_msgspec_cannot() -> None:
    script = f"""
import sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name == "msgspec":
            raise ImportError("broken")
sys.meta_path.insert(0, Finder)
try:
    {LEAN}
except ImportError as error:
    print(error)
import typing_extensions
"""
    assert told(script) == ("broken\n", "")
