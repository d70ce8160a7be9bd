import { type BatchFlags, checkNoBatch, planBatch, planLines, readBatch } from '../../src/cli/batch';
import type { InboxItem } from '../../src/client';
import { addApprove } from '../../src/cli/commands/approve';
import type { RequestOpened } from '../../src/history/events';
import { ruled } from '../notify/support';
import { runCommand } from './command';
import { call, inboxItem, NOW, proposal, request, testScreen, turn } from './support';
import { readWhere } from '../../src/cli/batch';

type BatchWish = Parameters<typeof planBatch>[1];

type Candidate = Parameters<typeof planBatch>[0][number];

describe('the batch that options mean', () => {
  it.each<[string, BatchFlags, 'approved' | 'denied', string | undefined, RegExp]>([
    ['a call beside --all', { tool: 'pay' }, 'approved', 't/1.1', /--all and a call exclude each other/],
    ['approving without a tool', { agent: 'clerk' }, 'approved', undefined, /approve --all needs --tool/],
    ['denying everything', {}, 'denied', undefined, /deny --all needs --tool, --agent or --where/],
    ['a condition that cannot be read', { tool: 'pay', where: '(' }, 'approved', undefined, /--where/],
  ])('refuses %s', async (_, options, decision, target, message) => {
    await expect(readBatch(options, decision, 'ann', target)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(message),
    });
  });

  it('takes who decides, why, and the filters', async () => {
    const batch = await readBatch(
      { tool: 'pay', olderThan: '10m', reason: 'late', yes: true },
      'denied',
      'ann',
    );
    expect(batch).toMatchObject({
      query: { tool: 'pay', olderThanMs: 600_000 },
      wish: { decision: 'denied', where: undefined },
      said: { approver: 'ann', reason: 'late' },
      yes: true,
    });
  });
});

it.each<[keyof BatchFlags, BatchFlags]>([
  ['where', { where: 'true' }],
  ['tool', { tool: 'pay' }],
  ['limit', { limit: '5' }],
])('--%s needs --all', (name, options) => {
  expect(() => checkNoBatch(options)).toThrow(
    expect.objectContaining({ code: 'usage', message: `--${name} goes with --all` }),
  );
});

const item = (extra: Partial<InboxItem> = {}): InboxItem => inboxItem({ callKey: 'key:1.1', ...extra });
const candidate = (opened: RequestOpened = request()): Candidate => ({
  item: item(),
  call: call({ request: opened }),
});
const wish = (extra: Partial<BatchWish> = {}): BatchWish => ({
  decision: 'approved',
  where: undefined,
  now: NOW + 60_000,
  ...extra,
});

describe('what is decided together', () => {
  it('is what the condition chose', async () => {
    const candidates = [5, 50].map((amount) => candidate(request({ arguments: { amount } })));
    const { planned, leftOut } = planBatch(
      candidates,
      wish({ where: await readWhere('args.amount<50 && age >= duration("1m")') }),
    );
    expect(planned.map(({ request: { arguments: args } }) => args)).toEqual([{ amount: 5 }]);
    expect(leftOut).toEqual([]);
  });

  const single = (opened: RequestOpened): [string, Candidate] => [opened.tool, candidate(opened)];
  it('is never a tool that wants each on its own', () => {
    const one = candidate(request({ noBatch: true }));
    for (const decision of ['approved', 'denied'] as const) {
      const why: unknown = expect.stringMatching(/each one decided on its own/);
      expect(planBatch([one], wish({ decision }))).toEqual({
        planned: [],
        leftOut: [{ item: one.item, why }],
      });
    }
  });

  it.each<[string, Candidate, RegExp]>([
    ['several hunks', single(proposal())[1], /2 hunks/],
    ['what deceives the eye', candidate(request({ arguments: { to: 'ann\u202e' } })), /deceive the eye/],
    [
      'letters that pass for others',
      candidate(request({ arguments: { to: 'p\u0430ypal' } })),
      /deceive the eye/,
    ],
    [
      'arguments that are too long to show',
      candidate(request({ arguments: { to: 'x'.repeat(3_000) } })),
      /too long/,
    ],
    [
      'a preview of too many lines',
      candidate(request({ preview: { text: 'pays\n'.repeat(40) } })),
      /too long to be shown whole with others; look at it on its own/,
    ],
    ['what a terminal would have to sign', candidate(ruled('signed')), /rule '.+' wants each one signed/],
  ])('is never %s; a denial is', (_name, one, why) => {
    const { planned, leftOut } = planBatch([one], wish());
    expect(planned).toEqual([]);
    expect(leftOut).toEqual([{ item: one.item, why: expect.stringMatching(why) }]);
    expect(planBatch([one], wish({ decision: 'denied' })).planned).toHaveLength(1);
  });

  it('is never a call whose tool changed, because its approval would be refused; a denial is', () => {
    const one: Candidate = { ...candidate(), changed: 'changed' };
    const { planned, leftOut } = planBatch([one], wish());
    expect(planned).toEqual([]);
    expect(leftOut).toEqual([{ item: one.item, why: 'its tool changed since this request was made' }]);
    expect(planBatch([one], wish({ decision: 'denied' })).planned).toHaveLength(1);
  });

  it.each<[string, Candidate]>([
    ['a call that is gone', { item: item(), call: undefined }],
    ['one that is decided', { item: item(), call: call({ phase: 'ready' }) }],
    ['one in doubt', { item: item({ kind: 'in_doubt' }), call: call({ phase: 'in_doubt' }) }],
    ['one that was asked anew', { item: item({ callKey: 'other' }), call: call() }],
  ])('is never %s', (_name, one) => {
    for (const decision of ['approved', 'denied'] as const) {
      expect(planBatch([one], wish({ decision }))).toEqual({ planned: [], leftOut: [] });
    }
  });
});

