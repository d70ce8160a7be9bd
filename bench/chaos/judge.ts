import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { Countersign } from '../../lib/client';
import type { Crew } from './crew';
import type { People } from './people';

/** A call that was started, by what wrote it down before it worked. */
export interface Start {
  at: number;
  tool: string;
  tag: string;
  /** The key of the call and its generation; `-` where the program does not know it. */
  key: string;
  pid: number;
}

export function readLedger(file: string): Start[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [at, tool = '', tag = '', key = '', pid] = line.split(' ');
    return { at: Number(at), tool, tag, key, pid: Number(pid) };
  });
}

interface Evidence {
  client: Countersign;
  raw: Client;
  people: People;
  crew: Crew;
  lines: readonly Start[];
}

const UNSAFE = ['note', 'pay', 'transfer', 'ledger__act'];
const ASKED = ['pay', 'transfer'];
/** A call whose last look at pauses and grants was before counts as started. */
const LAST_LOOK_MS = 1000;

/** What of that which happened breaks a promise, in words. */
export async function judge({ client, raw, people, crew, lines }: Evidence): Promise<string[]> {
  const starts = grouped(
    lines.filter(({ tool }) => UNSAFE.includes(tool)),
    ({ tag }) => tag,
  );
  const found: string[] = [];
  const granted = await grantsOfCalls(client, raw);
  for (const [tag, those] of starts) {
    const may = 1 + (people.again.get(tag) ?? 0);
    if (those.length > may) found.push(`started ${those.length} times, may ${may}: ${JSON.stringify(those)}`);
    for (const start of those) {
      const callKey = start.key.replace(/:\d+$/, '');
      if (ASKED.includes(start.tool) && !people.approved.has(callKey) && !granted.has(tag))
        found.push(`started without a decision: ${JSON.stringify(start)}`);
      const stood = crew.frozen.some(
        ({ pid, from, to }) => pid === start.pid && from <= start.at + 5000 && start.at <= to + 5000,
      );
      const pause = people.held.find(
        ({ tool, from, to }) => tool === start.tool && start.at > from + LAST_LOOK_MS && start.at < to,
      );
      if (pause !== undefined && !stood)
        found.push(`started in a pause: ${JSON.stringify({ start, pause })}`);
      const grant = people.approved.has(callKey) ? undefined : granted.get(tag);
      const revokedAt = people.revoked.get(grant ?? '');
      if (revokedAt !== undefined && start.at > revokedAt + LAST_LOOK_MS && !stood)
        found.push(`started by a grant that was revoked: ${JSON.stringify({ start, revokedAt })}`);
    }
  }
  const byGrant = grouped(
    [...granted].filter(([tag]) => starts.has(tag)),
    ([, grant]) => grant,
  );
  for (const [grant, those] of byGrant)
    if (those.length > (people.granted.get(grant) ?? 0))
      found.push(`${those.length} starts by ${grant}, which allowed ${people.granted.get(grant) ?? 0}`);
  return found;
}

/** The grant by which a call started, by the tag of the call. */
async function grantsOfCalls(client: Countersign, raw: Client): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { workflowId } of raw.workflow.list({ query: `WorkflowType = 'agentTurn'` })) {
    const { calls } = await client.view(workflowId);
    for (const { arguments: args, grant } of calls) {
      const tag = args?.['tag'];
      if (grant !== undefined && typeof tag === 'string') found.set(tag, grant.id);
    }
  }
  return found;
}

function grouped<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}
