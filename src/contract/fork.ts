import { type Ancestor, isValidCall, type PreparedCall, type RemoteCall } from './call';
import { previewDigests } from './digest';
import type { ThinkOutput } from './think';

/** `dry`: calls that have an effect or need a decision do not run, and are only recorded. `live`: these calls run. */
export const WORLDS = ['dry', 'live'] as const;
export type World = (typeof WORLDS)[number];

/** The origin of a forked turn, and the facts that hold for the whole turn. */
export interface ForkOrigin {
  /** The turn it was forked from. */
  of: string;
  /** The call or the step at which the fork begins to differ. */
  from: string;
  world: World;
  /** The change at that point. Absent: nothing was changed, or only the model. */
  changed?: 'arguments' | 'decision' | 'reply';
  /** One of the agent's `models`, by name. Absent: the agent's own model. */
  model?: string;
  /**
   * What its model knew before the conversation, taken from the record. Set only if the fork begins with the first
   * reply.
   */
  context?: string;
  /** Only for a fork of a child turn: the calls that led to the child turn. */
  lineage?: Ancestor[];
}

/** The input of a forked turn. */
export interface ForkInput extends ForkOrigin {
  /** The first step of the fork, taken from the record. Absent: the model is asked. Never carried into a next run. */
  given?: ThinkOutput;
}

/** The part of a fork's input that holds for all its runs. */
export function originOf(fork: ForkOrigin & { given?: unknown }): ForkOrigin {
  const { given: _given, ...origin } = fork;
  return origin;
}

/**
 * Makes a call that was prepared anew ask first. If the forked turn had started the call, it never runs a second time
 * without a person, whatever safety and policy say.
 */
export function askFirst(asked: RemoteCall, prepared: PreparedCall): PreparedCall {
  const reason = asked.askFirst;
  const isFirst = reason !== undefined && isValidCall(prepared) && prepared.settings.effect !== 'pure';
  if (!isFirst) return noteOtherTool(asked, prepared);
  // The person who gave a grant did not know that the call may have run already.
  const { grant: _, ...call } = prepared;
  return noteOtherTool(asked, call.kind === 'ask' ? call : { ...call, kind: 'ask', policyReason: reason });
}

/**
 * Says in the preview that the tool has changed since the call was first asked about. So people see the change, and a
 * decision of somebody who saw the old tool does not count.
 */
function noteOtherTool({ toolDigest }: RemoteCall, prepared: PreparedCall): PreparedCall {
  const isOther = toolDigest !== undefined && prepared.kind === 'ask' && prepared.toolDigest !== toolDigest;
  if (!isOther || prepared.question !== undefined) return prepared;
  const { preview } = prepared;
  const text = preview === undefined ? OTHER_TOOL : `${OTHER_TOOL}\n\n${preview.text}`;
  const noted = { ...preview, text };
  return { ...prepared, preview: noted, ...previewDigests(noted) };
}

const OTHER_TOOL =
  '[The tool has changed since this was first asked: another build was deployed. Look again before you decide.]';
