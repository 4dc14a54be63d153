"""Just enough HTTP to use the shop as a customer would, without proxies in between."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


@dataclass(frozen=True)
class Site:
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Answer:
        return self._ask("GET", path)

    def post(self, path: str, body: object = None) -> Answer:
        return self._ask("POST", path, body)

    def put(self, path: str, body: object) -> Answer:
        return self._ask("PUT", path, body)

    def answers(self, path: str) -> bool:
        try:
            return self.get(path).status == 200
        except (OSError, HTTPException):
            return False

    def _ask(self, method: str, path: str, body: object = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            text = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json", "X-Operator": "demo"}
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read() or b"null"))
        finally:
            connection.close()
