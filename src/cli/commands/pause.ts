import type { Command } from 'commander';
import type { Countersign, Pause } from '../../client';
import {
  CONTROL_HINTS,
  CONTROL_STATES,
  controlTrouble,
  type Pauses,
  scopeText,
} from '../../authority/pauses/pause';
import { defined } from '../../contract/defined';
import { errorMessage, usageError } from '../../contract/errors';
import { askedBy, SEARCH_ATTRIBUTES } from '../../contract/names';
import { relative } from '../../contract/text/times';
import type { Context } from '../context';
import { refuseOptions } from '../flags';
import { escapeProse, escapeText } from '../../contract/text/escape';
import type { Screen } from '../print/screen';

interface PauseOptions {
  agent?: string;
  tool?: string;
  models?: boolean;
  reason?: string;
}

/** `pause`. */
export function addPause(program: Command, context: Context): void {
  program
    .command('pause')
    .description(
      'hold calls with an effect on every worker, before they start; without flags, list what is paused',
    )
    .option('--agent <name>', 'only calls of this agent')
    .option('--tool <name>', 'only calls of this tool')
    .option('--models', 'hold model calls too')
    .option('--reason <text>', 'why; everybody who looks reads it')
    .action((options: PauseOptions) =>
      Object.keys(options).length === 0 ? list(context) : pause(options, context),
    );
}

async function pause(options: PauseOptions, context: Context) {
  const { withClient, screen, command, json, as: by } = context;
  const { agent, tool, models, reason = '' } = options;
  if (reason.trim() === '') throw usageError('--reason is missing: say why');
  const asked = { reason, by, agent, tool, models: models === true ? models : undefined };
  await withClient(async (client) => {
    const { pause: taken, already } = await client.pause(asked);
    await noteUnknown(client, taken, screen);
    if (json) return screen.json({ pause: taken, already: already === true, inEffect: true });
    if (already === true) screen.line(`It was ${pauseLine(taken, Date.now())}`);
    else screen.line(`In effect: every worker holds ${escapeText(scopeText(taken))}`);
    const flags = Object.entries(defined({ agent: taken.agent, tool: taken.tool }));
    const named = flags.map(([flag, name]) => ` --${flag} ${JSON.stringify(escapeText(name))}`);
    screen.line(`End it: ${command(`resume${named.join('')}`)}`);
  });
}

/**
 * Notes a name that is not on record: a pause of a wrong name holds nothing, and nobody may notice. Temporal's
 * visibility store knows only the tools that asked a person.
 */
async function noteUnknown({ client }: Countersign, { agent, tool }: Pause, screen: Context['screen']) {
  const { quoted } = await import('../../client/list.js');
  const { agent: ofAgent, tools } = SEARCH_ATTRIBUTES;
  const queries = [
    ...(agent === undefined ? [] : [[`${ofAgent} = ${quoted(agent)}`, `of agent ${agent}`] as const]),
    ...(tool === undefined
      ? []
      : [[`${tools} = ${quoted(askedBy(tool))}`, `with a request of ${tool}`] as const]),
  ];
  for (const [query, what] of queries) {
    if ((await countOf(client, query)) === 0)
      screen.note(`no turn ${escapeText(what)} is on record: check the name; the pause holds all the same`);
  }
}

/** Counts turns for a note. Undefined if the turns cannot be counted, because the note can be left out. */
async function countOf(client: Countersign['client'], query: string): Promise<number | undefined> {
  try {
    return (await client.workflow.count(query)).count;
  } catch {
    return undefined;
  }
}

async function list({ withClient, screen, json }: Context) {
  await withClient(async (client) => {
    const found = await client.pauses();
    if (json) return screen.json(found);
    const lines = pauseLines(found, Date.now());
    screen.lines(lines.length === 0 ? ['Nothing is paused; --reason makes a pause.'] : lines);
  });
}

interface ResumeOptions {
  agent?: string;
  tool?: string;
  all?: boolean;
  reason?: string;
}

/** `resume`. */
export function addResume(program: Command, context: Context): void {
  program
    .command('resume')
    .description('end a pause: the calls that it held back start within some 75 seconds')
    .option('--agent <name>', 'the pause of this agent')
    .option('--tool <name>', 'the pause of this tool')
    .option('--all', 'all pauses')
    .option('--reason <text>', 'why; kept on record')
    .action((options: ResumeOptions) => resume(options, context));
}

async function resume(options: ResumeOptions, context: Context) {
  const { withClient, screen, json, as: by } = context;
  const { agent, tool, all, reason } = options;
  if (all === true) refuseOptions({ agent, tool }, 'and --all exclude each other');
  const asked = { by, agent, tool, reason, all: all === true ? all : undefined };
  await withClient(async (client) => {
    const ended = await client.resume(asked);
    if (json) return screen.json({ ended });
    for (const one of ended) screen.line(`No longer ${pauseLine(one, Date.now())}`);
  });
}

/** One pause in a line: its scope, the person who set it, the time and the reason. */
export function pauseLine(pause: Pause, now: number): string {
  const { by, at, reason } = pause;
  const head = `paused: ${escapeText(scopeText(pause))}, by ${escapeText(by)} ${relative(at, now)}`;
  return `${head}: ${escapeProse(reason)}`;
}

/** Each pause in a line, or a line that says why no call may start. Empty: nothing is paused. */
function pauseLines(found: Pauses, now: number): string[] {
  const trouble = controlTrouble(found);
  return trouble === undefined
    ? found.pauses.map((one) => pauseLine(one, now))
    : [`${CONTROL_STATES[trouble]}. ${CONTROL_HINTS[trouble]}`];
}

/** The time between two reads of the pauses, in milliseconds. */
const EVERY_MS = 2_000;

/** The pauses, or the reason why they are not known. */
export interface KnownPauses {
  /** A text that changes when the pauses change, but not with the time. */
  key: string;
  lines(now: number): readonly string[];
}

/** Returns a function that reads the pauses. Its answer is at most two seconds old. */
export function watchPauses(client: Countersign): () => Promise<KnownPauses> {
  let askedAt = -Infinity;
  let last: KnownPauses = NOTHING_PAUSED;
  return async () => {
    if (performance.now() - askedAt >= EVERY_MS) {
      last = await client
        .pauses()
        .then(knownPauses, (error: unknown) => ({ key: 'not known', lines: () => [notAsked(error)] }));
      askedAt = performance.now();
    }
    return last;
  };
}

/** The answer if nothing is paused. */
export const NOTHING_PAUSED: KnownPauses = { key: '', lines: () => [] };

function knownPauses(found: Pauses): KnownPauses {
  const lines = (now: number) => pauseLines(found, now);
  return lines(0).length === 0 ? NOTHING_PAUSED : { key: JSON.stringify(found), lines };
}

function notAsked(error: unknown) {
  return `what is paused could not be asked: ${escapeProse(errorMessage(error))}`;
}

/** Prints the pauses before any other output. If they cannot be read, a note is printed, and the command continues. */
export async function notePauses(client: Countersign, screen: Screen): Promise<void> {
  try {
    for (const line of pauseLines(await client.pauses(), Date.now())) screen.note(screen.style.warn(line));
  } catch (error) {
    screen.note(notAsked(error));
  }
}
