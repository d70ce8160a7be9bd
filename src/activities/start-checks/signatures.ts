import type { CallInput } from '../../contract/call';
import type { ActivityDeps } from '../deps';
import { startInThisRun, unreadStart } from '../earlier-start';
import { allowedOf, type StartingCall, type Stop } from './starting-call';

/** The signatures of a call start it once. */
export function signaturesUnspent(
  call: StartingCall,
  worker: ActivityDeps,
): Promise<Stop | undefined> | undefined {
  return allowedOf(call).isSigned ? spentBefore(worker, call.input) : undefined;
}

/** What stops a call that may have been started before by the same signatures. Undefined: they did not start it. */
export async function spentBefore(
  worker: ActivityDeps,
  input: CallInput,
): Promise<{ inDoubt: { message: string } } | { lack: string } | undefined> {
  try {
    const message = await startInThisRun(worker, input);
    return message === undefined ? undefined : { inDoubt: { message } };
  } catch (error) {
    return { lack: unreadStart(error) };
  }
}
