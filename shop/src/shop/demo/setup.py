"""Where the demo keeps its things, and what its processes are told."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shop.app import wired
from shop.database import migrate
from shop.demo.ports import Ports
from todoke import Settings, Todoke


@dataclass(frozen=True)
class Places:
    """All below one folder, so that deleting it forgets the demo."""

    root: Path

    @property
    def database_url(self) -> str:
        return f"sqlite:///{self.root / 'shop.db'}"

    @property
    def broker_book(self) -> Path:
        return self.root / "broker.db"

    @property
    def exported(self) -> Path:
        return self.root / "export"

    @property
    def sent(self) -> Path:
        return self.root / "sent"

    @property
    def logs(self) -> Path:
        return self.root / "log"


def environment(places: Places, ports: Ports) -> dict[str, str]:
    """The environment of the children; settings of another shop are left out."""
    inherited = {name: value for name, value in os.environ.items() if not _is_setting(name)}
    return inherited | {
        "TODOKE_DATABASE_URL": places.database_url,
        "MAIL_HOST": "127.0.0.1",
        "MAIL_PORT": str(ports.smtp.number),
        "BROKER_URL": f"http://127.0.0.1:{ports.broker.number}",
        "JOBS_EXPORT_FOLDER": str(places.exported),
        "JOBS_SFTP_SENT": str(places.sent),
        "PYTHONUNBUFFERED": "1",
    }


def prepare(places: Places, told: Mapping[str, str]) -> Todoke:
    """The application as the children see it, with its tables made."""
    places.logs.mkdir(parents=True, exist_ok=True)
    app = wired(Todoke(settings=Settings(environment=told)))
    app.migrate()
    migrate(app.engine)
    return app


def _is_setting(name: str) -> bool:
    return name.startswith(("TODOKE_", "MAIL_", "BROKER_", "JOBS_", "INVENTORY_"))
