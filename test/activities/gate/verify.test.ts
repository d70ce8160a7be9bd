import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { gateActivities } from '../../../src/activities/gate';
import type { GateTarget } from '../../../src/activities/gate/gated-tools';
import type { VerifyInput } from '../../../src/contract/call';
import { GATE_HEADER } from '../../../src/contract/gate';
import { ACTIVITIES } from '../../../src/contract/names';
import type { HistoryEvent } from '../../../src/history/decode/decode';
import { defineTool } from '../../../src/tools/define-tool';
import { clientWith, plainOf, workerWith } from '../fake-worker';

const toolThat = (found: string) =>
  defineTool({
    name: 'refund',
    description: found,
    parameters: { type: 'object', properties: {} },
    safety: 'dangerous',
    effect: 'unsafe',
    verify: () => ({ outcome: 'happened', content: found }),
    handler: () => undefined,
  });
const any = toolThat('as any');
const own = toolThat('as refund');
const gated = new Map<string, GateTarget>([
  ['callTool', { toolFor: () => any, hasSchema: true, from: { tool: 'name', arguments: 'input' } }],
  ['refund', { toolFor: () => own, hasSchema: true }],
]);

const input: VerifyInput = {
  ...{ agent: 'pays', callId: '1.1', id: '1.1', tool: 'refund', arguments: {} },
  ...{ callKey: 'k:1.1', generation: 0 },
};

/** A history in which a call was started as this activity. */
const startedAs = (type: string, callKey = input.callKey): HistoryEvent[] => [
  temporal.api.history.v1.HistoryEvent.fromObject({
    eventId: 1,
    activityTaskScheduledEventAttributes: {
      activityType: { name: type },
      header: {
        fields: { [GATE_HEADER]: defaultPayloadConverter.toPayload({ callKey, generation: 0 }) },
      },
    },
  }),
];

const verified = (events: HistoryEvent[]): Promise<unknown> => {
  const deps = workerWith({ tools: [own] });
  const environment = new MockActivityEnvironment(
    {
      ...{ activityType: ACTIVITIES.verify, workflowType: 'pays', namespace: 'default' },
      workflowExecution: { workflowId: 'w', runId: 'run-1' },
    },
    { client: clientWith({ histories: { 'run-1': events } }), logger: deps.log },
  );
  const verify = gateActivities({ deps, gated })[ACTIVITIES.verify];
  return environment.run(async () => plainOf(await verify?.(input as never)));
};

it.each([
  ['callTool', 'as any'],
  ['refund', 'as refund'],
])('a call in doubt is asked about as %s, as which it was started', async (type, found) => {
  expect(await verified(startedAs(type))).toMatchObject({
    outcome: 'happened',
    result: { content: expect.stringContaining(found) },
  });
});

it('nobody is asked about a call whose start is not found', async () => {
  expect(await verified(startedAs('refund', 'other'))).toMatchObject({ outcome: 'cannot_tell' });
});
