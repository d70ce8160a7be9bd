import { z } from 'zod';
import { FAILURES } from '../../../src/contract/names';
import type { GateAllowed } from '../../../src/workflows/gate';
import { type Gate, gateTool } from '../../../src/workflows/gate/gate';

const inputSchema = z.object({ amount: z.number() });
const head = { callId: '1.1', callKey: 'k', decisionId: 'd', approver: 'ann' };
const NOTE = '[ann changed the arguments]';

/** A gate that answers at once: as asked, or as `more` says. */
function answering(more: Partial<GateAllowed> | string, ending: object = {}): Pick<Gate, 'ask' | 'run'> {
  const answer = (args: object) =>
    typeof more === 'string'
      ? { ...head, allowed: false, decision: 'denied', message: more, outcome: 'not_run' }
      : { ...head, allowed: true, decision: 'approved', arguments: args, ...more, ...ending };
  const given: unknown = {
    ask: async ({ arguments: args }: { arguments: object }) => answer(args),
    run: async (activity: string, { arguments: args }: { arguments: object }) => ({
      result: activity,
      ...answer(args),
    }),
  };
  return given as Pick<Gate, 'ask' | 'run'>;
}

const tool = { tool: 'pay', description: 'Pays.', inputSchema };

it.each<[string, Partial<GateAllowed> | string, unknown, unknown]>([
  ['the result', {}, 'paid', 'paid'],
  ['the result after what a person changed', { note: NOTE }, 'paid', `${NOTE}\n\npaid`],
  ['a value beside what a person changed', { note: NOTE }, { paid: 1 }, { note: NOTE, result: { paid: 1 } }],
  ['only what a person changed', { note: NOTE }, undefined, NOTE],
  ['why nothing ran', 'ann denied it', 'paid', 'ann denied it'],
])('the model reads %s', async (_, answer, result, read) => {
  const { execute, ...rest } = gateTool(answering(answer), { ...tool, execute: () => result });
  expect(rest).toEqual({ description: 'Pays.', inputSchema });
  expect(await execute({ amount: 1 })).toEqual(read);
});

it('its function gets what the person allowed', async () => {
  const run = jest.fn();
  await gateTool(answering({ arguments: { amount: 7 } }), { ...tool, execute: run }).execute({ amount: 1 });
  expect(run).toHaveBeenCalledWith({ amount: 7 }, expect.objectContaining({ callKey: 'k' }));
});

it.each<[string, Partial<GateAllowed> | string, object, unknown]>([
  ['its result', {}, { outcome: 'done' }, 'pay'],
  ['what a person found', {}, { outcome: 'happened', message: 'it did' }, 'it did'],
  ['a failure', { note: NOTE }, { outcome: 'failed', message: 'no money' }, `${NOTE}\n\nError: no money`],
  ['why nothing ran', 'ann denied it', {}, 'ann denied it'],
])('of an activity the model reads %s', async (_, answer, ending, read) => {
  const { execute } = gateTool(answering(answer, ending), { ...tool, execute: 'pay' });
  expect(await execute({ amount: 1 })).toBe(read);
});

it('refuses a schema that has no JSON Schema form', () => {
  const wrong = { ...tool, inputSchema: z.object({ at: z.date() }), execute: 'pay' };
  expect(() => gateTool(answering({}), wrong)).toThrow(expect.objectContaining({ type: FAILURES.gate }));
});
