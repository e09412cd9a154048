"""A notification channel in Python: pushes by ntfy, from the public server or one of your own.

The world's functions live in a class named after the interface, here `Channel`. Every call is given the configuration and
runs in an instance of its own: nothing is kept between two calls, and nothing has to be.
"""

import json
import re
import unicodedata  # noqa: F401 — what `urlsplit` imports late must be there when the component is built
from typing import Any, Optional
from urllib.parse import urlsplit

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import common, http, messages, transport

PUBLIC = "https://ntfy.sh"
SCHEMA = {
    "type": "object",
    "required": ["topic"],
    "additionalProperties": False,
    "properties": {
        # What it names may be dialled. Left out it is the public server, which `describe` asks an administrator for: a
        # default of this schema would grant nothing.
        "server": {
            "type": "string",
            "x-grant": "http-url",
            "maxLength": 300,
            "title": "Server",
            "description": f"Address of your own ntfy server, e.g. https://ntfy.example.org; left out, {PUBLIC}",
        },
        # Secret, because on a server without accounts whoever knows the topic reads it and writes to it.
        "topic": {
            "type": "string",
            "writeOnly": True,
            "pattern": "^[-_A-Za-z0-9]{1,64}$",
            "title": "Topic",
            "description": "Letters, digits, `-` and `_`, at most 64. Choose one that nobody guesses",
        },
        "token": {
            "type": "string",
            "writeOnly": True,
            "maxLength": 200,
            "title": "Access token",
            "description": "tk_…, if the topic is protected",
        },
        "priority": {
            "type": "integer",
            "minimum": 1,
            "maximum": 5,
            "title": "Priority",
            "description": "1 (silent) to 5 (urgent), 3 when left out; warnings have at least 4, errors 5",
        },
        "tags": {
            "type": "array",
            "maxItems": 5,
            "items": {"type": "string", "minLength": 1, "maxLength": 40},
            "title": "Tags",
            "description": "Shown with every message; names of emoji become emoji",
        },
    },
}
TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")

# Bytes: more than this of a text and the server makes a file of it; a title is one line on a phone.
TEXT_BYTES = 4096
TITLE_BYTES = 250
URL_BYTES = 2048

IDLE_MS = 10_000
MAX_ANSWER = 64 << 10

# What kind of event it is, as the card of a message says: the least priority, and the emoji.
ACCENTS = {
    "success": (1, "white_check_mark"),
    "warning": (4, "warning"),
    "error": (5, "rotating_light"),
}


def invalid(why: str) -> Err:
    return Err(common.PluginError_InvalidConfig(why))


class Target:
    """Where a configuration leads."""

    def __init__(self, text: str):
        config = json.loads(text)
        self.origin = origin_of(config.get("server") or PUBLIC)
        self.topic = config.get("topic") or ""
        if not TOPIC.fullmatch(self.topic):
            raise invalid("`topic` has 1 to 64 letters, digits, `-` and `_`")
        self.token = config.get("token") or None
        self.priority = config.get("priority") or 3
        self.tags = config.get("tags") or []

    def label(self) -> str:
        """For people, without what is secret."""
        return f"{self.topic[:3]}… on {self.origin.partition('://')[2]}"

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, list, bytes]:
        headers = [http.Header("accept", b"application/json")]
        if body:
            headers.append(http.Header("content-type", b"application/json"))
        if self.token:
            headers.append(http.Header("authorization", f"Bearer {self.token}".encode()))
        url = self.origin + path
        try:
            # `with` gives the connection back at once; without it that waits for the collector
            with http.send(http.Request(method, url, headers, body, IDLE_MS, MAX_ANSWER)) as response:
                return response.status(), response.headers(), response.read_to_end()
        except Err as error:
            raise network_error(self.origin, error.value) from None


def origin_of(server: str) -> str:
    """`https://host[:port]` of what was entered."""
    wrong = invalid("`server` must be an address like https://ntfy.example.org, without a path")
    try:
        parts = urlsplit(server.strip())
        port = parts.port
    except ValueError:
        raise wrong from None
    bare = parts.path in ("", "/") and not parts.query and not parts.fragment and "@" not in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or not bare:
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port is None else f":{port}")


def network_error(whom: str, error: Any) -> Err:
    """Why the network said no, in words for the person whose channel it is."""
    if isinstance(error, transport.NetError_Denied):
        return Err(common.PluginError_Denied(error.value))
    if isinstance(error, transport.NetError_Timeout):
        return Err(common.PluginError_Timeout(f"{whom} fell silent"))
    if isinstance(error, transport.NetError_TooLarge):
        return Err(common.PluginError_Protocol(f"the answer of {whom} is too large"))
    return Err(common.PluginError_Unreachable(f"{whom}: {getattr(error, 'value', 'no connection')}"))


