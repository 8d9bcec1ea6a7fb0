"""What a tester does on the page, in their words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.sync_api import BrowserContext, Locator, Page, expect

__all__ = ["PASSWORD", "QUESTION", "Visitor"]

PASSWORD: Final = "correct horse battery"
QUESTION: Final = "Does the application fail without orders?"


@dataclass
class Visitor:
    """Somebody with a browser of their own.

    Attributes:
        context: The browser: cookies, language, zone.
        page: The window in front.
        name: What they are called.
        wrong: What the browser complained of, and requests to other places.
        places: What addresses of requests may begin with.
    """

    context: BrowserContext
    page: Page
    name: str
    wrong: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def watch(self, place: str) -> None:
        """Note every error on the console, and every request that leaves the service."""
        self.places += [place, "data:", "blob:"]

        def said(kind: str, text: str) -> None:
            # What the service refuses is told on the console too; that is asked for.
            if kind == "error" and "Failed to load resource" not in text:
                self.wrong.append(text)

        def asked(address: str) -> None:
            if not address.startswith(tuple(self.places)):
                self.wrong.append(address)

        self.context.on("console", lambda message: said(message.type, message.text))
        self.context.on("weberror", lambda error: self.wrong.append(str(error.error)))
        self.context.on("request", lambda request: asked(request.url))

    def enrol(self, code: str) -> None:
        """Choose a password with a one-time code; logged in from then on."""
        self.page.goto("/enrol")
        self.page.locator("[name=code]").fill(code)
        self.page.locator("[name=password]").fill(PASSWORD)
        self.page.locator("[name=password_again]").fill(PASSWORD)
        self.page.locator("main form button").click()
        expect(self.page.locator("header .who")).to_contain_text(self.name)

    def log_in(self) -> None:
        """Fill in the login form that is on the page."""
        self.page.locator("[name=name]").fill(self.name)
        self.page.locator("[name=password]").fill(PASSWORD)
        self.page.locator("main form button.primary").click()

    def click(self, name: str) -> None:
        """Press a button, or follow a link, of exactly this name."""
        button = self.page.get_by_role("button", name=name, exact=True)
        link = self.page.get_by_role("link", name=name, exact=True)
        button.or_(link).locator("visible=true").first.click()

    def open(self) -> None:
        """Look at the test, from the list."""
        self.page.goto("/")
        self.page.get_by_role("link", name=QUESTION).click()

    def take(self) -> None:
        """Take the test, from the list; the form is there then."""
        self.open()
        self.click("Take this test")
        expect(self.page.locator("form[data-draft]")).to_be_visible()

    def group(self, question: str) -> Locator:
        """What belongs to one observation."""
        return self.page.get_by_role("group", name=question)

    def choose(self, question: str, answer: str) -> None:
        """Answer yes or no."""
        self.group(question).get_by_label(answer, exact=True).check()

    def write(self, question: str, text: str) -> None:
        """Answer in words or with a number."""
        box = self.group(question).locator("textarea, input:not([type])").first
        box.fill(text)

    def give(self, question: str, *files: Path) -> None:
        """Add files to an answer; returns when the page lists them."""
        group = self.group(question)
        # Before the script is there, nobody can choose a file here.
        expect(group.locator("[data-with-script]").first).to_be_visible()
        group.locator("input[type=file]").set_input_files([str(one) for one in files])
        for one in files:
            expect(
                group.get_by_role("checkbox", name=re.compile(re.escape(one.name)))
            ).to_be_checked()

    def receipt(self) -> str:
        """What the receipt says of where the answer is."""
        title = self.page.get_by_role("heading", level=1)
        expect(title).to_have_text("Thank you. Your answer is stored.")
        return self.page.locator("main dl").first.inner_text()

    def answer(self, log: Path) -> None:
        """Answer everything that is asked."""
        self.choose("Does it fail?", "Yes")
        self.write("What does the log say?", "It divides by zero.")
        self.give("What does the log say?", log)
        self.write("How long did it take?", "0.5")

    def at(self, place: str) -> None:
        """Wait until a page is there whose address ends like this."""
        expect(self.page).to_have_url(re.compile(rf"{place}(\?.*)?$"))
        self.page.wait_for_load_state()

    def saved(self) -> None:
        """Wait until the page says that all is saved."""
        expect(self.page.locator("[data-save-status]")).to_have_attribute("data-state", "saved")

    def confirm(self) -> None:
        """Check the answer, and confirm what is shown."""
        self.click("Check the answer")
        self.click("Confirm the answer")
        self.receipt()
