"""A bot that uses the testers' API, and checks every answer against the API's own description."""

from __future__ import annotations

from typing import Any, Final

import jsonschema
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from starlette.testclient import TestClient

from vstore.testing.testers_page import ADDRESS, KEY, Site

__all__ = ["API", "REQUEST", "Bot", "Reply"]

API: Final = "/api/v1"
#: The only test of a workspace that :func:`vstore.testing.testers_page.ask` made.
REQUEST: Final = f"{API}/requests/" + "/".join(KEY)


class Reply:
    """What the API answered.

    Args:
        response: As the client has it.

    Attributes:
        status: The HTTP status.
        headers: The headers.
        type: The media type.
        value: The JSON value, or None for an empty answer.
    """

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers = response.headers
        self.type: str = response.headers.get("content-type", "")
        self.value: Any = response.json() if response.content else None

    @property
    def kind(self) -> str:
        """The kind of a problem."""
        assert self.type == "application/problem+json", (self.status, self.value)
        assert isinstance(self.value, dict)
        return str(self.value["kind"])


class Bot:
    """Somebody who shows a token.

    Args:
        site: The page whose API it uses.
        name: Its account, made where there is none.
        token: What it shows; None makes a token, an empty text shows none.
    """

    def __init__(self, site: Site, name: str = "bench", *, token: str | None = None) -> None:
        if token is None:
            if name not in {one.name for one in site.desk.accounts.list()}:
                site.desk.accounts.add(name, by="tests")
            token = site.desk.tokens.create(name, "tests", by="tests")
        self.token = token
        self.client = TestClient(site.app, base_url=ADDRESS, raise_server_exceptions=False)
        if token:
            self.client.headers["authorization"] = f"Bearer {token}"
        self.description: Any = self.client.get(f"{API}/openapi.json").json()
        self._registry: Registry[Any] = Registry().with_resource(
            "urn:api", DRAFT202012.create_resource(self.description)
        )

    def ask(self, method: str, path: str, **sent: Any) -> Reply:
        """One request; its answer fits the description.

        Args:
            method: Of HTTP.
            path: Below the API's base, or a whole path.
            sent: ``json``, ``content``, ``params`` or ``headers``, as the client takes them.
        """
        whole = path if path.startswith(API) else API + path
        reply = Reply(self.client.request(method, whole, **sent))
        self.check(method, whole, reply)
        return reply

    def check(self, method: str, path: str, reply: Reply) -> None:
        """Hold an answer against the description."""
        known = self.described(method, path)
        if known is None:
            assert reply.status in (404, 405), (method, path, reply.status)
            return
        answers = known["responses"]
        found = answers.get(str(reply.status))
        if found is None:
            # Only what isn't the operation's own may be left to the default.
            assert reply.status in (403, 421, 500), (method, path, reply.status)
            found = answers["default"]
        content = found.get("content")
        if content is None:
            assert reply.value is None, (method, path, reply.value)
            return
        assert reply.type in content, (method, path, reply.type, list(content))
        self._validator(content[reply.type]["schema"]).validate(reply.value)
        if reply.status >= 400:
            assert reply.value["status"] == reply.status
            assert reply.value["type"] == f"urn:vstore:problem:{reply.value['kind']}"

    def described(self, method: str, path: str) -> Any:
        """The description of an operation, or None for what is none."""
        parts = path.partition("?")[0].split("/")
        for template, operations in self.description["paths"].items():
            wanted = template.split("/")
            if len(wanted) == len(parts) and all(
                one == other or one.startswith("{")
                for one, other in zip(wanted, parts, strict=True)
            ):
                return operations.get(method.lower())
        return None

    def _validator(self, schema: dict[str, Any]) -> Validator:
        # The references lead into the description.
        whole = {"$ref": "urn:api" + schema["$ref"]}
        return jsonschema.Draft202012Validator(whole, registry=self._registry)
