import type { Client } from '@temporalio/client';
import { isGrantShown, isUsed } from './grant-schemas';
import type { GrantShown } from './grant';
import { LIMITS } from '../../contract/limits';
import { grantWorkflowId, MEMO, WORKFLOWS } from '../../contract/names';
import { unlessNotFound } from '../../history/server-errors';

/** A grant as the memo of its workflow shows it. */
export interface ListedGrant extends GrantShown {
  used: number;
  runId: string;
}

const OPEN = `WorkflowType = '${WORKFLOWS.grant}' AND ExecutionStatus = 'Running'`;

/**
 * The grants that the server lists and that were not revoked, oldest first. Reads the newest ones, in one page. Anybody
 * may start a workflow, so one that holds no grant, or the grant of another id, is left out.
 */
export async function openGrants({ workflow }: Client): Promise<ListedGrant[]> {
  const found: ListedGrant[] = [];
  let looked = 0;
  for await (const { workflowId, runId, memo } of workflow.list({ query: OPEN, pageSize: LIMITS.grants })) {
    const grant = grantIn(memo, workflowId);
    if (grant !== undefined && grant.revoked !== true) found.unshift({ ...grant, runId });
    looked += 1;
    if (looked === LIMITS.grants) break;
  }
  return found;
}

/** A grant as its workflow shows it now. Undefined: there is none, or it is over. */
export async function readGrant({ workflow }: Client, id: string): Promise<ListedGrant | undefined> {
  const found = await unlessNotFound(workflow.getHandle(grantWorkflowId(id)).describe());
  if (found?.status.name !== 'RUNNING' || found.type !== WORKFLOWS.grant) return undefined;
  const grant = grantIn(found.memo, grantWorkflowId(id));
  return grant && { ...grant, runId: found.runId };
}

function grantIn(
  memo: Readonly<Record<string, unknown>> | undefined,
  workflowId: string,
): Omit<ListedGrant, 'runId'> | undefined {
  const grant = memo?.[MEMO.grant];
  const used = memo?.[MEMO.uses];
  if (!isGrantShown(grant) || grantWorkflowId(grant.id) !== workflowId) return undefined;
  return { ...grant, used: isUsed(used) ? used : 0 };
}
