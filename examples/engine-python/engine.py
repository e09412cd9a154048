"""The resource `session` of the interface `engine`."""

import base64
import json
from typing import Any, Optional

from componentize_py_types import Err
from wit_world.exports import engine
from wit_world.imports import common, http, records, transport

IDLE_MS = 15_000
MAX_ANSWER = 64 << 20
SESSION_ID = "x-transmission-session-id"
FIELDS = """hashString name status error errorString percentDone sizeWhenDone downloadedEver uploadedEver uploadRatio
    rateDownload rateUpload eta peersSendingToUs peersGettingFromUs peersConnected bandwidthPriority downloadDir isPrivate
    addedDate doneDate activityDate secondsSeeding trackerStats""".split()
STATES = {
    0: records.TorrentState.STOPPED,
    1: records.TorrentState.CHECKING,
    2: records.TorrentState.CHECKING,
    3: records.TorrentState.QUEUED,
    4: records.TorrentState.DOWNLOADING,
    5: records.TorrentState.QUEUED,
    6: records.TorrentState.SEEDING,
}
ACTIVE = (records.TorrentState.DOWNLOADING, records.TorrentState.SEEDING)


def unsupported() -> Err:
    return Err(common.PluginError_Unsupported("This engine cannot do that yet"))


def network_error(url: str, error: Any) -> Err:
    """Why the network said no, in words for a user."""
    if isinstance(error, transport.NetError_Denied):
        return Err(common.PluginError_Denied(error.value))
    if isinstance(error, transport.NetError_Timeout):
        return Err(common.PluginError_Timeout(f"{url} fell silent"))
    if isinstance(error, transport.NetError_TooLarge):
        return Err(common.PluginError_Protocol(f"the answer of {url} is too large"))
    return Err(common.PluginError_Unreachable(f"{url}: {getattr(error, 'value', 'no connection')}"))


def positive(number: Any) -> Optional[int]:
    return number if isinstance(number, int) and number > 0 else None


def host_of(trackers: list) -> Optional[str]:
    for tracker in trackers:
        authority = tracker["announce"].partition("://")[2].partition("/")[0]
        host = authority.rpartition("@")[2]
        host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        return host.lower() or None
    return None


def torrent(t: dict) -> records.Torrent:
    error = t["errorString"]
    return records.Torrent(
        hash=t["hashString"].lower(),
        name=t["name"],
        # 1 and 2 are a tracker's complaints
        state=records.TorrentState.ERROR if t["error"] >= 3 else STATES.get(t["status"], records.TorrentState.UNKNOWN),
        progress=min(max(t["percentDone"], 0.0), 1.0),
        size=t["sizeWhenDone"],
        downloaded=t["downloadedEver"],
        uploaded=t["uploadedEver"],
        ratio=max(t["uploadRatio"], 0.0),
        download_rate=t["rateDownload"],
        upload_rate=t["rateUpload"],
        eta=positive(t["eta"]),
        seeds_connected=t["peersSendingToUs"],
        seeds_total=t["peersSendingToUs"],
        peers_connected=t["peersGettingFromUs"],
        peers_total=t["peersConnected"],
        priority=t["bandwidthPriority"] + 2,
        label=None,
        tags=[],
        save_path=t["downloadDir"],
        content_path=f"{t['downloadDir']}/{t['name']}",
        is_private=t["isPrivate"],
        message=error or None,
        added_at=positive(t["addedDate"]),
        completed_at=positive(t["doneDate"]),
        tracker_host=host_of(t["trackerStats"]),
        seconds_seeded=t["secondsSeeding"],
        last_activity=positive(t["activityDate"]),
        availability=None,
        extra=[],
    )


