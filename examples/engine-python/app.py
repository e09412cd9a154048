"""A torrent client's kind in Python: Transmission, over its JSON RPC.

The world's plain functions live in a class named after the interface, here `Engine`; its resources live in a module
named after the interface, here `engine.py`.
"""

from wit_world import exports
from wit_world.imports.common import Descriptor

import engine  # read while the component is built: there is no file system once it runs

SCHEMA = """{
  "type": "object",
  "required": ["url"],
  "properties": {
    "url": {
      "type": "string", "x-grant": "http-url", "title": "RPC address",
      "description": "e.g. http://127.0.0.1:9091/transmission/rpc"
    },
    "username": {"type": "string"},
    "password": {"type": "string", "writeOnly": true}
  }
}"""


class Engine(exports.Engine):
    def describe(self) -> Descriptor:
        return Descriptor(
            id="transmission_py",
            label="Transmission (Python)",
            version="0.1.0",
            config_schema=SCHEMA,
            capabilities=["moves-data", "all-time-stats"],
            hosts=[],
            extra=[],
        )
