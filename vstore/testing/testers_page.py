"""The testers' page over a real workspace, and visitors who use it as browsers without script do.

A visitor sees pages, fills in the forms that stand on them and presses their buttons: what a page
doesn't offer can't be pressed, so a test of this kind also says that the page offers it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlencode

from starlette.testclient import TestClient

from vstore.controller.test_coordinator import Submitted
from vstore.package.clock import Clock
from vstore.testing.clock import FrozenClock
from vstore.testing.handoff import HandoffCase
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web.app import create_app
from vstore.web.board import RequestKey
from vstore.web.desk import Desk
from vstore.web.service_folder import ServiceFolder
from vstore.web.settings import Settings

__all__ = ["ADDRESS", "KEY", "PASSWORD", "TEST", "Page", "PageForm", "Site", "Visitor", "ask"]

ADDRESS: Final = "http://127.0.0.1:8484"
PASSWORD: Final = "correct horse battery staple"  # noqa: S105
#: The only test of a workspace that :func:`ask` made, and the address of its page.
KEY: Final = RequestKey(CASE, PACKAGE, "test-1")
TEST: Final = "/r/" + "/".join(KEY)
_CHECKED: Final = ("radio", "checkbox")


def ask(folder: Path, **changes: Any) -> Submitted:
    """Make a workspace with one case, which waits for a test by a person.

    Args:
        folder: Takes it as ``work``; must not have such a folder yet.
        changes: Members of the request to have another value.

    Returns:
        The request as it was handed out.
    """
    (folder / "work").mkdir(parents=True)
    (folder / "scratch").mkdir()
    case = HandoffCase(folder / "work" / CASE, folder / "scratch")
    try:
        case.begin()
        return case.submit(**changes)
    finally:
        case.workspace.close()


@dataclass
class PageForm:
    """A form as it stands on a page.

    Attributes:
        action: Where it is sent.
        method: ``get`` or ``post``.
        encoding: How its fields are sent.
        fields: What would be sent as it is, in order.
        options: The values of radio buttons and boxes, by name.
        buttons: Name, value and text of each button.
        files: Names of the fields that take files.
    """

    action: str
    method: str
    encoding: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    options: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        """What a field would send."""
        return [value for one, value in self.fields if one == name]

    def fill(self, name: str, *values: str) -> Self:
        """Give a field other values; its place in the form stays."""
        known = name in self.options or any(one == name for one, _ in self.fields)
        assert known, f"the form has no field {name}"
        assert name not in self.options or set(values) <= set(self.options[name]), name
        places = [at for at, (one, _) in enumerate(self.fields) if one == name]
        at = places[0] if places else len(self.fields)
        rest = [one for one in self.fields if one[0] != name]
        self.fields = [*rest[:at], *((name, value) for value in values), *rest[at:]]
        return self


class Page(HTMLParser):
    """What a visitor sees.

    Attributes:
        status: Of HTTP.
        headers: Of HTTP.
        content: The body as it came.
        location: The address after redirects.
        forms: On the page, from the top.
        links: Addresses that it leads to.
        text: What can be read, white space as it stands.
    """

    def __init__(self, response: Any) -> None:
        super().__init__(convert_charrefs=True)
        self.status: int = response.status_code
        self.headers = response.headers
        self.content: bytes = response.content
        self.location: str = str(response.url).removeprefix(ADDRESS)
        self.forms: list[PageForm] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._form: PageForm | None = None
        self._area: tuple[str, str] | None = None
        self._button: tuple[str, str, str] | None = None
        self._quiet = False
        if response.headers.get("content-type", "").startswith("text/html"):
            self.feed(response.text)
            self.close()

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.content)

    def form(self, action: str) -> PageForm:
        """The form that is sent to an address."""
        found = [one for one in self.forms if one.action == action]
        assert len(found) == 1, f"{len(found)} forms for {action}"
        return found[0]

    def offers(self, action: str) -> bool:
        """Whether there is a form for an address."""
        return any(one.action == action for one in self.forms)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes in an element."""
        found = {name: value or "" for name, value in attrs}
        self.tags.append((tag, found))
        self._quiet = tag in ("script", "style", "title")
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "form":
            self._form = PageForm(
                found.get("action", ""),
                found.get("method", "get"),
                found.get("enctype", "application/x-www-form-urlencoded"),
            )
            self.forms.append(self._form)
        elif self._form is not None and tag == "input":
            self._take(self._form, found)
        elif tag == "textarea" and self._form is not None:
            self._area = (found.get("name", ""), "")
        elif tag == "button" and self._form is not None:
            self._button = (found.get("name", ""), found.get("value", ""), "")

    def handle_data(self, data: str) -> None:
        """Takes in text."""
        if self._area is not None:
            self._area = (self._area[0], self._area[1] + data)
        if self._button is not None:
            self._button = (*self._button[:2], self._button[2] + data)
        if not self._quiet:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        """Ends an element."""
        self._quiet = False
        if tag == "form":
            self._form = None
        if self._form is None:
            return
        if tag == "textarea" and self._area is not None:
            name, text = self._area
            if name:
                # A browser drops the first line end of the element.
                self._form.fields.append((name, text.removeprefix("\n")))
            self._area = None
        if tag == "button" and self._button is not None:
            self._form.buttons.append(self._button)
            self._button = None

    @staticmethod
    def _take(form: PageForm, found: dict[str, str]) -> None:
        name, kind = found.get("name", ""), found.get("type", "text")
        if not name:
            return
        if kind == "file":
            form.files.append(name)
            return
        value = found.get("value", "on" if kind in _CHECKED else "")
        if kind in _CHECKED:
            form.options.setdefault(name, []).append(value)
        if kind not in _CHECKED or "checked" in found:
            form.fields.append((name, value))


