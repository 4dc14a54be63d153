"""What code, environment and TOML said, in this order of weight.

`a.b` in TOML is `TODOKE_A_B` in the environment. Names of todoke's own sections are checked, so
that a misspelt one stops the start; other sections are the user's, and so is, for what jobs want to
be told, `jobs.<group>.<option>`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, overload

from todoke.duration import seconds
from todoke.errors import InvalidOption
from todoke.retry import PRESETS, Backoff

D = TypeVar("D")

DEFAULTS: Mapping[str, object] = {
    "app": None,
    "name": "todoke",
    "env": "dev",
    "database.url": "sqlite:///todoke.db",
    "database.schema": "todoke",
    "database.prefix": "todoke_",
    "database.listen_url": None,
    "database.prepare": True,
    "database.require_tls": None,
    "worker.processes": 1,
    "worker.threads": 16,
    "worker.queues": {"default": 16},
    "worker.contexts": None,
    "worker.drain_timeout": "30s",
    "worker.timeout": "10m",
    "outbox.poll": "1s",
    "outbox.profile": "safe",
    "outbox.batch": 100,
    "outbox.handler_grace": "60s",
    "outbox.wake_gap": "20ms",
    "lease.duration": "15s",
    "lease.renew": "5s",
    "lease.poison": 3,
    "payload.max_bytes": 1024 * 1024,
    "retention.processed": "7d",
    "retention.inbox": None,
    "retention.dead": "14d",
    "ledger.expires": "24h",
    "ledger.retry_after": "5s",
    "ledger.conflict_status": 409,
    "ledger.store": "success+business",
    "telemetry.prometheus": "off",
    "jobs.keep_successes": 100,
    "jobs.keep": "365d",
    "jobs.late_after": "60s",
    "jobs.processes": None,
    "archive.to": None,
    "archive.format": "jsonl.zst",
}
PROFILES: Mapping[str, int] = {"safe": 100, "throughput": 500}
"""How many rows a claim takes at most; `throughput` settles beside its claims, too."""
CONFLICTS = (409, 422)
STORES = ("success", "success+business", "all")
"""What of a request's outcomes is kept under its key; what is not leaves the key free."""
_MAY_BE_NOTHING = ("worker.drain_timeout", "outbox.handler_grace", "outbox.wake_gap")
HANDLER_OPTIONS = ("retry", "timeout", "on_crash", "followers")
SCHEDULE_OPTIONS = ("cron", "every", "tz", "missed", "cap", "overlap", "jitter")
QUEUE_OPTIONS = ("limit", "rate")
_OF_JOBS = ("jobs.enabled.", "jobs.schedule.")
# Sections whose second part is a name the user gives, and what may stand behind it.
_NAMED = {
    "retry": ("delays", "attempts"),
    "handlers": HANDLER_OPTIONS,
    "queues": QUEUE_OPTIONS,
}
_OURS = {name.partition(".")[0] for name in DEFAULTS if "." in name}


