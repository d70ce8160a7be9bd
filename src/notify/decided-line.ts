import type { Countersign } from '../client';
import { decidedIn } from '../client/decided';
import { CountersignError } from '../contract/errors';
import { describePhase, wordsBy } from '../history/labels';
import { type TurnView, waitingEvent } from '../history/view-types';
import type { Notice } from './notices';

/** A message, and the time since which its call waited. */
interface AskedNotice {
  notice: { data: Pick<Notice['data'], 'turn' | 'callId'> };
  /** The time since which the call waited when the message was sent. */
  asked: string;
}

/** How the call of a message ended, in one line. Undefined: the call still waits for the same decision. */
function outcomeLine(view: TurnView, { notice, asked }: AskedNotice): string | undefined {
  const { callId } = notice.data;
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) return 'the turn does not have this call any more';
  const now = waitingEvent(call)?.at;
  if (now === asked) return undefined;
  const by = decidedIn(view)
    .filter((one) => one.callId === callId && one.at >= asked)
    .map(({ what, approver, at }) => ({ at, text: wordsBy(what, approver) }));
  const said = by.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)).map(({ text }) => text);
  if (now !== undefined) return [...said, 'it is asked about again in another message'].join('; ');
  const [phase] = describePhase(call);
  const isDecided = said.length > 0 && (call.phase !== 'done' || (call.outcome ?? 'expired') !== 'expired');
  return isDecided ? said.join(', ') : [phase, ...said].join('; ');
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
    if (!(error instanceof CountersignError) || error.code !== 'not_found') throw error;
    return { over: 'the turn is not there any more' };
  }
}