class Session(engine.Session):
    def __init__(self, config: dict):
        self.url = config["url"]
        self.session_id = ""
        self.cursor = 0
        self.authorization = None
        if config.get("username"):
            both = f"{config['username']}:{config.get('password', '')}"
            self.authorization = b"Basic " + base64.b64encode(both.encode())

    @classmethod
    def open(cls, config: str) -> "Session":
        return cls(json.loads(config))

    def _send(self, body: bytes) -> tuple[int, list, bytes]:
        headers = [http.Header("content-type", b"application/json"), http.Header(SESSION_ID, self.session_id.encode())]
        if self.authorization:
            headers.append(http.Header("authorization", self.authorization))
        try:
            # `with` gives the connection back at once; without it that waits for the collector
            with http.send(http.Request("POST", self.url, headers, body, IDLE_MS, MAX_ANSWER)) as response:
                return response.status(), response.headers(), response.read_to_end()
        except Err as error:
            raise network_error(self.url, error.value) from None

    def _call(self, method: str, arguments: dict) -> dict:
        body = json.dumps({"method": method, "arguments": arguments}).encode()
        status, headers, answer = self._send(body)
        if status == 409:
            self.session_id = next((h.value.decode() for h in headers if h.name.lower() == SESSION_ID), "")
            status, headers, answer = self._send(body)
        if status in (401, 403):
            raise Err(common.PluginError_Auth("the client refuses the credentials or this address"))
        if status != 200:
            raise Err(common.PluginError_Protocol(f"the client answered {status}"))
        try:
            told = json.loads(answer)
        except ValueError:
            raise Err(common.PluginError_Protocol("the answer is not JSON")) from None
        if told["result"] != "success":
            raise Err(common.PluginError_Rejected(told["result"][:200]))
        return told["arguments"]

    def _torrents(self, fields: list, hash: Optional[str] = None) -> list:
        arguments: dict = {"fields": fields}
        if hash is not None:
            arguments["ids"] = [hash]
        return self._call("torrent-get", arguments)["torrents"]

    def _one(self, hash: str, *fields: str) -> dict:
        found = self._torrents(list(fields), hash)
        if not found:
            raise Err(common.PluginError_NotFound("torrent"))
        return found[0]

    def health(self) -> records.Health:
        return records.Health(self._call("session-get", {"fields": ["version"]})["version"], [])

    def poll(self, cursor: Optional[int], attention: records.Attention) -> records.Delta:
        # In full every time: nothing has to be remembered, and the host sees what differs.
        changed = [torrent(t) for t in self._torrents(FIELDS)]
        self.cursor += 1
        stats = records.GlobalStats(
            download_rate=sum(t.download_rate for t in changed),
            upload_rate=sum(t.upload_rate for t in changed),
            download_rate_limit=0,
            upload_rate_limit=0,
            total_downloaded=sum(t.downloaded for t in changed),
            total_uploaded=sum(t.uploaded for t in changed),
            torrent_count=len(changed),
            active_count=sum(t.state in ACTIVE for t in changed),
        )
        return records.Delta(self.cursor, True, changed, [], stats, [])

    def get(self, hash: str) -> Optional[records.Torrent]:
        found = self._torrents(FIELDS, hash)
        return torrent(found[0]) if found else None

    def files(self, hash: str) -> list[records.File]:
        t = self._one(hash, "files", "fileStats")
        return [
            records.File(
                index=index,
                path=file["name"],
                size=file["length"],
                progress=file["bytesCompleted"] / file["length"] if file["length"] else 1.0,
                priority=0 if not stats["wanted"] else 2 if stats["priority"] == 1 else 1,
                extra=[],
            )
            for index, (file, stats) in enumerate(zip(t["files"], t["fileStats"]))
        ]

    def peers(self, hash: str) -> list[records.Peer]:
        return [
            records.Peer(
                ip=p["address"],
                port=p["port"],
                client=p["clientName"] or None,
                country=None,
                progress=p["progress"],
                download_rate=p["rateToClient"],
                upload_rate=p["rateToPeer"],
                encrypted=p["isEncrypted"],
                extra=[],
            )
            for p in self._one(hash, "peers")["peers"]
        ]

    def trackers(self, hash: str) -> list[records.Tracker]:
        def status(t: dict) -> records.TrackerStatus:
            if not t["hasAnnounced"]:
                return records.TrackerStatus.ENABLED
            return records.TrackerStatus.WORKING if t["lastAnnounceSucceeded"] else records.TrackerStatus.ERROR

        def count(number: int) -> Optional[int]:
            return number if number >= 0 else None

        return [
            records.Tracker(
                url=t["announce"],
                tier=t["tier"],
                status=status(t),
                seeders=count(t["seederCount"]),
                leechers=count(t["leecherCount"]),
                message=None if t["lastAnnounceResult"] in ("", "Success") else t["lastAnnounceResult"],
                extra=[],
            )
            for t in self._one(hash, "trackerStats")["trackerStats"]
        ]

    def add(self, request: records.AddRequest) -> None:
        arguments: dict = {"paused": request.options.start_paused}
        if request.options.save_path is not None:
            arguments["download-dir"] = request.options.save_path
        if isinstance(request.source, records.Source_Magnet):
            arguments["filename"] = request.source.value
        else:
            arguments["metainfo"] = base64.b64encode(request.source.value).decode()
        self._call("torrent-add", arguments)  # one it has is a success

    def _run_one(self, hash: str, command: records.Command) -> None:
        self._one(hash, "id")  # unknown ones are ignored in silence
        ids = {"ids": [hash]}
        if isinstance(command, (records.Command_Start, records.Command_Resume)):
            self._call("torrent-start", ids)
        elif isinstance(command, (records.Command_Stop, records.Command_Pause)):
            self._call("torrent-stop", ids)
        elif isinstance(command, records.Command_Recheck):
            self._call("torrent-verify", ids)
        elif isinstance(command, records.Command_Move):
            self._call("torrent-set-location", ids | {"location": command.value, "move": True})
        elif isinstance(command, records.Command_Remove):
            self._call("torrent-remove", ids | {"delete-local-data": command.value})
            if self._torrents(["id"], hash):
                raise Err(common.PluginError_Protocol("the client took the removal but lists the torrent still"))
        else:
            raise unsupported()

    def run(self, hashes: list[str], command: records.Command) -> list[records.Outcome]:
        def outcome(hash: str) -> records.Outcome:
            try:
                self._run_one(hash, command)
                return records.Outcome(hash, None)
            except Err as error:
                return records.Outcome(hash, error.value)

        return [outcome(hash) for hash in hashes]

    def session_stats(self) -> records.SessionStats:
        session = self._call("session-get", {})
        return records.SessionStats(
            engine_version=session["version"],
            peer_id=None,
            listen_port=positive(session["peer-port"]),
            dht_enabled=session["dht-enabled"],
            free_disk_bytes=positive(session.get("download-dir-free-space")),
            total_disk_bytes=None,
            extra=[],
        )

    def all_time(self) -> Optional[records.Transfer]:
        totals = self._call("session-stats", {})["cumulative-stats"]
        return records.Transfer(totals["downloadedBytes"], totals["uploadedBytes"])

    def get_rate_limits(self) -> records.RateLimits:
        raise Err(common.PluginError_Unsupported("This engine has no global limits"))

    def set_rate_limits(self, limits: records.RateLimits) -> None:
        raise Err(common.PluginError_Unsupported("This engine has no global limits"))