class Settings:
    """Settings by dotted name; `load` reads todoke.toml or [tool.todoke] and the environment."""

    def __init__(
        self,
        values: Mapping[str, object] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        origin: str = "code",
    ) -> None:
        self._values = dict(_flat(values or {}))
        self._origins = dict.fromkeys(self._values, origin)
        self._environment = os.environ if environment is None else environment
        self._overruled: frozenset[str] = frozenset()
        for name in self._values:
            _check_name(name)

    @classmethod
    def load(cls, path: Path | str | None = None) -> Settings:
        file = Path(path) if path else _find()
        return cls(_read(file), origin=file.name) if file else cls()

    def with_values(self, values: Mapping[str, object]) -> Settings:
        """A copy in which these values win over TOML and environment."""
        other = Settings(self._values, environment=self._environment)
        said = dict(_flat(values))
        for name in said:
            _check_name(name)
        other._values.update(said)
        other._origins = {**self._origins, **dict.fromkeys(said, "code")}
        variables = {_variable(name) for full in said for name in _prefixes(full)}
        other._overruled = self._overruled | variables
        return other

    @overload
    def get(self, name: str) -> Any: ...
    @overload
    def get(self, name: str, default: D) -> Any | D: ...
    def get(self, name: str, default: object = None) -> Any:
        if (text := self._said_outside(name)) is not None:
            return text
        if name == "outbox.batch" and name not in self._values:
            return PROFILES[self.profile]
        return self._values.get(name, DEFAULTS.get(name, default))

    def text(self, name: str) -> str:
        return str(self.get(name))

    def number(self, name: str, *, least: int = 1) -> int:
        value = self.get(name)
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise InvalidOption(name, value, "must be a whole number.") from None
        if number < least:
            raise InvalidOption(name, value, f"must be at least {least}.")
        return number

    def flag(self, name: str) -> bool:
        value = self.get(name)
        known = {"true": True, "1": True, "false": False, "0": False}
        if str(value).lower() not in known:
            raise InvalidOption(name, value, "must be true or false.")
        return known[str(value).lower()]

    def seconds(self, name: str) -> float:
        value = seconds(self.get(name), name)
        if value == 0 and name not in _MAY_BE_NOTHING:
            raise InvalidOption(name, self.get(name), "must be longer than nothing.")
        return value

    @property
    def env(self) -> str:
        return self.text("env")

    @property
    def requires_tls(self) -> bool:
        """As said; where nothing is said, in production."""
        if self.get("database.require_tls") is None:
            return self.env == "prod"
        return self.flag("database.require_tls")

    @property
    def database_url(self) -> str:
        return self.text("database.url")

    @property
    def profile(self) -> str:
        profile = self.text("outbox.profile")
        if profile not in PROFILES:
            raise InvalidOption("outbox.profile", profile, f"one of {', '.join(PROFILES)}.")
        return profile

    @property
    def batch(self) -> int:
        """How many rows a claim takes at most."""
        batch, most = self.number("outbox.batch"), PROFILES["safe"]
        if self.profile == "safe" and batch > most:
            raise InvalidOption(
                "outbox.batch", batch, f'more than {most} needs outbox.profile = "throughput".'
            )
        return batch

    @property
    def queues(self) -> dict[str, int]:
        """How many handlers run at once, by queue."""
        if isinstance(text := self.get("worker.queues"), str):
            return _read_queues(text)
        names = {name for name in self._values if name.startswith("worker.queues.")}
        if not names:
            return dict(DEFAULTS["worker.queues"])  # type: ignore[call-overload, no-any-return]
        return {name.removeprefix("worker.queues."): self.number(name) for name in sorted(names)}

    @property
    def contexts(self) -> list[str] | None:
        """The contexts a worker serves; None are all."""
        said = self.get("worker.contexts")
        if said is None:
            return None
        names = said.split(",") if isinstance(said, str) else said
        if not isinstance(names, list | tuple) or not all(
            isinstance(name, str) and name.strip() for name in names
        ):
            raise InvalidOption("worker.contexts", said, 'write ["ordering", "shipping"].')
        return [name.strip() for name in names]

    def job_enabled(self, name: str) -> bool:
        """`jobs.enabled.<name>`: off, and its runs are recorded as skipped."""
        full = f"jobs.enabled.{name}"
        return self.get(full) is None or self.flag(full)

    @property
    def switched_jobs(self) -> list[str]:
        """Jobs that `jobs.enabled.<name>` names; the environment cannot be asked for them."""
        names = {name.split(".")[2] for name in self._values if name.startswith("jobs.enabled.")}
        return sorted(names)

    def schedule(self, name: str) -> dict[str, object]:
        """What `jobs.schedule.<name>` says: a cron expression, or options by name."""
        full = f"jobs.schedule.{name}"
        options = {option: self.get(f"{full}.{option}") for option in SCHEDULE_OPTIONS}
        if (said := self.get(full)) is not None:
            options["cron"] = said
        return {option: value for option, value in options.items() if value is not None}

    @property
    def named_schedules(self) -> list[str]:
        """Schedules that `jobs.schedule.<name>` names; the environment cannot be asked for them."""
        names = {name.split(".")[2] for name in self._values if name.startswith("jobs.schedule.")}
        return sorted(names)

    def queue_bounds(self, name: str) -> dict[str, object]:
        """What `queues.<name>` allows over all processes: `limit`, `rate`."""
        said = {option: self.get(f"queues.{name}.{option}") for option in QUEUE_OPTIONS}
        return {option: value for option, value in said.items() if value is not None}

    @property
    def conflict_status(self) -> int:
        """What a key is answered that was used for something else."""
        status = self.number("ledger.conflict_status")
        if status not in CONFLICTS:
            raise InvalidOption("ledger.conflict_status", status, "409, or 422 as IETF's draft.")
        return status

    @property
    def stored_failures(self) -> str:
        """Which failures of a request are its outcome for good; see STORES."""
        store = self.text("ledger.store")
        if store not in STORES:
            raise InvalidOption("ledger.store", store, f"one of {', '.join(STORES)}.")
        return store

    @property
    def retry_policies(self) -> dict[str, Backoff]:
        """The presets, with what `retry.<name>` adds or changes."""
        names = {name.split(".")[1] for name in self._values if name.startswith("retry.")}
        return {**PRESETS, **{name: self._policy(name) for name in names}}

    def for_handler(self, name: str) -> dict[str, object]:
        """Options that `handlers.<name>` overrides."""
        said = {option: self.get(f"handlers.{name}.{option}") for option in HANDLER_OPTIONS}
        return {option: value for option, value in said.items() if value is not None}

    @property
    def named_handlers(self) -> list[str]:
        """Handlers that `handlers.<name>` names; the environment cannot be asked for them."""
        names = {name.split(".")[1] for name in self._values if name.startswith("handlers.")}
        return sorted(names)

    def explain(self) -> list[tuple[str, object, str]]:
        """Each setting by name, with its value and where it came from."""
        names = {*DEFAULTS, *self._values}
        queues = {name for name in names if name.startswith("worker.queues.")}
        # A text says all queues at once; single queues stand instead of the default.
        names -= queues if isinstance(self.get("worker.queues"), str) else set()
        names -= {"worker.queues"} if queues & names else set()
        return [(name, self.get(name), self._origin(name)) for name in sorted(names)]

    def _origin(self, name: str) -> str:
        if self._said_outside(name) is not None:
            return "environment"
        return self._origins.get(name, "default")

    def _said_outside(self, name: str) -> str | None:
        variable = _variable(name)
        return None if variable in self._overruled else self._environment.get(variable)

    def _policy(self, name: str) -> Backoff:
        delays = self._values.get(f"retry.{name}.delays", ())
        attempts = self._values.get(f"retry.{name}.attempts")
        if not isinstance(delays, list | tuple):
            raise InvalidOption(f"retry.{name}.delays", delays, 'a list such as ["30s", "60s"].')
        return Backoff(*delays, attempts=attempts)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        # Values may be secrets (a database URL with a password), so only names are shown.
        return f"Settings({', '.join(sorted(self._values))})"


