"""What the admin says, in English and Japanese; kept here, since gettext's tools are not needed."""

from __future__ import annotations

from django.utils.functional import lazy
from django.utils.translation import get_language

JAPANESE = {
    "overview": "概況",
    "Backlog": "滞留",
    "pending": "PENDING（待ち）",
    "processing": "PROCESSING（処理中）",
    "processed in the last minute": "PROCESSED（直近 1 分）",
    "dead letters": "デッドレター",
    "held keys": "保留中のキー",
    "the oldest for": "最古",
    "Workers": "ワーカー",
    "no worker is running": "稼働中のワーカーはありません。",
    "name": "名前",
    "since": "稼働時間",
    "lease": "リース",
    "lanes": "レーン",
    "ok": "有効",
    "ran out": "期限切れ",
    "Dead letters": "デッドレター",
    "newest 50": "新しい順に 50 件",
    "no dead letter is open": "未処理のデッドレターはありません。",
    "dead letter": "デッドレター",
    "code": "コード",
    "error class": "エラー分類",
    "message": "エラー内容",
    "attempts": "試行回数",
    "died": "断念",
    "event": "イベント",
    "type": "種別",
    "context": "コンテキスト",
    "key": "キー",
    "created": "発行",
    "closed": "対応済み",
    "payload": "内容",
    "traceback": "トレースバック",
    "Console": "コンソール",
    "To redrive or resolve it": "再投入または解決するには",
}


def say(text: str) -> str:
    """In the language of the request."""
    return JAPANESE.get(text, text) if (get_language() or "").startswith("ja") else text


say_later = lazy(say, str)
