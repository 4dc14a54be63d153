import argparse

import uvicorn

from shop.listener import listener
from shop.mailbox.mailbox import Mailbox
from shop.mailbox.server import MailServer
from shop.mailbox.web import create_mailbox_web


def main() -> None:
    options = _options()
    mailbox = Mailbox()
    smtp = listener(options.host, options.smtp_port, options.smtp_fd)
    page = listener(options.host, options.web_port, options.web_fd)
    server = MailServer(mailbox, options.host, bound=smtp)
    server.start()
    web = create_mailbox_web(mailbox, hosts=(options.host,))
    at = page.getsockname()[1]
    print(f"smtp://{options.host}:{server.port}  http://{options.host}:{at}/", flush=True)
    try:
        uvicorn.Server(uvicorn.Config(web, log_level="warning")).run([page])
    finally:
        server.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("shop.mailbox", description="Catch mail and show it.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--smtp-port", type=int, default=1025, help="0 takes any that is free")
    parser.add_argument("--web-port", type=int, default=8025, help="0 takes any that is free")
    parser.add_argument("--smtp-fd", type=int, help="an inherited socket instead of a port")
    parser.add_argument("--web-fd", type=int, help="an inherited socket instead of a port")
    return parser.parse_args()


if __name__ == "__main__":
    main()
