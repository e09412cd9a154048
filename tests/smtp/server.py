"""A mail server for tests: aiosmtpd on a free port of 127.0.0.1, which it prints, with STARTTLS or with TLS from the start.

Takes one argument, a JSON object: `journal` (a file; each letter it takes is a line of JSON there), `cert` and `key` (PEM
files), `implicit` (TLS from the start), `user` and `password` (who may send; none: anybody). `nobody@…` does not exist, and
`later@…` is to be tried later.
"""

import asyncio
import json
import os
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

SETTINGS = json.loads(sys.argv[1])


class Journal:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 No such user here"
        if address.startswith("later@"):
            return "451 4.7.1 Greylisted, come back in five minutes"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        login = session.auth_data
        letter = {
            "tls": server.transport.get_extra_info("sslcontext") is not None,
            "login": login.login.decode() if login else None,
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "data": envelope.content.decode("utf-8"),
        }
        with open(SETTINGS["journal"], "a", encoding="utf-8") as journal:
            journal.write(json.dumps(letter) + "\n")
        # Taken, and not said so, for as long as a test wants it.
        while os.path.exists(SETTINGS["journal"] + ".holds"):
            await asyncio.sleep(0.05)
        return "250 Taken"


def authenticate(server, session, envelope, mechanism, data):
    expected = (SETTINGS["user"].encode(), SETTINGS["password"].encode())
    is_known = isinstance(data, LoginPassword) and (data.login, data.password) == expected
    return AuthResult(success=is_known, handled=False, auth_data=data)


async def main():
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(SETTINGS["cert"], SETTINGS["key"])
    is_implicit = SETTINGS["implicit"]
    needs_login = SETTINGS["user"] is not None

    def protocol():
        return SMTP(
            Journal(),
            hostname="mail.test",
            tls_context=None if is_implicit else context,
            require_starttls=not is_implicit,
            authenticator=authenticate if needs_login else None,
            auth_required=needs_login,
            # It sees no TLS that it did not begin itself.
            auth_require_tls=not is_implicit,
            enable_SMTPUTF8=True,
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=context if is_implicit else None)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
