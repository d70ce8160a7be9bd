import { LIMITS } from '../../contract/limits';
import { isObject } from '../../contract/json';
import { both, exact, type Of, only, text } from '../../contract/schema/shape';
import { utf8Bytes } from '../../contract/text/bytes';
import { utc } from '../../contract/text/times';
import { reasonIssue } from '../grants/grant';

const name = text({ minLength: 1, maxLength: 200 });

/** The scope of a pause: an agent, a tool, or one tool of one agent. Without both fields: everything. */
const SCOPE = { agent: name, tool: name } as const;

const reason = text({ maxLength: LIMITS.pauseReasonBytes });

/** Payload of the update `pause`. The type, the check and the form that is sent all come from this schema. */
export const PAUSE = exact(
  {
    reason,
    /** The person's name, as claimed. */
    by: name,
  },
  both(SCOPE, {
    /** Model calls are held too. */
    models: only(true),
  }),
);

/** A request to pause. */
export interface PauseAsked extends Of<typeof PAUSE> {}

/** Payload of the update `resume`. */
export const RESUME = exact(
  { by: name },
  both(SCOPE, {
    /** Every pause is ended, whatever its scope. */
    all: only(true),
    reason,
  }),
);

/** A request to end pauses. */
export interface ResumeAsked extends Of<typeof RESUME> {}

/** A pause that holds. `at`: when it began, in workflow time (ISO 8601). */
export interface Pause extends PauseAsked {
  id: string;
  at: string;
}

/** The scope of a pause. Without both fields: everything. */
type PauseScope = Pick<PauseAsked, 'agent' | 'tool'>;

/** Answer to `pause`. */
export interface PauseTaken {
  pause: Pause;
  /** There was such a pause already. Its author and its reason stay as they were. */
  already?: true;
}

/** The pauses that hold now, and whether they are known. */
export interface Pauses {
  /**
   * The state of the workflow of CONTROL. `absent`: no worker has started it yet, so nothing is paused. `closed`: no
   * call with an effect and no model call starts before it runs again. `suspended`: none starts, because Temporal's own
   * pause holds that workflow. `unreadable`: none starts, unless the workers have a key that is missing here.
   */
  control: 'open' | 'absent' | 'closed' | 'suspended' | 'unreadable';
  pauses: Pause[];
}

/** Why `pause` or `resume` changed nothing. */
export interface PauseRefused {
  code: 'malformed' | 'full' | 'not_found';
  message: string;
}

/** The state that the workflow of the pauses takes along when it continues as new. */
export interface ControlInput {
  pauses: Pause[];
}

/** The result of one change of the pauses. */
type Changed = { pauses: Pause[]; taken: PauseTaken } | PauseRefused;

/** Adds a pause. A pause of the same scope stays as it is, unless the new one also holds model calls. */
export function addPause(
  pauses: readonly Pause[],
  asked: PauseAsked,
  { id, at }: { id: string; at: string },
): Changed {
  const why = asked.reason.trim() === '' ? 'say why: a pause needs a reason' : reasonIssue(asked.reason);
  if (why !== undefined) return { code: 'malformed', message: why };
  if (asked.models === true && asked.tool !== undefined)
    return { code: 'malformed', message: 'a tool has no model calls; pause those of an agent, or of all' };
  const standing = pauses.find((one) => isSame(one, asked));
  if (standing !== undefined && (asked.models !== true || standing.models === true))
    return { pauses: [...pauses], taken: { pause: standing, already: true } };
  const pause: Pause = { ...asked, id, at };
  const all = [...pauses.filter((one) => one !== standing), pause];
  // Every worker reads the memo before each call with an effect.
  if (utf8Bytes(JSON.stringify(all)) <= LIMITS.memoBytes) return { pauses: all, taken: { pause } };
  const message = `there is no room for one more: all pauses together have at most ${LIMITS.memoBytes} bytes, and ${pauses.length} hold now`;
  return { code: 'full', message };
}

