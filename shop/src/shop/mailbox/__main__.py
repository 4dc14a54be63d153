import argparse

import uvicorn

from shop.mailbox.mailbox import Mailbox
from shop.mailbox.server import MailServer
from shop.mailbox.web import create_mailbox_web


def main() -> None:
    options = _options()
    mailbox = Mailbox()
    server = MailServer(mailbox, options.host, options.smtp_port)
    server.start()
    web = create_mailbox_web(mailbox, hosts=(options.host,))
    print(f"smtp://{options.host}:{server.port}  http://{options.host}:{options.web_port}/")
    try:
        uvicorn.run(web, host=options.host, port=options.web_port, log_level="warning")
    finally:
        server.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("shop.mailbox", description="Catch mail and show it.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--smtp-port", type=int, default=1025)
    parser.add_argument("--web-port", type=int, default=8025)
    return parser.parse_args()


if __name__ == "__main__":
    main()
