import { calls, startFixture, type Fixture } from '../support/fixture';
import { decide, waitFor } from '../support/turns';

const TURNS = Array.from({ length: 30 }, (_, index) => `n${index}`);

/** A turn of one approved call and one that needs nobody, both unsafe. */
const runTurn = async (fixture: Fixture, tag: string) => {
  const handle = await fixture.startSteps(calls(`pay:${tag}a`, `note:${tag}b`));
  await fixture.open(`${tag}a`);
  await waitFor(handle, '1.1');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  return handle.result();
};

test.each(['the same machine', 'two machines'])(
  'two workers on %s: each effect of 30 turns once',
  async (where) => {
    const fixture = await startFixture();
    const cached = { maxCachedWorkflows: 100, heartbeat: '20s' };
    const other = where === 'two machines' ? fixture.otherMachine() : {};
    const workers = await Promise.all([fixture.addProcess(cached), fixture.addHere({ ...cached, ...other })]);
    const results = await Promise.all(TURNS.map((tag) => runTurn(fixture, tag)));
    for (const result of results) {
      expect(result).toMatchObject({ status: 'answered', counts: { calls: 2, failed: 0, inDoubt: 0 } });
    }
    const tags = TURNS.flatMap((tag) => [`${tag}a`, `${tag}b`]);
    const effects = (await Promise.all(tags.map((tag) => fixture.effects(tag)))).flat();
    expect(effects.map(({ tag }) => tag)).toEqual(tags);
    expect(new Set(effects.map(({ key }) => key)).size).toBe(tags.length);
    expect(new Set(effects.map(({ pid }) => pid))).toEqual(new Set(workers.map(({ pid }) => pid)));
  },
);
