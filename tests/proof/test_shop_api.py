"""The shop's whole API under requests that nobody thought of, beside a shop where much goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from schemathesis import Case, GenerationMode, Response

from shop.mailbox.server import MailServer
from shop.testing import SKU, Sandbox, sandbox
from tests.counts import Counts
from tests.dying import drain_through
from todoke.testing import Clock

Record = Callable[[str, object], None]

KEYS = ["k-1", "k-2"]
BUSY = 6
"""Orders in each of their states: what a request has spoilt, another one finds intact."""


class Description:
    """What the shop says that it answers."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._validator = cache(self._new_validator)

    def faults(self, path: str, method: str, answer: Response) -> list[str]:
        """What the answer has that the description has not."""
        status = str(answer.status_code)
        content = self._responses(path, method).get(status, {}).get("content", {})
        (media_type,) = answer.headers["content-type"]
        if media_type not in content:
            return [f"{status} {media_type} is not documented: {answer.text[:500]}"]
        document = answer.json()
        validator = self._validator(path, method, status, media_type)
        found = [error.message for error in validator.iter_errors(document)]
        if answer.status_code >= 400 and document["code"] not in content[media_type]["examples"]:
            found.append(f"{document['code']} is not documented: {answer.text[:500]}")
        return found

    def _responses(self, path: str, method: str) -> dict[str, Any]:
        found: dict[str, Any] = self._document["paths"][path][method.lower()]["responses"]
        return found

    def _new_validator(self, *where: str) -> Draft202012Validator:
        path, method, status, media_type = where
        content = self._responses(path, method)[status]["content"]
        components = {"components": self._document["components"]}
        return Draft202012Validator(content[media_type]["schema"] | components)


def busy(shop: Sandbox) -> dict[str, list[int | str]]:
    """Fill the shop; tells the numbers under which something is there."""
    shop.offer("YUNOMI-05", stock=1_000_000)
    orders = [shop.place() for _ in range(BUSY)]
    early = [shop.place_and_confirm() for _ in range(BUSY)]
    shop.work()
    with shop.app.session() as session:
        shop.app.jobs.run(session, "create-shipment", by="test", reason="to lose its file")
    drain_through(shop.app, "transfer.after_reveal", between=lambda: take_all(shop))
    for order_id in early[:3]:
        shop.web.post(f"/api/order/{order_id}/mark-shipped").raise_for_status()
    late = [shop.place_and_confirm() for _ in range(BUSY)]
    shop.work()
    shop.run("create-shipment")
    for key in KEYS:
        shop.do_order(key, by="anonymous").raise_for_status()
    files = [file["id"] for file in shop.files()]
    assert len(files) == 2
    found = {"order_id": [*orders, *early, *late], "file_id": files, "key": KEYS}
    return {**found, "sku": [SKU, "YUNOMI-05"]}


def take_all(shop: Sandbox) -> None:
    """The receiver takes what he finds."""
    for file in shop.sent.iterdir():
        file.unlink()


def steered(case: Case[Any], known: dict[str, list[int | str]], draw: st.DataObject) -> None:
    """Let it be about something that is there."""
    for name, values in known.items():
        if name in (case.path_parameters or {}):
            case.path_parameters[name] = draw.draw(st.sampled_from(values))
    lines = case.body.get("lines") if isinstance(case.body, dict) else None
    for line, sku in zip(lines if isinstance(lines, list) else [], known["sku"], strict=False):
        if isinstance(line, dict):
            line["sku"] = sku


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_generated_request_gets_an_answer_of_the_description(
    migrated_url: str,
    mail_server: MailServer,
    counts: Counts,
    mode: GenerationMode,
    record_property: Record,
) -> None:
    """SE-4, SH-1: as the API asks and otherwise; half of them about what is there. Never a 500."""
    with sandbox(migrated_url, mail_server, Clock()) as shop, closing(requests.Session()) as line:
        known = busy(shop)
        document = shop.web.get("/openapi.json").json()
        description, url = Description(document), str(shop.web.base_url)
        schema = schemathesis.openapi.from_dict(document)
        answers: Counter[int] = Counter()
        operations: set[str] = set()

        @settings(max_examples=counts.generated, suppress_health_check=list(HealthCheck))
        @given(case=schema.as_strategy(mode), draw=st.data(), is_there=st.booleans())
        def ask(case: Case[Any], draw: st.DataObject, is_there: bool) -> None:
            if is_there:
                steered(case, known, draw)
            answer = case.call(base_url=url, session=line, allow_redirects=False)
            answers[answer.status_code] += 1
            operations.add(case.operation.label)
            faults = description.faults(case.operation.path, case.method, answer)
            assert not faults, case.as_curl_command()

        ask()
        shop.work()
    record_property("requests", answers.total())
    record_property("operations", len(operations))
    record_property("answers", dict(sorted(answers.items())))
    assert answers.total() >= counts.generated
