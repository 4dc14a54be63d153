"""The paper broker in a test's hands: a process that is told what to do, killed and restarted."""

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_PATIENCE = 60.0


class PaperBroker:
    """Keeps its port and its book over restarts. Needs httpx."""

    def __init__(self, folder: Path) -> None:
        self._store = folder / "broker.db"
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self._client = httpx.Client(trust_env=False, timeout=_PATIENCE)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        options = ["--port", str(self._port), "--store", str(self._store)]
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "shop.demo.tether", "shop.paper_broker", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None  # noqa: S101
        self._port = int(self._process.stdout.readline().rpartition(":")[2])

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self.wait()

    def wait(self) -> int:
        """Until it has ended by itself, with its exit code."""
        assert self._process is not None  # noqa: S101
        self._process.communicate(timeout=_PATIENCE)
        return self._process.returncode

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def script(self, *steps: dict[str, Any]) -> None:
        self._client.put(f"{self.url}/script", json=steps).raise_for_status()

    def orders(self) -> list[dict[str, Any]]:
        """What it has taken, oldest first."""
        found: list[dict[str, Any]] = self._get("/orders")
        return found

    def traffic(self) -> dict[str, Any]:
        found: dict[str, Any] = self._get("/traffic")
        return found

    def _get(self, path: str) -> Any:
        return self._client.get(f"{self.url}{path}").raise_for_status().json()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self._client.close()
