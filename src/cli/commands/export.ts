import type { Command } from 'commander';
import type { Countersign } from '../../client';
import type { Bundle, Rewriter } from '../../history/exported';
import type { Context } from '../context';
import { writeNewFile } from '../../system/named-files';
import { manifest } from '../own-modules';
import { count } from '../../contract/text/columns';
import type { Screen } from '../print/screen';
import { escapeText } from '../../contract/text/escape';
import { shellWord } from '../../contract/text/shell-word';
import { isFile } from '../turn-or-file';
import { withProgress } from '../progress';
import { parseTarget } from '../target';
import { isObject } from '../../contract/json';
import { hideSecrets, REDACTED, redactSecrets, redactText } from '../../contract/text/redact';

interface ExportOptions {
  out?: string;
  redact: boolean;
}

/** `export <turn>`. */
export function addExport(program: Command, context: Context): void {
  program
    .command('export <turn>')
    .description('write a turn to a file that others can replay, without its secrets')
    .option('--out <file>', 'the file (default: <turn>.json)')
    .option('--no-redact', 'leave secrets in')
    .action((turn: string, options: ExportOptions) => exportTurn(parseTarget(turn).turn, options, context));
}

/** The exported file: the number of its runs and events, and the values that were taken out. */
interface Exported {
  turn: string;
  file: string;
  runs: number;
  events: number;
  redacted: Bundle['redacted'];
}

async function exportTurn(named: string, options: ExportOptions, context: Context) {
  const { screen } = context;
  const exported = await context.withClient(async (client) => {
    const turn = await client.find(named);
    const { out: file = `${turn}.json` } = options;
    const reading = () => bundleOf(client, turn, options.redact);
    const { bundle, events } = await withProgress(screen, () => `reading ${turn}`, reading);
    await writeNewFile(file, `${JSON.stringify(bundle, null, 2)}\n`);
    return { turn, file, runs: bundle.runs.length, events, redacted: bundle.redacted };
  });
  context.print(exported, () => exportedLines(exported, context, screen));
}

async function bundleOf(client: Countersign, turn: string, redact: boolean) {
  const { makeBundle } = await import('../../history/exported.js');
  const runs = await client.histories(turn);
  const { namespace } = client;
  const place = {
    version: manifest().version,
    namespace,
    turn,
    converter: client.client.options.loadedDataConverter,
  };
  const known = createKnownSecrets();
  if (redact) await makeBundle(runs, { ...place, rewriter: learner(known) });
  const rewriter = redact ? createRedactor(known) : keepAll;
  const { runs: written, ...head } = await makeBundle(runs, { ...place, rewriter });
  const bundle: Bundle = { ...head, redacted: { secrets: redact, values: rewriter.taken() }, runs: written };
  return { bundle, events: runs.reduce((sum, run) => sum + (run.events?.length ?? 0), 0) };
}

function exportedLines({ file, runs, events, redacted }: Exported, { command }: Context, { style }: Screen) {
  const many = runs === 1 ? '' : ` in ${runs} runs`;
  const named = isFile(file) ? file : `./${file}`;
  return [
    style.good(`wrote ${escapeText(file)}: ${count(events)} events${many}`),
    redacted.secrets
      ? `Took out ${count(redacted.values)} values that look like secrets. It is a net, not a proof: look before you send it.`
      : style.warn('It still holds secrets, and nothing is encrypted: do not send it to anyone.'),
    `${style.quiet('read it with')}  ${style.link(command(`show ${shellWord(named)}`))}`,
  ];
}

/**
 * Secrets that were found by their names. These secrets are taken out everywhere, because a tool may repeat its
 * password.
 */
interface KnownSecrets {
  /** Remembers the values that redaction took out. */
  learn(before: unknown, after: unknown): void;
  /** Returns a value without the secrets. Ids and words that a replay reads stay. */
  hide(value: unknown): unknown;
  hideText(text: string): string;
}

/** Shorter secrets are not replaced, because they occur in too many words. */
const LEAST_CHARS = 6;
const MOST_SECRETS = 1000;

