import { answerByForm, declineAnswer } from '../../../src/cli/commands/answer';
import type { Terminal } from '../../../src/cli/review/terminal';
import type { QuestionAnswer } from '../../../src/contract/decision';
import type { CallView } from '../../../src/history/view';
import { AT, call, question, testScreen } from '../support';

const at = (view: CallView, lines: string[]) => {
  const screen = testScreen();
  const asked: string[] = [];
  const sent: QuestionAnswer[] = [];
  const terminal: Terminal = {
    ask: (text) => {
      asked.push(text);
      const line = lines.shift();
      return line === undefined ? Promise.reject(new Error('asked too often')) : Promise.resolve(line);
    },
    meanwhile: (work) => work,
    release: () => undefined,
  };
  const answer = (_: string, given: QuestionAnswer) => {
    sent.push(given);
    const { callId, answer: decision } = given;
    const verdict = { accepted: true, decisionId: 'd', callId, decision, approver: 'ann', at: AT } as const;
    return Promise.resolve({ status: 'accepted', verdict } as const);
  };
  const never = () => Promise.reject(new Error('not asked'));
  const subject = {
    ...{ client: { answer, decide: never, resolve: never, view: never }, turn: 't-1', agent: 'clerk' },
    ...{ call: view, said: { approver: 'ann' }, context: { screen, env: {} } },
  };
  return { subject, terminal, asked, sent, screen };
};

it('asks for each field with its default, says what does not fit, and sends what was filled in', async () => {
  const { subject, terminal, asked, sent, screen } = at(question(), ['R', 'Rome', '', 'x', '2', 'yes']);
  await answerByForm(subject, terminal);
  expect(asked).toEqual(['City: ', 'City: ', 'nights [3]: ', 'room: ', 'room: ', 'late: ']);
  expect(sent).toMatchObject([
    {
      answer: 'answered',
      content: { city: 'Rome', room: 'double', late: true },
      callKey: 'key:1.1',
      channel: 'cli',
    },
  ]);
  expect(screen.printed.join('\n')).toContain('too short');
  expect(screen.printed).toContain('  2  double');
});

it('asks again for a number that cannot be kept exactly', async () => {
  const { subject, terminal, sent } = at(question(), ['Rome', '12345678901234567890', '4', '', '']);
  await answerByForm(subject, terminal);
  expect(sent[0]?.content).toEqual({ city: 'Rome', nights: 4 });
});

it('leaves out what may be left out', async () => {
  const { subject, terminal, sent } = at(question(), ['Rome', '', '', '']);
  await answerByForm(subject, terminal);
  expect(sent[0]?.content).toEqual({ city: 'Rome' });
});

it('asks why a question is declined', async () => {
  const { subject, terminal, sent } = at(question(), ['', 'not mine']);
  await declineAnswer(subject, terminal);
  expect(sent).toMatchObject([{ answer: 'declined', reason: 'not mine' }]);
});

it.each([
  ['a request', call()],
  ['a question that is over', question({ phase: 'done', outcome: 'done' })],
])('does not answer %s', async (_what, view) => {
  const { subject, terminal, sent } = at(view, ['Rome']);
  await expect(answerByForm(subject, terminal)).rejects.toMatchObject({ code: 'usage' });
  expect(sent).toEqual([]);
});
