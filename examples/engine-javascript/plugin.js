// A torrent client's kind in JavaScript: Transmission, over its JSON RPC.
//
// Exported interfaces are objects of the same name. A `u64` is a BigInt here, an error of a `result` is thrown as the
// variant's value ({ tag, val }), and arrives as an exception whose `payload` is that value.

import { send } from 'quartermaster:base/http@0.1.0';

const SCHEMA = {
  type: 'object',
  required: ['url'],
  properties: {
    url: {
      type: 'string', 'x-grant': 'http-url', title: 'RPC address',
      description: 'e.g. http://127.0.0.1:9091/transmission/rpc',
    },
    username: { type: 'string' },
    password: { type: 'string', writeOnly: true },
  },
};
const IDLE_MS = 15_000;
const MAX_ANSWER = 64n << 20n;
const SESSION_ID = 'x-transmission-session-id';
const FIELDS = ['hashString', 'name', 'status', 'error', 'errorString', 'percentDone', 'sizeWhenDone', 'downloadedEver',
  'uploadedEver', 'uploadRatio', 'rateDownload', 'rateUpload', 'eta', 'peersSendingToUs', 'peersGettingFromUs',
  'peersConnected', 'bandwidthPriority', 'downloadDir', 'isPrivate', 'addedDate', 'doneDate', 'activityDate',
  'secondsSeeding', 'trackerStats'];
const STATES = ['stopped', 'checking', 'checking', 'queued', 'downloading', 'queued', 'seeding'];

const text = new TextDecoder();
const bytes = new TextEncoder();

const u64 = (number) => BigInt(Math.max(0, Math.trunc(Number(number) || 0)));
const positive = (number) => (Number(number) > 0 ? u64(number) : undefined);
const sum = (items, of) => items.reduce((total, item) => total + of(item), 0n);

function base64(data) {
  let binary = '';
  // In pieces: a call takes a bounded number of arguments.
  for (let at = 0; at < data.length; at += 8192) binary += String.fromCharCode(...data.subarray(at, at + 8192));
  return btoa(binary);
}

/** Why the network said no, in words for a user. */
function networkError(url, error) {
  const { tag, val } = error.payload ?? {};
  switch (tag) {
    case 'denied': return { tag: 'denied', val };
    case 'timeout': return { tag: 'timeout', val: `${url} fell silent` };
    case 'too-large': return { tag: 'protocol', val: `the answer of ${url} is too large` };
    default: return { tag: 'unreachable', val: `${url}: ${val ?? 'no connection'}` };
  }
}

function hostOf([tracker]) {
  const authority = /^[a-z]+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)/i.exec(tracker?.announce ?? '');
  return authority?.[1].replace(/^\[|\]$/g, '').toLowerCase() || undefined;
}

function torrentOf(t) {
  return {
    hash: t.hashString.toLowerCase(),
    name: t.name,
    state: t.error >= 3 ? 'error' : STATES[t.status] ?? 'unknown', // 1 and 2 are a tracker's complaints
    progress: Math.min(Math.max(t.percentDone, 0), 1),
    size: u64(t.sizeWhenDone),
    downloaded: u64(t.downloadedEver),
    uploaded: u64(t.uploadedEver),
    ratio: Math.max(t.uploadRatio, 0),
    downloadRate: u64(t.rateDownload),
    uploadRate: u64(t.rateUpload),
    eta: positive(t.eta),
    seedsConnected: t.peersSendingToUs,
    seedsTotal: t.peersSendingToUs,
    peersConnected: t.peersGettingFromUs,
    peersTotal: t.peersConnected,
    priority: t.bandwidthPriority + 2,
    label: undefined,
    tags: [],
    savePath: t.downloadDir,
    contentPath: `${t.downloadDir}/${t.name}`,
    isPrivate: t.isPrivate,
    message: t.errorString || undefined,
    addedAt: positive(t.addedDate),
    completedAt: positive(t.doneDate),
    trackerHost: hostOf(t.trackerStats),
    secondsSeeded: u64(t.secondsSeeding),
    lastActivity: positive(t.activityDate),
    availability: undefined,
    extra: [],
  };
}

class Session {
  #url;
  #authorization;
  #sessionId = '';
  #cursor = 0n;

  constructor({ url, username, password }) {
    this.#url = url;
    if (username) this.#authorization = `Basic ${base64(bytes.encode(`${username}:${password ?? ''}`))}`;
  }

  static open(config) {
    return new Session(JSON.parse(config));
  }