/** Fields that the workflow reads. A password with the text `approved` must not change a decision. */
const STRUCTURE: ReadonlySet<string> = new Set(
  (
    'agent callId callKey code contentType decision decisionId digest argsDigest contentDigest toolDigest previewDigest planDigest seenDigest door effect ' +
    'failureType finishReason id key kind order outcome replyId resolution safety safety_level server state status ' +
    'taskQueue timestamp tool type verdict'
  ).split(' '),
);
/** Fields below which every text comes from the model, a tool or a person. */
const FREE: ReadonlySet<string> = new Set(['arguments', 'proposed', 'details']);

/** Starts without any known secret. */
export function createKnownSecrets(): KnownSecrets {
  const known = new Set<string>();
  let longestFirst: readonly string[] = [];
  const hideText = (text: string) => hideSecrets(text, longestFirst);
  const hide = (value: unknown, isFree: boolean): unknown => {
    if (typeof value === 'string') return hideText(value);
    if (Array.isArray(value)) return value.map((item) => hide(item, isFree));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => {
        const isKept = !isFree && typeof item === 'string' && STRUCTURE.has(name);
        return [name, isKept ? item : hide(item, isFree || FREE.has(name))];
      }),
    );
  };
  return {
    learn: (before, after) => {
      const size = known.size;
      for (const secret of takenTexts(before, after)) if (known.size < MOST_SECRETS) known.add(secret);
      if (known.size > size) longestFirst = [...known].sort((one, other) => other.length - one.length);
    },
    hide: (value) => (known.size === 0 ? value : hide(value, false)),
    hideText,
  };
}

/** The texts that redaction took out completely. */
function takenTexts(before: unknown, after: unknown) {
  return changesIn(before, after).flatMap(([was, is]) => (is === REDACTED ? textsIn(was) : []));
}

/** All texts in a value. The value may be an object that was taken out as a whole, such as `credentials`. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.trim().length >= LEAST_CHARS ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The differences between a value and its redacted copy, at every depth, as pairs of before and after. */
function changesIn(before: unknown, after: unknown): [unknown, unknown][] {
  if (isObject(before) && isObject(after))
    return Object.keys(before).flatMap((name) => changesIn(before[name], after[name]));
  if (Array.isArray(before) && Array.isArray(after))
    return before.flatMap((item, index) => changesIn(item, after[index]));
  return before === after ? [] : [[before, after]];
}

/** A rewriter that counts the values that it changed. */
interface Redactor extends Rewriter {
  taken(): number;
}

/** Keeps everything as it is. */
export const keepAll: Redactor = { value: (value) => value, text: (text) => text, taken: () => 0 };

/** Takes out secrets that are recognised by their names or forms, and the secrets that `known` has learnt. */
export function createRedactor(known: KnownSecrets = createKnownSecrets()): Redactor {
  let taken = 0;
  const counted = <T>(before: T, after: T) => {
    taken += changesIn(before, after).length;
    return after;
  };
  return {
    value: (value) => counted(value, known.hide(redactPayload(value))),
    text: (text) => counted(text, known.hideText(redactText(text))),
    taken: () => taken,
  };
}

/** A rewriter that changes nothing and only learns the secrets. */
export function learner(known: KnownSecrets): Rewriter {
  return {
    value: (value) => {
      known.learn(value, redactPayload(value));
      return value;
    },
    text: (text) => text,
  };
}

/** Fields with schemas. The schema of a property called `password` is not a secret, and a replay needs it. */
const SCHEMAS: readonly string[] = ['schema', 'schemas'];

function redactPayload(value: unknown): unknown {
  if (!isObject(value)) return redactSecrets(value);
  const kept = Object.keys(value).filter((name) => SCHEMAS.includes(name));
  const rest = redactSecrets(value);
  if (kept.length === 0 || !isObject(rest)) return rest;
  return { ...rest, ...Object.fromEntries(kept.map((name) => [name, redactTexts(value[name])])) };
}

function redactTexts(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactTexts);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactTexts(item)]));
}
