"""How often the proofs repeat themselves: a little in `make test`, a lot in `make prove`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Numbers for tests whose worth grows with repetition."""

    schedules: int
    kills: int
    outages: int
    messages: int
    ordered: int
    followers: int
    crowd: int
    drained: int
    due: int
    away_seconds: int
    ledger_keys: int
    ledger_callers: int
    lost_commits: int
    examples: int
    broker_deaths: int
    """On each of three databases."""
    stock_operations: int
    """On each of three databases."""
    generated: int
    """As the API asks for them, and as many otherwise."""
    limited: int
    """Jobs on PostgreSQL; a tenth of them elsewhere."""
    takeovers: int
    """Of schedulers, on each of three databases."""
    scheduled: int
    """Jobs for later, on each of three databases."""
    night_kills: int
    """Of the shop's workers, on each of three databases."""
    cron_years: int
    cron_dues_a_day: int
    """What is due more often is only compared around changes of the clock."""
    confirmed_orders: int
    """To be shipped in one night, on each of three databases."""


SMALL = Counts(
    schedules=400,
    kills=30,
    outages=3,
    messages=2_000,
    ordered=8_000,
    followers=10_000,
    crowd=20_000,
    drained=10_000,
    due=5_000,
    away_seconds=3,
    ledger_keys=50,
    ledger_callers=20,
    lost_commits=50,
    examples=100,
    broker_deaths=7,
    stock_operations=180,
    generated=100,
    limited=5_000,
    takeovers=200,
    scheduled=10_000,
    night_kills=6,
    cron_years=1,
    cron_dues_a_day=4,
    confirmed_orders=2_000,
)
LARGE = Counts(
    schedules=20_000,
    kills=1_000,
    outages=50,
    messages=200_000,
    ordered=1_000_000,
    followers=100_000,
    crowd=1_000_000,
    drained=20_000,
    due=50_000,
    away_seconds=60,
    ledger_keys=1_000,
    ledger_callers=50,
    lost_commits=1_000,
    examples=5_000,
    broker_deaths=200,
    stock_operations=20_000,
    generated=10_000,
    limited=100_000,
    takeovers=10_000,
    scheduled=100_000,
    night_kills=100,
    cron_years=10,
    cron_dues_a_day=300,
    confirmed_orders=100_000,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--prove", action="store_true", help="run the proofs with large counts")


def pytest_configure(config: pytest.Config) -> None:
    # No deadline per example: it would measure the machine, not the code.
    settings.register_profile("todoke", max_examples=counts_of(config).examples, deadline=None)
    settings.load_profile("todoke")


@pytest.fixture(scope="session")
def counts(pytestconfig: pytest.Config) -> Counts:
    """The numbers of this run: small ones, or with `--prove` large ones."""
    return counts_of(pytestconfig)


def counts_of(config: pytest.Config) -> Counts:
    return LARGE if config.getoption("prove") else SMALL
