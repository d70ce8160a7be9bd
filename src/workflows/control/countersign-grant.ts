import { CancellationScope, setHandler, sleep, upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import { confirmGrant } from '../../authority/grants/confirmations';
import {
  CONFIRM_ASKED,
  isConfirmAsked,
  isGrantAsked,
  isRevokeAsked,
  isUseAsked,
  REVOKE_ASKED,
  USE_ASKED,
} from '../../authority/grants/grant-schemas';
import {
  type Grant,
  type GrantAsked,
  refuseGrant,
  revokeGrant,
  shownOf,
  takeGrant,
} from '../../authority/grants/grant';
import { FAILURES, grantWorkflowId, MEMO, SIGNALS, UPDATES } from '../../contract/names';
import { whyUnreadable } from '../../contract/unreadable';
import { rawSignal, refusalFailure, takenOf } from '../messages';
import { readAs, take } from './take-message';
import { claimUse, type UseTaken } from '../../authority/grants/claim-use';

/** The most bytes of a revocation and of a claim, as JSON: twice the most that their texts may have. */
const BYTES = 8 * 1024;
/** The most bytes of a confirmation, with its signature and the signed text, as JSON. */
const CONFIRMATION_BYTES = 32 * 1024;

const failure = FAILURES.grant;

/**
 * Holds one grant until it ends. Its memo shows the grant and the number of its uses; lists and workers read only that.
 * A grant that was revoked stays open, so that nobody can give one of the same id.
 */
export async function countersignGrant(input: GrantAsked): Promise<void> {
  let grant = grantIn(input);
  const show = (now: Grant) => {
    grant = now;
    upsertMemo({ [MEMO.grant]: shownOf(now) });
  };
  const revoking = (message: RawValue): ReturnType<typeof revokeGrant> =>
    revokeGrant(grant, readAs(message, REVOCATION));
  show(grant);
  upsertMemo({ [MEMO.uses]: grant.used });
  take(
    { update: UPDATES.confirm, failure },
    (message) => confirmGrant(grant, readAs(message, CONFIRMATION), Date.now()),
    show,
  );
  take({ update: UPDATES.revoke, failure }, revoking, show);
  setHandler(rawSignal(SIGNALS.revoke), (message) => {
    try {
      if (grant.revoked !== true) show(takenOf(revoking(message), failure));
    } catch {
      // Nobody waits for the answer to a signal, and a bad one changes nothing.
    }
  });
  take(
    { update: UPDATES.use, failure },
    (message) => claimUse(grant, readAs(message, CLAIM), Date.now()),
    (now): UseTaken => {
      grant = now;
      upsertMemo({ [MEMO.uses]: now.used });
      return { use: now.used };
    },
  );
  // A cancellation is ignored. Whoever takes a grant back revokes it, and its id stays taken.
  await CancellationScope.nonCancellable(() => sleep(Math.max(1, Date.parse(grant.until) - Date.now())));
}

/**
 * The grant that this workflow was started for. If this worker lacks the key of the input, the task waits for a worker
 * that has it.
 *
 * @throws ApplicationFailure if the grant cannot be given. It ends the workflow.
 */
function grantIn(input: unknown): Grant {
  const unreadable = whyUnreadable(input);
  if (unreadable?.waits === true) throw new Error(`the input cannot be read: ${unreadable.why}`);
  if (!isGrantAsked(input))
    throw refusalFailure({ code: 'malformed', message: 'this is not a grant' }, failure);
  const isNamed = workflowInfo().workflowId === grantWorkflowId(input.id);
  return takenOf(
    isNamed ? takeGrant(input, Date.now()) : refuseGrant('malformed', 'its workflow has another id'),
    failure,
  );
}

const CONFIRMATION = {
  what: 'confirmation of a grant',
  bytes: CONFIRMATION_BYTES,
  failure,
  fields: Object.keys(CONFIRM_ASKED.properties),
  fits: isConfirmAsked,
};
const REVOCATION = {
  what: 'revocation',
  bytes: BYTES,
  failure,
  fields: Object.keys(REVOKE_ASKED.properties),
  fits: isRevokeAsked,
};
const CLAIM = {
  what: 'use of a grant',
  bytes: BYTES,
  failure,
  fields: Object.keys(USE_ASKED.properties),
  fits: isUseAsked,
};
