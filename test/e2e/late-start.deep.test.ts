import { useFaultProxies } from '../support/fault-proxy';
import { calls, type TurnHandle, startFixture } from '../support/fixture';
import { resetTurn } from '../support/operator';
import { eventsOf } from '../support/turns';

const newProxy = useFaultProxies();

test('a call that was about to start when its turn was reset does not start once the new run said that it did not', async () => {
  const fixture = await startFixture();
  await fixture.open('t');
  const proxy = await newProxy();
  const trap = { at: 'before', tag: 't', signal: 'SIGSTOP' } as const;
  const frozen = await fixture.addProcess({ address: proxy.address, heartbeat: '20s', trap });
  const { workflowId } = await fixture.startSteps(calls('wire:t'));
  const handle: TurnHandle = fixture.client.workflow.getHandle(workflowId);
  await frozen.stopped();
  proxy.cut();
  const task = (await eventsOf(handle)).findLast((event) => event.workflowTaskCompletedEventAttributes);
  const { runId } = await handle.describe();
  const point = ['--run-id', runId, '--event-id', String(task?.eventId)];
  await resetTurn(handle, ...point, '--reapply-exclude', 'All');
  await fixture.addHere({ heartbeat: '20s', ...fixture.otherMachine() });
  expect((await handle.result()).answer).toContain('did not take effect');
  expect(await fixture.effects('t')).toEqual([]);
  frozen.signal('SIGCONT');
  // When it has drained it has decided about the call.
  frozen.signal('SIGTERM');
  await frozen.gone;
  expect(await fixture.effects('t')).toEqual([]);
});
