import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Countersign } from '../../client';
import { CountersignError, usageError } from '../../contract/errors';
import type { ChangedTool } from '../../contract/worker-tools';
import { SAW_DIGITS } from '../../contract/digest';
import type { RequestOpened } from '../../history/events';
import type { CallView, TurnView } from '../../history/view';
import type { Context } from '../context';
import { hiddenIn } from '../print/request';
import { escapeText } from '../../contract/text/escape';
import { confirmInFull } from './confirm';
import type { Terminal } from './terminal';
import { makeFolderOf, replaceFile, userStateDir } from '../../system/files';
import { toFileError } from '../../system/named-files';

/** The help of `--saw`. */
export const SAW_HELP = `what you saw: the first ${SAW_DIGITS} characters of the digest, as \`show\` prints them; required without a terminal`;

/**
 * Checks `--saw`: at least as many characters of the digest as `show` prints. Without a terminal, `--saw` is required. Undefined: `--saw` is absent, so the person must see the request and be asked.
 *
 * @throws CountersignError `usage`, and `refused` if the request has changed since.
 */
export function checkSeenDigest(
  { callId, seenDigest }: RequestOpened,
  { saw, id, canAsk }: { saw: string | undefined; id: string; canAsk: boolean },
): 'said' | undefined {
  const look = `countersign show ${id}`;
  const found = checkSaw(seenDigest, { saw, what: id, look, canAsk });
  if (found !== 'other') return found;
  throw new CountersignError(
    'refused',
    `${callId} is not what you saw: --saw ${saw} does not fit`,
    `Look at it again with \`${look}\`.`,
  );
}

/** The item to check, with the given digest, and whether a person can be asked instead. */
interface Saw {
  saw: string | undefined;
  what: string;
  /** The command that prints the digest. */
  look: string;
  canAsk: boolean;
}

/**
 * Like `checkSeenDigest`, for any item. `other`: the digest belongs to an item other than this one.
 *
 * @throws CountersignError `usage`.
 */
export function checkSaw(seenDigest: string, { saw, what, look, canAsk }: Saw): 'said' | 'other' | undefined {
  if (saw === undefined && canAsk) return undefined;
  if (saw === undefined) {
    const hint = `Look at it with \`${look}\` and approve with the --saw it prints.`;
    throw usageError(`there is no terminal here to ask whether you saw ${what}`, hint);
  }
  if (!DIGEST.test(saw)) {
    const hint = `Copy the ${SAW_DIGITS} hex digits that \`${look}\` prints.`;
    throw usageError(`--saw ${saw}: this is not a digest`, hint);
  }
  return seenDigest.startsWith(saw) ? 'said' : 'other';
}

const DIGEST = new RegExp(`^[0-9a-f]{${SAW_DIGITS},64}$`);

/** If a request holds deceptive characters, asks once more. Otherwise returns true without asking. */
export async function confirmDeceptiveText(request: RequestOpened, terminal: Terminal): Promise<boolean> {
  const hidden = hiddenIn(request);
  if (hidden === 0) return true;
  const what = hidden === 1 ? 'a character that deceives' : `${hidden} characters that deceive`;
  return confirmInFull(terminal, `It holds ${what} the eye; each stands there as a mark.`);
}

/** The requests of a turn whose tool changed meanwhile, in the form that printing needs. */
export async function changedIn(
  client: Pick<Countersign, 'changedTools'>,
  { turn, requests }: Pick<TurnView, 'turn' | 'requests'>,
): Promise<{ changed?: readonly ChangedTool[] }> {
  return { changed: requests.length === 0 ? undefined : await client.changedTools(turn) };
}

/**
 * Remembers that requests were printed in full, where a person reads them. If this cannot be stored, the only effect is
 * that the person is asked again.
 */
export async function rememberPrinted(
  calls: CallView | readonly CallView[],
  { screen, env }: Context,
): Promise<void> {
  if (!screen.isTerminal) return;
  const shown = [calls].flat().flatMap(({ phase, request }) => {
    return phase === 'request' && request ? [request] : [];
  });
  try {
    await notePrinted(shown, env);
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    screen.note(screen.style.quiet(`not remembered as seen: ${escapeText(error.message)}`));
  }
}

/** The most requests that are remembered: more than a person looks at before deciding. The oldest are forgotten. */
const MOST = 500;

type Env = NodeJS.ProcessEnv;
type Printed = Pick<RequestOpened, 'callKey' | 'seenDigest'>;

/** Whether this user was shown exactly this request on this machine, on a terminal. */
export async function wasPrinted(request: Printed, env: Env): Promise<boolean> {
  return (await readPrinted(env)).includes(nameOf(request));
}

/**
 * Remembers requests that were printed in full on a terminal, so that approving them need not print them again. If two
 * commands run at the same time, one request may be forgotten. Then the person is asked about it again.
 *
 * @throws CountersignError `file_failed`
 */
export async function notePrinted(requests: readonly Printed[], env: Env): Promise<void> {
  if (requests.length === 0) return;
  const names = new Set(requests.map(nameOf));
  const before = (await readPrinted(env)).filter((name) => !names.has(name));
  const file = fileIn(env);
  try {
    await makeFolderOf(file);
    await replaceFile(file, [...before, ...names].slice(-MOST).join('\n'));
  } catch (error) {
    throw toFileError(error, `writing ${file}`);
  }
}

/** One name a line. An unreadable file counts as empty: the approver sees the request again. */
async function readPrinted(env: Env): Promise<readonly string[]> {
  return (await readFile(fileIn(env), 'utf8').catch(() => '')).split('\n');
}

/**
 * The name under which a request is remembered. Two requests may have the same content, but a person who saw one has
 * not seen the other.
 */
function nameOf({ callKey, seenDigest }: Printed) {
  return `${callKey} ${seenDigest}`;
}

function fileIn(env: Env) {
  return join(userStateDir(env), 'printed.txt');
}
