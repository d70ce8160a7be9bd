import { decidedIn, readDecided } from '../../src/client/decided';
import type { TurnSummary } from '../../src/client';
import { viewOf } from '../../src/history/view';
import type { TurnEvent } from '../../src/history/events';
import { accepted, ask, item, result, Script } from '../history/script';

const said = { callId: '1.1', decision: 'approved', approver: 'ann' };

/** A turn in which ann approved a payment, which then ended so. */
const paid = (more: Parameters<typeof result>[1] = {}): TurnEvent[] => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')])
    .update('decide', said, { ...accepted('1.1', 'approved'), approver: 'ann' });
  const scheduled = script.call(ask('1.1'));
  return script.done(scheduled, { result: result('1.1', more), contentDigest: 'x' }).fold();
};

const failed = paid({ success: false, error: { code: 'conflict', message: 'the file changed' } });

const listed = (turn: string, endedAt: string | null): TurnSummary => ({
  ...{ turn, runId: 'r', agent: 'a', state: 'answered', pending: 0, prompt: '', startedAt: '2026-01-01' },
  endedAt,
});

it('says who decided what, when, and how it ended', () => {
  expect(decidedIn(viewOf(failed))).toMatchObject([
    {
      ...{ turn: 't', callId: '1.1', tool: 'pay', summary: 'pay n=1', what: 'approved', approver: 'ann' },
      ...{ outcome: 'conflict', message: 'the file changed', phase: 'done' },
    },
  ]);
});

it('leaves out what was refused, and what somebody else decided', async () => {
  const refused = { accepted: false, code: 'stale_args', message: 'no', callId: '1.1' };
  const script = new Script().started().task();
  script
    .think(1, [ask('1.1')])
    .open([item('1.1')])
    .update('decide', said, refused);
  expect(decidedIn(viewOf(script.fold()))).toEqual([]);
  const client = { list: async () => [listed('t', null)], timeline: async () => failed };
  expect((await readDecided(client, { approver: 'bob' })).calls).toEqual([]);
  expect((await readDecided(client, { approver: 'ann', tool: 'other' })).calls).toEqual([]);
});

it('reads a turn that has ended once, one that goes on each time, and those that are named beside the newest', async () => {
  const read: string[] = [];
  const client = {
    list: async () => [listed('over', '2026-01-02'), listed('open', null)],
    timeline: async (turn: string) => {
      read.push(turn);
      return failed;
    },
  };
  const known = new Map();
  const query = { approver: 'ann', also: ['old', 'open'] };
  const first = await readDecided(client, query, known);
  expect(first).toMatchObject({ looked: 3, isCut: false });
  expect(first.calls).toHaveLength(3);
  expect((await readDecided(client, query, known)).calls).toHaveLength(3);
  expect(read).toEqual(['over', 'open', 'old', 'open', 'old']);
});