def refusal(target: Target, status: int, headers: list, body: bytes) -> Err:
    """What an answer other than 200 means for whoever sends: come again, or never."""
    later = retry_after(headers)
    if status == 429 or (status == 503 and later is not None):
        return Err(common.PluginError_Throttled(later))
    if status >= 500:
        # Tried again, with growing pauses.
        return Err(common.PluginError_Unreachable(f"{target.origin} answered {status}"))
    if status in (401, 403):
        return Err(common.PluginError_Auth(said(body) or f"{target.origin} answered {status}"))
    if 300 <= status < 400 or status in (404, 405):
        return invalid(f"`server`: no ntfy server answers at {target.origin} (status {status}; redirects are not followed)")
    return Err(common.PluginError_Rejected(said(body) or f"{target.origin} answered {status}"))


def retry_after(headers: list) -> Optional[int]:
    """Seconds; a date is left to the host's own pauses."""
    for header in headers:
        if header.name.lower() == "retry-after" and header.value.strip().isdigit():
            return min(int(header.value), 86_400)
    return None


def fields(body: bytes | str) -> dict:
    """The object in a JSON text, or an empty one."""
    try:
        found = json.loads(body) if body else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def said(body: bytes) -> str:
    """The server's own words for a refusal."""
    error = fields(body).get("error")
    return error[:200] if isinstance(error, str) else ""


def cut(text: str, size: int) -> str:
    """At most `size` bytes of it, in whole characters."""
    whole = text.encode()
    return text if len(whole) <= size else whole[: size - 3].decode(errors="ignore") + "…"


def publication(target: Target, message: messages.Message) -> tuple[dict, Optional[str]]:
    """The message as ntfy takes it, and what was left out of it."""
    least, emoji = ACCENTS.get(str(fields(message.presentation).get("accent")), (1, None))
    text = cut(message.text, TEXT_BYTES)
    body = {
        "topic": target.topic,
        "title": cut(message.subject, TITLE_BYTES),
        "message": text,
        "priority": max(target.priority, least),
        "tags": ([emoji] if emoji else []) + target.tags,
    }
    if message.button and len(message.button.url) <= URL_BYTES:
        body["click"] = message.button.url
    missing = ["the end of a long text"] if text != message.text else []
    if message.picture:
        missing.append("the picture")
    return body, f"Left out: {' and '.join(missing)}" if missing else None


class Channel(exports.Channel):
    def describe(self) -> messages.Description:
        return messages.Description(
            about=common.Descriptor(
                id="ntfy_py",
                label="ntfy (Python)",
                version="0.1.0",
                config_schema=json.dumps(SCHEMA),
                capabilities=[],
                hosts=[PUBLIC],
                extra=[],
            ),
            text_limit=TEXT_BYTES,
            caption_limit=0,
            links_by_code=False,
            extra=[],
        )

    def verify(self, config: str) -> messages.Destination:
        # Answered without an account, and refused with a wrong token. Whether that may write to the topic shows in the
        # message that is sent once it is connected.
        target = Target(config)
        status, headers, body = target.ask("GET", "/v1/health")
        if status != 200:
            raise refusal(target, status, headers, body)
        health = fields(body).get("healthy")
        if health is None:
            raise invalid(f"`server`: what answers at {target.origin} is no ntfy server")
        if health is not True:
            raise Err(common.PluginError_Unreachable(f"{target.origin} says that it is not healthy"))
        return messages.Destination(label=target.label(), state="", extra=[])

    def link(self, config: str, code: str) -> Optional[messages.Destination]:
        raise Err(common.PluginError_Unsupported("ntfy needs no code: the topic says where messages go"))

    def send(self, config: str, state: str, message: messages.Message) -> messages.Receipt:
        target = Target(config)
        body, reduced = publication(target, message)
        status, headers, answer = target.ask("POST", "/", json.dumps(body).encode())
        if status != 200:
            raise refusal(target, status, headers, answer)
        told = fields(answer).get("id")
        if not isinstance(told, str):
            # Not sent again: whatever it is, it took the message.
            raise invalid(f"`server`: what answers at {target.origin} is no ntfy server")
        return messages.Receipt(id=told[:100], reduced=reduced, extra=[])
