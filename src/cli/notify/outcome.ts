import type { Countersign } from '../../client';
import { decidedIn } from '../../client/decided';
import { CountersignError } from '../../contract/errors';
import { describePhase } from '../../history/labels';
import type { CallView, TurnView } from '../../history/view';
import type { Notice } from './notices';

/** A message, and the time since which its call waited. */
export interface AskedNotice {
  notice: { data: Pick<Notice['data'], 'turn' | 'callId'> };
  /** The time since which the call waited when the message was sent. */
  asked: string;
}

/** The time since which a call waits for a person. Undefined: the call does not wait. */
export function askedAt({ phase, request, question, doubt }: CallView): string | undefined {
  if (phase === 'requested') return request?.at;
  if (phase === 'asked') return question?.at;
  return phase === 'in_doubt' ? doubt?.at : undefined;
}

const SAYS: Readonly<Record<string, string>> = {
  modified: 'approved with changes',
  withdrawn: 'vote withdrawn',
  'ask-again': 'sent back to be asked again',
  happened: 'it happened, says',
  'did-not': 'it did not happen, says',
  'run-again': 'started once more',
};

/** How the call of a message ended, in one line. Undefined: the call still waits for the same decision. */
export function outcomeLine(view: TurnView, { notice, asked }: AskedNotice): string | undefined {
  const { callId } = notice.data;
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) return 'the turn does not have this call any more';
  const now = askedAt(call);
  if (now === asked) return undefined;
  const by = decidedIn(view)
    .filter((one) => one.callId === callId && one.at >= asked)
    .map(({ what, approver, at }) => ({ at, text: `${SAYS[what] ?? what} ${joiner(what)}${approver}` }));
  const said = by.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).map(({ text }) => text);
  if (now !== undefined) return [...said, 'it is asked about again in another message'].join('; ');
  const [phase] = describePhase(call);
  const isDecided = said.length > 0 && call.phase !== 'expired' && call.phase !== 'closed';
  return isDecided ? said.join(', ') : [phase, ...said].join('; ');
}

function joiner(what: string): string {
  return SAYS[what]?.endsWith('says') === true ? '' : 'by ';
}

/**
 * Reads a turn again, to find out how the call of a message ended. `over` undefined: the call still waits for the same
 * decision.
 */
export async function lookAgain(
  client: Pick<Countersign, 'view'>,
  about: AskedNotice,
): Promise<{ view?: TurnView; over: string | undefined }> {
  try {
    const view = await client.view(about.notice.data.turn);
    return { view, over: outcomeLine(view, about) };
  } catch (error) {
    if (!(error instanceof CountersignError) || error.code !== 'turn_not_found') throw error;
    return { over: 'the turn is not there any more' };
  }
}