describe('what is shown before', () => {
  it('is a table of what is denied, and what is left out', () => {
    const plan = planBatch(
      [candidate(), candidate(request({ noBatch: true }))],
      wish({ decision: 'denied' }),
    );
    expect(planLines(plan, wish({ decision: 'denied' }), testScreen(80))).toEqual([
      'to be denied:',
      'CALL     TOOL  AGENT  WAITS  CALLS FOR',
      't-1/1.1  pay   clerk  1 min  pay amount=10',
      'left out: t-1/1.1: its tool wants each one decided on its own',
    ]);
  });

  it('is everything that an approval would run, whatever stands first', () => {
    const reason = 'Parcel 4711 came late, so 15.00 EUR go back to the customer, as agreed by phone.';
    const args = { reason, cents: 999_999_999, to: 'MALLORY' };
    const preview = { text: 'pays\nand tells nobody' };
    const plan = planBatch(
      [candidate(request({ arguments: args, preview, note: 'a changed tool' }))],
      wish(),
    );
    expect(planLines(plan, wish(), testScreen(200))).toEqual([
      'to be approved:',
      't-1/1.1  pay  for clerk  waits 1 min  asked again: a changed tool:',
      '  pays',
      '  and tells nobody',
      '',
      '  arguments:',
      `  ${JSON.stringify(args)}`,
    ]);
    const narrow = planLines(plan, wish(), testScreen(40)).join(' ');
    for (const word of ['999999999', 'customer', 'nobody']) expect(narrow).toContain(word);
  });

  it('says that nothing fits', () => {
    expect(planLines({ planned: [], leftOut: [] }, wish(), testScreen())).toEqual([
      'Nothing fits; nothing is decided.',
    ]);
  });
});

it('approves no call whose tool changed, and spends no decision on it', async () => {
  const answers = {
    inbox: [item()],
    view: turn([call()]),
    changedTools: [{ callId: '1.1', now: 'changed' }],
    decide: {
      status: 'accepted',
      verdict: { accepted: true, callId: '1.1', decision: 'approved', approver: 'ann' },
    },
  };
  const all = ['approve', '--all', '--tool', 'pay', '--yes'];
  const { printed, asked } = await runCommand(addApprove, answers, ...all);
  expect(asked.map(([method]) => method)).toEqual(['inbox', 'view', 'changedTools']);
  expect(printed).toContain('left out: t-1/1.1: its tool changed since this request was made');
  const unchanged = await runCommand(addApprove, { ...answers, changedTools: [] }, ...all);
  expect(unchanged.asked.map(([method]) => method)).toContain('decide');
});

it('asks no more turns for changed tools once a wait was in vain, and decides all the same', async () => {
  let ms = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (ms += 2_000));
  const answers = {
    inbox: Array.from({ length: 20 }, (_, n) => item({ turn: `t-${n}` })),
    view: turn([call()]),
    changedTools: undefined,
    decide: { status: 'recorded' },
  };
  const { asked } = await runCommand(addApprove, answers, 'approve', '--all', '--tool', 'pay', '--yes');
  clock.mockRestore();
  const countOf = (method: string): number => asked.filter(([name]) => name === method).length;
  expect({ asked: countOf('changedTools'), decided: countOf('decide') }).toEqual({ asked: 8, decided: 20 });
});