  #send(body) {
    const header = (name, value) => ({ name, value: bytes.encode(value) });
    const headers = [header('content-type', 'application/json'), header(SESSION_ID, this.#sessionId)];
    if (this.#authorization) headers.push(header('authorization', this.#authorization));
    try {
      const response = send({ method: 'POST', url: this.#url, headers, body, idleMs: IDLE_MS, maxBody: MAX_ANSWER });
      try {
        return { status: response.status(), headers: response.headers(), body: response.readToEnd() };
      } finally {
        response[Symbol.dispose]?.(); // gives the connection back at once; without it that waits for the collector
      }
    } catch (error) {
      throw networkError(this.#url, error);
    }
  }

  #call(method, args) {
    const body = bytes.encode(JSON.stringify({ method, arguments: args }));
    let answer = this.#send(body);
    if (answer.status === 409) {
      const told = answer.headers.find(({ name }) => name.toLowerCase() === SESSION_ID);
      this.#sessionId = told ? text.decode(told.value) : '';
      answer = this.#send(body);
    }
    if (answer.status === 401 || answer.status === 403) {
      throw { tag: 'auth', val: 'the client refuses the credentials or this address' };
    }
    if (answer.status !== 200) throw { tag: 'protocol', val: `the client answered ${answer.status}` };
    let told;
    try {
      told = JSON.parse(text.decode(answer.body));
    } catch {
      throw { tag: 'protocol', val: 'the answer is not JSON' };
    }
    if (told.result !== 'success') throw { tag: 'rejected', val: String(told.result).slice(0, 200) };
    return told.arguments;
  }

  #torrents(fields, hash) {
    return this.#call('torrent-get', hash === undefined ? { fields } : { fields, ids: [hash] }).torrents;
  }

  #one(hash, ...fields) {
    const [found] = this.#torrents(fields, hash);
    if (!found) throw { tag: 'not-found', val: 'torrent' };
    return found;
  }

  health() {
    return { version: this.#call('session-get', { fields: ['version'] }).version, extra: [] };
  }

  /** In full every time: nothing has to be remembered, and the host sees what differs. */
  poll(_cursor, _attention) {
    const changed = this.#torrents(FIELDS).map(torrentOf);
    this.#cursor += 1n;
    const stats = {
      downloadRate: sum(changed, (t) => t.downloadRate),
      uploadRate: sum(changed, (t) => t.uploadRate),
      downloadRateLimit: 0n,
      uploadRateLimit: 0n,
      totalDownloaded: sum(changed, (t) => t.downloaded),
      totalUploaded: sum(changed, (t) => t.uploaded),
      torrentCount: changed.length,
      activeCount: changed.filter(({ state }) => state === 'downloading' || state === 'seeding').length,
    };
    return { cursor: this.#cursor, full: true, changed, removed: [], stats, extra: [] };
  }

  get(hash) {
    const [found] = this.#torrents(FIELDS, hash);
    return found && torrentOf(found);
  }

  files(hash) {
    const { files, fileStats } = this.#one(hash, 'files', 'fileStats');
    return files.map((file, index) => ({
      index,
      path: file.name,
      size: u64(file.length),
      progress: file.length ? file.bytesCompleted / file.length : 1,
      priority: !fileStats[index].wanted ? 0 : fileStats[index].priority === 1 ? 2 : 1,
      extra: [],
    }));
  }

  peers(hash) {
    return this.#one(hash, 'peers').peers.map((p) => ({
      ip: p.address,
      port: p.port,
      client: p.clientName || undefined,
      country: undefined,
      progress: p.progress,
      downloadRate: u64(p.rateToClient),
      uploadRate: u64(p.rateToPeer),
      encrypted: p.isEncrypted,
      extra: [],
    }));
  }

  trackers(hash) {
    const count = (number) => (number >= 0 ? number : undefined);
    return this.#one(hash, 'trackerStats').trackerStats.map((t) => ({
      url: t.announce,
      tier: t.tier,
      status: !t.hasAnnounced ? 'enabled' : t.lastAnnounceSucceeded ? 'working' : 'error',
      seeders: count(t.seederCount),
      leechers: count(t.leecherCount),
      message: ['', 'Success'].includes(t.lastAnnounceResult) ? undefined : t.lastAnnounceResult,
      extra: [],
    }));
  }

  add({ source, options }) {
    const args = { paused: options.startPaused };
    if (options.savePath !== undefined) args['download-dir'] = options.savePath;
    if (source.tag === 'magnet') args.filename = source.val;
    else args.metainfo = base64(source.val);
    this.#call('torrent-add', args); // one it has is a success
  }

  #runOne(hash, { tag, val }) {
    this.#one(hash, 'id'); // unknown ones are ignored in silence
    const ids = [hash];
    switch (tag) {
      case 'start': case 'resume': return this.#call('torrent-start', { ids });
      case 'stop': case 'pause': return this.#call('torrent-stop', { ids });
      case 'recheck': return this.#call('torrent-verify', { ids });
      case 'move': return this.#call('torrent-set-location', { ids, location: val, move: true });
      case 'remove':
        this.#call('torrent-remove', { ids, 'delete-local-data': val });
        if (this.#torrents(['id'], hash).length) {
          throw { tag: 'protocol', val: 'the client took the removal but lists the torrent still' };
        }
        return undefined;
      default: throw { tag: 'unsupported', val: 'This engine cannot do that yet' };
    }
  }

  run(hashes, command) {
    return hashes.map((hash) => {
      try {
        this.#runOne(hash, command);
        return { hash, error: undefined };
      } catch (error) {
        if (!error.tag) throw error; // a bug of ours
        return { hash, error };
      }
    });
  }

  sessionStats() {
    const session = this.#call('session-get', {});
    const free = session['download-dir-free-space'];
    return {
      engineVersion: session.version,
      peerId: undefined,
      listenPort: session['peer-port'],
      dhtEnabled: session['dht-enabled'],
      freeDiskBytes: free >= 0 ? u64(free) : undefined,
      totalDiskBytes: undefined,
      extra: [],
    };
  }

  allTime() {
    const totals = this.#call('session-stats', {})['cumulative-stats'];
    return { downloaded: u64(totals.downloadedBytes), uploaded: u64(totals.uploadedBytes) };
  }

  getRateLimits() {
    throw { tag: 'unsupported', val: 'This engine has no global limits' };
  }

  setRateLimits() {
    throw { tag: 'unsupported', val: 'This engine has no global limits' };
  }
}

export const engine = {
  describe: () => ({
    id: 'transmission_js',
    label: 'Transmission (JavaScript)',
    version: '0.1.0',
    configSchema: JSON.stringify(SCHEMA),
    capabilities: ['moves-data', 'all-time-stats'],
    hosts: [],
    extra: [],
  }),
  Session,
};
