// An action for rules in JavaScript: tags the torrent of the run by its tracker.
//
// What a function of type `result` throws is its error, the variant's value ({ tag, val }); an error of the host arrives as an
// exception whose `payload` is that value. Anything else that is thrown is a bug, and ends the instance.

import { log } from 'quartermaster:base/log@0.1.0';
import { read, tags as change } from 'quartermaster:actions/torrents@0.1.0';

// The action's id, which rules store: never change it.
const ACTION = 'tag_by_tracker';
const TAG = { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^,]*[^,\\s][^,]*$' };
/** What the author of a rule enters; the host judges it by this before anything runs. */
const PARAMS = {
  type: 'object',
  required: ['tags'],
  additionalProperties: false,
  properties: {
    tags: {
      type: 'object',
      title: 'Tags',
      description: 'Tracker host → tag. A host stands for those below it too; of several the longest counts.',
      minProperties: 1,
      maxProperties: 200,
      additionalProperties: TAG,
    },
    otherwise: { ...TAG, title: 'Otherwise', description: 'Tag of torrents whose tracker is not listed, or not known' },
    replace: {
      type: 'boolean',
      title: 'Replace',
      description: 'Take away the tags of this rule that belong to other trackers',
    },
  },
};

/** A host as it is compared: lower case, without a trailing dot or a port (`[::1]:80` is `::1`). */
function hostOf(text) {
  const [, inner, plain] = /^(?:\[(.*)\](?::\d+)?|([^:]*)(?::\d+)?)$/.exec(text.trim().toLowerCase()) ?? [];
  return (inner ?? plain ?? text.trim().toLowerCase()).replace(/\.$/, '');
}

/** Whether `host` is `listed`, or lies below it. An address lies below nothing. */
function covers(listed, host) {
  const isAddress = /^[\d.]+$/.test(host) || host.includes(':');
  return host === listed || (!isAddress && listed !== '' && host.endsWith(`.${listed}`));
}

/** The tag of a tracker: none, if it is neither listed nor meant by `otherwise`. */
function tagOf(tracker, { tags, otherwise }) {
  if (typeof tracker !== 'string') return otherwise;
  const host = hostOf(tracker);
  const found = Object.entries(tags)
    .map(([listed, tag]) => ({ listed: hostOf(listed), tag }))
    .filter(({ listed }) => covers(listed, host))
    .sort((one, other) => other.listed.length - one.listed.length)[0];
  return found?.tag ?? otherwise;
}

/** Calls the host; what it refuses is handed on in its words. */
function ask(call) {
  try {
    return call();
  } catch (error) {
    throw error.payload ?? error;
  }
}

function tagByTracker(params) {
  // As it is now, not as it was when the rule was decided: trackers and tags may have changed since.
  const shown = ask(() => read());
  if (shown === undefined) throw { tag: 'not-found', val: 'torrent' };
  const torrent = JSON.parse(shown);
  const tag = tagOf(torrent.trackerHost, params);
  const has = new Set(torrent.tags);
  const others = params.replace ? [...Object.values(params.tags), params.otherwise ?? ''] : [];
  const add = tag !== undefined && !has.has(tag) ? [tag] : [];
  const remove = [...new Set(others)].filter((other) => other !== tag && has.has(other));
  // A torrent that is as it should be costs its client nothing.
  if (add.length || remove.length) ask(() => change(add, remove));
  log('debug', `${torrent.trackerHost ?? 'no tracker'}: +[${add}] -[${remove}]`);
}

export const actions = {
  describe: () => ({
    about: {
      id: 'tag_by_tracker_js',
      label: 'Tag by tracker (JavaScript)',
      version: '0.1.0',
      configSchema: JSON.stringify({ type: 'object', properties: {}, additionalProperties: false }),
      capabilities: ['torrents'],
      hosts: [],
      extra: [],
    },
    actions: [{
      id: ACTION,
      label: 'Tag by tracker',
      category: 'torrent',
      occasions: [{ tag: 'torrent' }, { tag: 'media' }],
      paramsSchema: JSON.stringify(PARAMS),
      idempotent: true, // a tag that is there is not added again
      extra: [],
    }],
    extra: [],
  }),

  run(action, _config, call) {
    if (action !== ACTION) throw { tag: 'unsupported', val: `There is no action ${action}` };
    tagByTracker(JSON.parse(call.params));
    return { extra: [] };
  },
};
