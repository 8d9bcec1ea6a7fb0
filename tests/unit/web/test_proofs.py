"""Secrets: how long they are, and what is forgiven when one is typed in."""

from __future__ import annotations

import hashlib
import re

from vstore.web.proofs import code_digest, digest, new_code, new_secret, new_token


def test_forms() -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", new_secret())
    assert re.fullmatch(r"vst_[A-Za-z0-9_-]{43}", new_token())
    assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}", new_code())
    for new in (new_secret, new_token, new_code):
        assert len({new() for _ in range(200)}) == 200


def test_every_symbol_of_the_alphabet_comes_up() -> None:
    assert len(set("".join(new_code() for _ in range(300)))) == 32 + 1


def test_what_is_stored() -> None:
    assert digest("abc") == hashlib.sha256(b"abc").digest()
    assert len(digest("\ud800")) == 32


def test_a_code_typed_differently() -> None:
    assert code_digest("7K2QF-00111-ABCDE-ZZZZZ") == code_digest(" 7k2qf 0oiIl abcde\tzzzzz\n")
    assert code_digest("7K2QF-00111-ABCDE-ZZZZZ") != code_digest("7K2QF-00111-ABCDE-ZZZZY")
    code_digest("x" * 10**6)
