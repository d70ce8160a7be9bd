import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { SEARCH_ATTRIBUTES } from '../../src/contract/names';
import type { FaultProxy } from '../support/fault-proxy';

const FIRST = Date.parse('2030-01-01T00:00:00Z');

const KEYS = {
  pending: defineSearchAttributeKey(SEARCH_ATTRIBUTES.pending, SearchAttributeType.INT),
  agent: defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD),
  tools: defineSearchAttributeKey(SEARCH_ATTRIBUTES.tools, SearchAttributeType.KEYWORD_LIST),
  deadline: defineSearchAttributeKey(SEARCH_ATTRIBUTES.deadline, SearchAttributeType.DATETIME),
};

export const waitingId = (place: number): string => `waits-${String(place).padStart(5, '0')}`;

/** A turn that nobody works on, as visibility shows one that waits; every tenth waits with two calls, later ones expire sooner. */
export async function startWaiting(client: Client, place: number, turns: number): Promise<void> {
  const count = place % 10 === 0 ? 2 : 1;
  const deadline = new Date(FIRST + (turns - place) * 60_000);
  const items = Array.from({ length: count }, (_, at) => ({
    ...{
      callId: `1.${at + 1}`,
      kind: 'request',
      tool: 'pay',
      summary: 'pay',
      since: new Date(FIRST).toISOString(),
    },
    deadline: deadline.toISOString(),
  }));
  await client.workflow.start('agentTurn', {
    taskQueue: 'nobody-works-here',
    workflowId: waitingId(place),
    memo: { prompt: 'pay', open: { key: 'k', count, items } },
    typedSearchAttributes: [
      { key: KEYS.pending, value: count },
      { key: KEYS.agent, value: place < 5 ? 'rare' : 'payer' },
      { key: KEYS.tools, value: ['pay'] },
      { key: KEYS.deadline, value: deadline },
    ],
  });
}

const VISIBILITY = /^(List|Count|Scan)WorkflowExecutions$|^ListWorkers$|^DescribeTaskQueue$/;

export const isVisibility = ({ method }: { method: string }): boolean => VISIBILITY.test(method);

/** The most calls to visibility within any second. */
export const mostASecond = ({ calls }: FaultProxy, from: number): number => {
  const times = calls.filter((call) => isVisibility(call) && call.at >= from).map(({ at }) => at);
  return Math.max(0, ...times.map((end) => times.filter((at) => at > end - 990 && at <= end).length));
};
