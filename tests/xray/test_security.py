"""Who may ask the X-ray what."""

from __future__ import annotations

import pytest

from kafka_py.xray.security import HEADERS, TOKEN_HEADER, Guard

GUARD = Guard("127.0.0.1", "secret")


@pytest.mark.parametrize("host", ["127.0.0.1:9404", "localhost:9404", "[::1]:9404", "LOCALHOST", "127.9.9.9"])
def test_this_machine_may_read(host: str) -> None:
    assert GUARD.refuses("GET", {"host": host}) is None


@pytest.mark.parametrize(
    "host", ["evil.com", "evil.com:9404", "", "127.0.0.1.evil.com", "[", "192.0.2.1", "a@evil.com"]
)
def test_a_name_that_was_rebound_may_not(host: str) -> None:
    assert "Host" in str(GUARD.refuses("GET", {"host": host}))


def test_the_address_that_is_listened_on_may_be_asked_for() -> None:
    guard = Guard("192.0.2.1", "secret")
    assert guard.refuses("GET", {"host": "192.0.2.1:9404"}) is None
    assert guard.host_for_links == "192.0.2.1"


def test_all_addresses_are_no_name_of_their_own() -> None:
    guard = Guard("0.0.0.0", "secret")
    assert guard.refuses("GET", {"host": "192.0.2.1:9404"}) is not None
    assert guard.host_for_links == "127.0.0.1"


@pytest.mark.parametrize("origin", ["http://evil.com", "null", "http://127.0.0.1:1", "https://127.0.0.1:9404"])
def test_a_page_from_elsewhere_is_refused(origin: str) -> None:
    headers = {"host": "127.0.0.1:9404", "origin": origin, TOKEN_HEADER: "secret"}
    assert "origin" in str(GUARD.refuses("POST", headers))


def test_an_image_on_another_site_is_refused() -> None:
    assert GUARD.refuses("GET", {"host": "localhost", "sec-fetch-site": "cross-site"}) is not None
    assert GUARD.refuses("GET", {"host": "localhost", "sec-fetch-site": "same-origin"}) is None


@pytest.mark.parametrize("token", ["", "secre", "secret ", "Secret", "\udcff"])
def test_a_button_needs_the_token(token: str) -> None:
    assert "token" in str(GUARD.refuses("POST", {"host": "localhost", TOKEN_HEADER: token}))


def test_the_page_itself_may_push_the_buttons() -> None:
    headers = {"host": "127.0.0.1:9404", "origin": "http://127.0.0.1:9404", TOKEN_HEADER: "secret"}
    assert GUARD.refuses("POST", headers) is None


def test_a_token_is_made_up_for_each_start() -> None:
    assert len(Guard().token) >= 20
    assert Guard().token != Guard().token


def test_no_script_in_the_page_and_none_from_elsewhere_is_run() -> None:
    assert "default-src 'self'" in HEADERS["Content-Security-Policy"]
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert HEADERS["X-Content-Type-Options"] == "nosniff"
