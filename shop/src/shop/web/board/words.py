"""The board's words in the languages it speaks."""

from collections.abc import Mapping
from dataclasses import dataclass

from shop.html_page import language_for


@dataclass(frozen=True)
class Words:
    language: str
    title: str
    as_of: str
    refreshes: str
    stands_still: str
    stop: str
    go_on: str
    trouble: str
    # Figures.
    running: str
    waiting: str
    dead: str
    dead_open: str
    dead_none: str
    workers: str
    workers_none: str
    workers_live: str
    workers_silent: str
    workers_registered: str
    # Running now.
    running_now: str
    running_caption: str
    nothing_runs: str
    more_run: str
    share: str
    just_taken: str
    since: str
    worker: str
    progress: str
    # Schedules.
    schedules: str
    schedules_caption: str
    no_schedule: str
    schedule: str
    timetable: str
    next_tick: str
    last_tick: str
    state: str
    active: str
    off: str
    paused: str
    never: str
    waiting_ticks: str
    # What waits.
    waits: str
    waits_caption: str
    nothing_waits: str
    queue: str
    ready: str
    later: str
    held: str
    oldest: str
    paused_by: str
    # Runs.
    runs: str
    runs_of: str
    runs_caption: str
    no_runs: str
    no_runs_of: str
    all_jobs: str
    job: str
    status: str
    attempt: str
    attempts: str
    processed: str
    started: str
    duration: str
    note: str
    days: str
    hours: str
    minutes: str
    seconds: str
    statuses: Mapping[str, str]
    ticks: Mapping[str, str]
    other_language: str
    other_name: str


ENGLISH = Words(
    language="en",
    title="Jobs",
    as_of="as of {moment}",
    refreshes="This page looks again every {seconds} seconds.",
    stands_still="This page stands still.",
    stop="Stop that",
    go_on="Refresh it",
    trouble="The database does not answer, or has no tables of todoke yet. The log says why.",
    running="Running",
    waiting="Waiting",
    dead="Dead letters",
    dead_open="wait for a person: todoke dead-letters list",
    dead_none="nothing was given up",
    workers="Workers",
    workers_none="nobody works: start todoke worker",
    workers_live="live",
    workers_silent="live; {count} more let their lease run out",
    workers_registered="registered; todoke status tells which live",
    running_now="Running now",
    running_caption="What workers have in hand, the longest first",
    nothing_runs="Nothing runs at the moment.",
    more_run="The newest {shown} of {count}.",
    share="{processed} of {total}",
    just_taken="a moment ago",
    since="Since",
    worker="Worker",
    progress="Progress",
    schedules="Schedules",
    schedules_caption="Times are in each schedule's own zone",
    no_schedule="No schedule is declared.",
    schedule="Schedule",
    timetable="Due at",
    next_tick="Next tick",
    last_tick="Last tick",
    state="State",
    active="Active",
    off="Off by configuration",
    paused="Paused by {by} since {since}: {reason}",
    never="never yet",
    waiting_ticks="{count} wait for the run before",
    waits="What waits",
    waits_caption="By queue and job",
    nothing_waits="Nothing waits.",
    queue="Queue",
    ready="Ready",
    later="Later",
    held="Held",
    oldest="Oldest ready",
    paused_by="Paused {by}",
    runs="Last runs",
    runs_of="Last runs of {job}",
    runs_caption="The newest {count}, times in UTC",
    no_runs="Nothing has run yet.",
    no_runs_of="There is no run of {job}, or none that is kept.",
    all_jobs="Show all jobs",
    job="Job",
    status="Status",
    attempt="Attempt",
    attempts="{number} of {most}",
    processed="Processed",
    started="Started",
    duration="Duration",
    note="Note or error",
    days="{} d",
    hours="{} h",
    minutes="{} min",
    seconds="{} s",
    statuses={
        "RUNNING": "Running",
        "SUCCEEDED": "Succeeded",
        "FAILED": "Failed",
        "SKIPPED": "Skipped",
    },
    ticks={
        "RAN": "Ran",
        "LATE": "Ran late",
        "WAITING": "Waiting",
        "SKIPPED": "Skipped",
        "MISSED": "Missed",
    },
    other_language="ja",
    other_name="日本語",
)

JAPANESE = Words(
    language="ja",
    title="ジョブ",
    as_of="{moment} 時点",
    refreshes="このページは {seconds} 秒ごとに自動で更新されます。",
    stands_still="自動更新は停止しています。",
    stop="更新を止める",
    go_on="自動更新を再開する",
    trouble="データベースが応答しないか、todoke のテーブルがまだありません。"
    "原因はログに記録されています。",
    running="実行中",
    waiting="待ち",
    dead="デッドレター",
    dead_open="対応待ち: todoke dead-letters list",
    dead_none="断念したものはありません",
    workers="ワーカー",
    workers_none="稼働していません: todoke worker を起動してください",
    workers_live="稼働中",
    workers_silent="稼働中（ほかに {count} はリース期限切れ）",
    workers_registered="登録済み（稼働状況は todoke status で確認）",
    running_now="現在実行中",
    running_caption="ワーカーが処理中のジョブ（長い順）",
    nothing_runs="実行中のジョブはありません。",
    more_run="{count} 件のうち新しい {shown} 件を表示しています。",
    share="{total} 件中 {processed} 件",
    just_taken="たった今",
    since="開始",
    worker="ワーカー",
    progress="進捗",
    schedules="スケジュール",
    schedules_caption="時刻は各スケジュールのタイムゾーン",
    no_schedule="スケジュールは登録されていません。",
    schedule="スケジュール",
    timetable="実行時刻",
    next_tick="次回",
    last_tick="前回",
    state="状態",
    active="有効",
    off="設定により無効",
    paused="{by} が {since} から一時停止: {reason}",
    never="まだありません",
    waiting_ticks="{count} 件が前の実行の終了待ち",
    waits="待ちの内訳",
    waits_caption="キューとジョブごとの件数",
    nothing_waits="待っているジョブはありません。",
    queue="キュー",
    ready="実行可能",
    later="時刻待ち",
    held="保留",
    oldest="最古の待ち時間",
    paused_by="一時停止 {by}",
    runs="最近の実行",
    runs_of="{job} の最近の実行",
    runs_caption="新しい順に最大 {count} 件、時刻は UTC",
    no_runs="まだ何も実行されていません。",
    no_runs_of="{job} の実行記録はありません（保存期間を過ぎた可能性もあります）。",
    all_jobs="すべてのジョブを表示",
    job="ジョブ",
    status="結果",
    attempt="試行",
    attempts="{number} / {most}",
    processed="処理件数",
    started="開始",
    duration="所要時間",
    note="メモ・エラー",
    days="{} 日",
    hours="{} 時間",
    minutes="{} 分",
    seconds="{} 秒",
    statuses={
        "RUNNING": "実行中",
        "SUCCEEDED": "成功",
        "FAILED": "失敗",
        "SKIPPED": "スキップ",
    },
    ticks={
        "RAN": "実行",
        "LATE": "遅れて実行",
        "WAITING": "待ち",
        "SKIPPED": "スキップ",
        "MISSED": "未実行",
    },
    other_language="en",
    other_name="English",
)


def words_for(asked: str | None, accepted: str) -> Words:
    return JAPANESE if language_for(asked, accepted) == "ja" else ENGLISH
