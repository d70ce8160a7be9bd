import { openItems } from '../../../src/client/inbox/waiting';
import { viewOf } from '../../../src/history/view';
import { openCalls, openMemo } from '../../../src/workflows/summary';
import { AGE, callsWith } from '../../support/calls';
import { accepted, ask, item, Script } from '../../history/script';

const QUESTION = { text: AGE.text, form: AGE.form };

it('lists what waits beyond the memo in the order of the model, with what the memo would say', () => {
  const calls = [ask('1.1', { question: QUESTION }), ask('1.2'), ask('1.3')];
  const script = new Script().started().task().think(1, calls).open([], 3);
  const items = openItems(viewOf(script.fold()));
  const open = openCalls(callsWith(...calls).state.calls.values());
  const memo = openMemo(open, { stepKey: 'key' });
  const known = ({ callId, kind, tool, summary }: (typeof items)[number]) => ({
    callId,
    kind,
    tool,
    summary,
  });
  expect(items.map(known)).toEqual(memo?.items.map(known));
  expect(items.map((one) => Object.keys(one))).toEqual(memo?.items.map((one) => Object.keys(one)));
  expect(items[1]?.seenDigest).toMatch(/./);
});

it('shortens the note, as the memo does', () => {
  const refused = { content: 'x'.repeat(500) };
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([item('1.1')]);
  const edit = { callId: '1.1', decision: 'modified', arguments: { n: 2 } };
  script.update('decide', edit, accepted('1.1', 'modified', { asksAgain: true }));
  const prepared = script.scheduled('prepare-1.1', 'countersign.prepare');
  script.fails(prepared, { message: refused.content }).task().open([], 1);
  const [only] = openItems(viewOf(script.fold()));
  expect(only?.note).toMatch(/^the edit could not be previewed/);
  expect(only?.note).toHaveLength(200);
});

it('a request that could not be asked about again waits as long as before', () => {
  const script = new Script()
    .started()
    .task()
    .think(1, [ask('1.1')])
    .open([], 1);
  const before = openItems(viewOf(script.fold()));
  script.wait(10_000);
  const again = { callId: '1.1', decision: 'ask-again', approver: 'dora' };
  script.update('decide', again, accepted('1.1', 'ask-again', { asksAgain: true }));
  const prepared = script.scheduled('prepare-1.1', 'countersign.prepare');
  script.fails(prepared, { message: 'no rule' }).task().open([], 1);
  const [only] = openItems(viewOf(script.fold()));
  expect(only?.note).toMatch(/^it was not asked again/);
  expect(only).toMatchObject({ since: before[0]?.since, deadline: before[0]?.deadline });
});
