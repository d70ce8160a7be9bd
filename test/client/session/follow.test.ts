import { onceThere } from '../../../src/client/session/follow';
import { CountersignError } from '../../../src/contract/errors';

const missing = new CountersignError('not_found', 'there is no turn t1');

/** Reads in turn: what each time gives before it ends, or throws. */
function reads(...times: { events?: string[]; error?: Error }[]) {
  let asked = 0;
  const read = async function* (): AsyncGenerator<string> {
    const { events = [], error } = times[Math.min(asked++, times.length - 1)] ?? {};
    yield* events;
    await Promise.resolve();
    if (error !== undefined) throw error;
  };
  return { read, asked: () => asked };
}

async function given(events: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(event);
  return all;
}

it('waits for a turn that the server does not have yet', async () => {
  const { read, asked } = reads({ error: missing }, { error: missing }, { events: ['a', 'b'] });
  expect(await given(onceThere(read, () => false))).toEqual(['a', 'b']);
  expect(asked()).toBe(3);
});

it('ends without a turn that is over and never was there', async () => {
  const { read, asked } = reads({ error: missing });
  expect(await given(onceThere(read, () => asked() === 2))).toEqual([]);
});

it.each([
  ['another error', { error: new CountersignError('no_server', 'away') }, 'no_server'],
  ['the loss of a turn that was there', { events: ['a'], error: missing }, 'not_found'],
])('passes on %s', async (_case, time, code) => {
  const { read, asked } = reads(time);
  await expect(given(onceThere(read, () => false))).rejects.toMatchObject({ code });
  expect(asked()).toBe(1);
});