class Visitor:
    """Somebody with a browser.

    Args:
        app: The page.
        language: What the browser asks for.
        zone: The time zone that the browser says, or None.
    """

    def __init__(self, app: Any, *, language: str = "en", zone: str | None = None) -> None:
        self.client = TestClient(
            app,
            base_url=ADDRESS,
            raise_server_exceptions=True,
            headers={"accept-language": language, "accept": "text/html"},
        )
        if zone is not None:
            self.client.cookies.set("vstore-zone", zone)

    def get(self, path: str, **headers: str) -> Page:
        """Open an address."""
        return Page(self.client.get(path, headers=headers))

    def post(self, path: str, fields: Iterable[tuple[str, str]] = (), **headers: str) -> Page:
        """Send fields to an address, whatever a page offers; from our own page."""
        sent = {"sec-fetch-site": "same-origin", **headers}
        sent["content-type"] = "application/x-www-form-urlencoded"
        content = urlencode(list(fields)).encode()
        return Page(self.client.post(path, content=content, headers=sent))

    def script(self, path: str, fields: Iterable[tuple[str, str]] = ()) -> Page:
        """The same as the page's own script does it."""
        return self.post(path, fields, accept="application/json")

    def press(
        self, form: PageForm, button: str, files: Sequence[tuple[str, bytes]] | None = None
    ) -> Page:
        """Press a button of a form.

        Args:
            form: As it was filled in.
            button: Its value where it has one, else its text.
            files: Chosen for the form's field for files.
        """
        found = [one for one in form.buttons if button in (one[1], one[2].strip())]
        assert found, f"no button {button}"
        name, value, _ = found[0]
        fields = [*form.fields, *([(name, value)] if name else [])]
        assert form.method == "post"
        if files is None:
            assert form.encoding == "application/x-www-form-urlencoded"
            return self.post(form.action, fields)
        (place,) = form.files
        parts: list[tuple[str, Any]] = [(one, (None, text)) for one, text in fields]
        parts += ((place, (one, content)) for one, content in files)
        return Page(
            self.client.post(form.action, files=parts, headers={"sec-fetch-site": "same-origin"})
        )

    def upload(self, name: str, content: bytes, fence: int, *, path: str = TEST) -> Page:
        """Send a file as the page's script does."""
        headers = {
            "sec-fetch-site": "same-origin",
            "accept": "application/json",
            "content-type": "application/octet-stream",
        }
        query = {"name": name, "fence": str(fence), "field": ""}
        return Page(
            self.client.post(f"{path}/uploads", params=query, content=content, headers=headers)
        )

    def log_in(self, name: str, password: str = PASSWORD) -> Page:
        """Log in through the page."""
        form = self.get("/login").form("/login").fill("name", name).fill("password", password)
        return self.press(form, form.buttons[0][2].strip())

    def claim(self, path: str = TEST) -> Page:
        """Take a test through its page; the draft."""
        form = self.get(path).form(f"{path}/claim")
        return self.press(form, form.buttons[0][2].strip())


class Site:
    """A page over a workspace; end it with :meth:`close`.

    Args:
        folder: Has the workspace as ``work``, and takes the service's own data.
        clock: The service's; one that stands a day after the test was handed out by default.
        options: Of :meth:`vstore.web.desk.Desk.open`.
    """

    def __init__(self, folder: Path, *, clock: Clock | None = None, **options: Any) -> None:
        self.folder = folder
        self.clock = clock or _a_day_later()
        self._options = options
        self._open()

    def _open(self) -> None:
        self.desk = Desk.open(
            self.folder / "work",
            ServiceFolder.open(self.folder / "state"),
            clock=self.clock,
            **self._options,
        )
        self.app = create_app(self.desk, Settings.listening("127.0.0.1", 8484))

    def restart(self) -> None:
        """Stop the service and start it again; visitors have to be made anew."""
        self.desk.close()
        self._open()

    def close(self) -> None:
        """Stop the service."""
        self.desk.close()

    def account(self, name: str, *, role: Any = "tester") -> None:
        """An account with a password."""
        self.desk.accounts.add(name, role=role, by="tests")
        self.desk.enrolment.redeem(self.desk.enrolment.new_code(name, by="tests"), PASSWORD)

    def visitor(self, **browser: Any) -> Visitor:
        """Somebody who isn't logged in."""
        return Visitor(self.app, **browser)

    def tester(self, name: str = "pat", *, role: Any = "tester", **browser: Any) -> Visitor:
        """Somebody who has just got an account and logged in."""
        self.account(name, role=role)
        visitor = self.visitor(**browser)
        assert visitor.log_in(name).location == "/"
        return visitor

    @staticmethod
    def copied(source: Path, target: Path) -> Path:
        """A copy of a workspace that :func:`ask` made; making one anew takes longer."""
        shutil.copytree(source / "work", target / "work")
        return target


def _a_day_later() -> FrozenClock:
    clock = FrozenClock()
    clock.tick(36 * 3600)
    return clock
