"""The page's words in the languages it speaks."""

from dataclasses import dataclass

from shop.html_page import language_for


@dataclass(frozen=True)
class Words:
    language: str
    title: str
    nothing: str
    count: str
    subject: str
    sender: str
    recipient: str
    received: str
    message_id: str
    attachments: str
    back: str
    other_language: str
    other_name: str


ENGLISH = Words(
    language="en",
    title="Mail",
    nothing="No mail yet. This page looks again every few seconds.",
    count="{count} caught",
    subject="Subject",
    sender="From",
    recipient="To",
    received="Received",
    message_id="Message-ID",
    attachments="Attachments",
    back="All mail",
    other_language="ja",
    other_name="日本語",
)

JAPANESE = Words(
    language="ja",
    title="メール",
    nothing="メールはまだ届いていません。数秒ごとに自動で更新されます。",
    count="{count} 件",
    subject="件名",
    sender="差出人",
    recipient="宛先",
    received="受信日時",
    message_id="Message-ID",
    attachments="添付ファイル",
    back="一覧に戻る",
    other_language="en",
    other_name="English",
)


def words_for(asked: str | None, accepted: str) -> Words:
    return JAPANESE if language_for(asked, accepted) == "ja" else ENGLISH
