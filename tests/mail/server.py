"""A mail server that prints each message it takes as one line of JSON, with the text that Python reads in it.

Arguments: `silent` does not answer to the first message; `starttls` or `smtps`, followed by the files of a certificate
and its key, speaks TLS.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP


class Handler:
    is_silent = "silent" in sys.argv

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.SMTP)
        parts = [part for part in message.walk() if not part.is_multipart()]
        taken = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "message_id": message["Message-ID"],
            "defects": len(message.defects) + sum(len(part.defects) for part in message.walk()),
            "parts": [[part.get_content_type(), part.get_content().strip()] for part in parts],
            "content": envelope.content.decode(),
            "encrypted": server.transport.get_extra_info("cipher") is not None,
        }
        print(json.dumps(taken), flush=True)
        if Handler.is_silent:
            Handler.is_silent = False
            await asyncio.Event().wait()
        return "250 2.0.0 taken"


def tls_after(word):
    if word not in sys.argv:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[sys.argv.index(word) + 1 :][:2])
    return context


async def main():
    starttls = tls_after("starttls")

    def smtp():
        return SMTP(Handler(), tls_context=starttls, require_starttls=starttls is not None)

    server = await asyncio.get_running_loop().create_server(smtp, "127.0.0.1", 0, ssl=tls_after("smtps"))
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