def _variable(name: str) -> str:
    return "TODOKE_" + name.upper().replace(".", "_").replace("-", "_")


def _check_name(name: str) -> None:
    section, _, last = name.partition(".")[0], *name.rpartition(".")[1:]
    if section in _NAMED and (last not in _NAMED[section] or name.count(".") != 2):
        raise InvalidOption(name, "…", f"write {section}.<name>.{'|'.join(_NAMED[section])}.")
    if name.startswith(_OF_JOBS):
        _check_job(name)
    elif section == "jobs" and name.count(".") == 2:
        _check_own(name)
    elif section in _OURS and name not in DEFAULTS and not name.startswith("worker.queues."):
        ours = sorted(known for known in DEFAULTS if known.startswith(section + "."))
        raise InvalidOption(name, "…", f"no such setting. Known: {', '.join(ours)}.")


def _check_job(name: str) -> None:
    """jobs.enabled.<job>, jobs.schedule.<name>, or one of a schedule's options."""
    _, kind, _, *option = name.split(".")
    known = SCHEDULE_OPTIONS if kind == "schedule" else ()
    if len(option) > 1 or not set(option) <= set(known):
        raise InvalidOption(name, "…", f"write jobs.{kind}.<name>, or one of {known} behind it.")


def _check_own(name: str) -> None:
    """jobs.<group>.<option> is for the application's own jobs; a slip of the pen is not."""
    _, group, option = name.split(".")
    if meant := get_close_matches(group, ("enabled", "schedule"), cutoff=0.75):
        raise InvalidOption(name, "…", f"did you mean jobs.{meant[0]}.{option}?")


def _flat(values: Mapping[str, object], start: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{start}{key}.")
        else:
            yield start + key, value


def _prefixes(name: str) -> Iterator[str]:
    """a.b.c -> a, a.b, a.b.c: `TODOKE_WORKER_QUEUES` says all queues at once."""
    parts = name.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _read_queues(text: str) -> dict[str, int]:
    pairs = [part.strip().partition("=") for part in text.split(",")]
    if not all(name and re.fullmatch("[1-9][0-9]*", count) for name, _, count in pairs):
        raise InvalidOption("worker.queues", text, 'write "default=16,files=2".')
    return {name: int(count) for name, _, count in pairs}


def _find() -> Path | None:
    files = (Path("todoke.toml"), Path("pyproject.toml"))
    return next((file for file in files if file.is_file()), None)


def _read(path: Path) -> Mapping[str, object]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidOption(str(path), "…", f"no valid TOML: {error}.") from error
    if path.name == "pyproject.toml":
        return values.get("tool", {}).get("todoke", {})  # type: ignore[no-any-return]
    return values
