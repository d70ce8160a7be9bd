import { addAnswer } from '../../../src/cli/commands/answer';
import { WORDS_COUNT } from '../../../src/contract/question';
import type { CallView } from '../../../src/history/view';
import { runCommand } from '../command';
import { AT, call, question, turn } from '../support';

const accepted = {
  status: 'accepted',
  verdict: { accepted: true, decisionId: 'd', callId: '1.1', decision: 'answered', approver: 'ann', at: AT },
};
const run = (view: CallView, ...args: string[]) =>
  runCommand(addAnswer, { view: turn([view]), answer: accepted }, 'answer', 't-1/1.1', ...args);

it('fills in fields, each as its form wants it, and names the question that was seen', async () => {
  const { printed, asked } = await run(question(), '--set', 'city=12', '--set', 'nights=4', '--as', 'ann');
  expect(printed).toEqual([WORDS_COUNT, 't-1/1.1 answered by ann']);
  expect(asked[1]).toMatchObject([
    'answer',
    't-1',
    {
      callId: '1.1',
      callKey: 'key:1.1',
      answer: 'answered',
      content: { city: '12', nights: 4 },
      approver: 'ann',
    },
  ]);
});

it('takes a whole answer as JSON, and fields on top of it', async () => {
  const { asked } = await run(question(), '--content', '{"city":"Rome","nights":2}', '--set', 'nights=9');
  expect(asked[1]?.[2]).toMatchObject({ content: { city: 'Rome', nights: 9 } });
});

it('declines with a reason', async () => {
  const { asked, printed } = await run(question(), '--decline', '--reason', 'not mine');
  expect(asked[1]?.[2]).toMatchObject({ answer: 'declined', reason: 'not mine' });
  expect(printed[0]).toBe(WORDS_COUNT);
});

it('asks the turn what became of a question that is over', async () => {
  const { asked } = await run(question({ phase: 'done', outcome: 'done' }), '--set', 'city=Rome');
  expect(asked[1]?.[0]).toBe('answer');
});

it.each<[name: string, view: CallView, args: string[], said: string]>([
  ['a request', call(), ['--set', 'city=Rome'], 'does not wait for an answer'],
  ['what does not fit', question(), ['--set', 'city=R'], '/city'],
  ['what is missing', question(), ['--content', '{}'], 'does not fit the question'],
  ['a field that is not there', question(), ['--set', 'town=Rome'], 'there is no field town'],
  ['a field twice', question(), ['--set', 'city=a', '--set', 'city=b'], 'given twice'],
  ['text that is no field', question(), ['--set', 'Rome'], 'not field=value'],
  ['a number that is none', question(), ['--set', 'city=Rome', '--set', 'nights=few'], '--set nights'],
  ['JSON that is no object', question(), ['--content', '[1]'], 'not an object'],
  ['an answer beside --decline', question(), ['--decline', '--set', 'city=Rome'], '--decline'],
  ['nothing, without a terminal', question(), [], 'no terminal'],
])('refuses %s', async (_name, view, args, said) => {
  await expect(run(view, ...args)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining(said),
  });
});