/** Ends the pause with exactly this scope, or all pauses. */
export function endPauses(
  pauses: readonly Pause[],
  { agent, tool, all, reason }: Omit<ResumeAsked, 'by'>,
): { pauses: Pause[]; ended: Pause[] } | PauseRefused {
  const why = reasonIssue(reason);
  if (why !== undefined) return { code: 'malformed', message: why };
  const scope = { agent, tool };
  const isMeant = (one: Pause) => all === true || isSame(one, scope);
  const ended = pauses.filter(isMeant);
  if (ended.length > 0) return { pauses: pauses.filter((one) => !isMeant(one)), ended };
  const others =
    pauses.length === 0 ? 'nothing is paused' : `what is paused: ${pauses.map(scopeText).join('; ')}`;
  const message = all === true ? others : `no pause is of ${scopeText(scope)}; ${others}`;
  return { code: 'not_found', message };
}

function isSame(one: PauseScope, other: PauseScope) {
  return one.agent === other.agent && one.tool === other.tool;
}

/** A call that is about to start: a call of a tool or, without a tool, a model call. */
export interface AboutToStart {
  agent: string;
  tool?: string;
}

/** The pause that holds a call. Undefined: the call may start. */
export function pauseOf(pauses: readonly Pause[], { agent, tool }: AboutToStart): Pause | undefined {
  const isOf = (one: Pause) => one.agent === undefined || one.agent === agent;
  return tool === undefined
    ? pauses.find((one) => one.models === true && isOf(one))
    : pauses.find((one) => isOf(one) && (one.tool === undefined || one.tool === tool));
}

/** The scope of a pause, in words. */
export function scopeText({ agent, tool, models }: Pick<Pause, 'agent' | 'tool' | 'models'>): string {
  const whose = agent === undefined ? '' : ` of agent ${agent}`;
  const what = tool === undefined ? `all calls with an effect${whose}` : `calls of ${tool}${whose}`;
  return models === true ? `${what} and ${agent === undefined ? 'all' : 'its'} model calls` : what;
}

/** One line that says who paused what, when and why. */
export function pauseText(pause: Pause): string {
  return `${pause.by} paused ${scopeText(pause)} since ${utc(pause.at)}: ${pause.reason}`;
}

/** Why no call with an effect may start, by the state of the workflow of CONTROL. CONTROL_HINTS has the remedies. */
export const CONTROL_STATES = {
  closed:
    'the workflow countersign-control, which holds the pauses, was closed: no call with an effect starts',
  suspended:
    "the workflow countersign-control, which holds the pauses, is paused by Temporal's own `workflow pause`: no call with an effect starts",
  unreadable: 'the pauses cannot be read here; workers without their key start no call with an effect',
} as const;
export const CONTROL_HINTS = {
  closed:
    'A worker starts it again, and so does `countersign doctor --setup`, with everything paused; `countersign resume --all` ends that.',
  suspended: 'Run `temporal workflow unpause --workflow-id countersign-control`.',
  unreadable: 'Give the key of the workers: `--encryption-key-file`.',
} as const;

/**
 * The pause with which the workflow of CONTROL starts again after it was closed: what it held is not known any more, so
 * it holds everything.
 */
export const AFTER_CLOSING: PauseAsked = {
  models: true,
  by: 'countersign',
  reason: 'countersign-control was closed, so nobody knows what was paused; look, and resume with --all',
};

/** Reads the pauses in a memo, or in the state that a run takes along. Undefined: they cannot be read. */
export function readPauses(value: unknown): Pause[] | undefined {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) && value.every(isPause) ? value : undefined;
}

function isPause(value: unknown): value is Pause {
  if (!isObject(value)) return false;
  const { id, at, by, reason, agent, tool, models } = value;
  const isText = (one: unknown) => typeof one === 'string';
  const isOptional = (one: unknown) => one === undefined || isText(one);
  const isModels = models === undefined || models === true;
  return [id, at, by, reason].every(isText) && [agent, tool].every(isOptional) && isModels;
}

/** Why nothing with an effect may start although no pause holds it. Undefined: the pauses are known. */
export function controlTrouble({ control }: Pauses): keyof typeof CONTROL_STATES | undefined {
  return control === 'open' || control === 'absent' ? undefined : control;
}
