import fc from 'fast-check';
import { answerHunk, choiceMeans, decideByHunks } from '../../../src/cli/review/hunks';
import type { Terminal } from '../../../src/cli/review/terminal';
import type { Decision } from '../../../src/contract/decision';
import { AT, call, proposal, testScreen } from '../support';

type HunkAnswer = Parameters<typeof answerHunk>[1];

type HunkAnswers = Parameters<typeof answerHunk>[0];

const choose = (ids: string[], ...answers: HunkAnswer[]): HunkAnswers =>
  answers.reduce(answerHunk, { ids, at: 0, accepted: [] });

describe('choosing hunks', () => {
  it.each<[HunkAnswer[], string[], string | undefined, string]>([
    [['yes', 'no', 'yes'], ['1', '3'], undefined, 'some'],
    [['yes', 'yes', 'yes'], ['1', '2', '3'], undefined, 'all'],
    [['no', 'no', 'no'], [], undefined, 'none'],
    [['all'], ['1', '2', '3'], undefined, 'all'],
    [['no', 'all'], ['2', '3'], undefined, 'some'],
    [['yes', 'done'], ['1'], undefined, 'some'],
    [['done'], [], undefined, 'none'],
    [['yes', 'split'], ['1'], '2', 'some'],
    [['edit'], [], '1', 'none'],
    [['leave'], [], '1', 'none'],
  ])('%j accepts %j', (answers, accepted, current, means) => {
    const choice = choose(['1', '2', '3'], ...answers);
    expect(choice.accepted).toEqual(accepted);
    expect(choice.ids[choice.at]).toBe(current);
    expect(choiceMeans(choice)).toBe(means);
  });

  it('accepts only what was said yes to, in order, once', () => {
    const answers = fc.array(fc.constantFrom<HunkAnswer>('yes', 'no', 'split', 'edit', 'leave'));
    fc.assert(
      fc.property(fc.nat(20), answers, (count, said) => {
        const ids = Array.from({ length: count }, (_, at) => String(at + 1));
        const real = said.filter((answer) => answer === 'yes' || answer === 'no').slice(0, count);
        const yes = real.flatMap((answer, at) => (answer === 'yes' ? [String(at + 1)] : []));
        expect(choose(ids, ...said).accepted).toEqual(yes);
      }),
    );
  });
});

describe('deciding by hunks', () => {
  /** Lets a person give these answers; what was printed before each of them, and the decision. */
  const decided = async (...answers: string[]) => {
    const screen = testScreen();
    const sent: Decision[] = [];
    const terminal: Terminal = {
      ask: (question) => {
        screen.line(question);
        return Promise.resolve(answers.shift() ?? 'q');
      },
      meanwhile: (work) => work,
      release: () => undefined,
    };
    const decide = (_: string, decision: Decision) => {
      sent.push(decision);
      const { callId } = decision;
      const verdict = {
        callId,
        accepted: true,
        decisionId: 'd',
        decision: 'approved',
        approver: 'ann',
        at: AT,
      } as const;
      return Promise.resolve({ status: 'accepted', verdict } as const);
    };
    const never = () => Promise.reject(new Error('not asked'));
    const subject = {
      ...{ client: { answer: never, decide, resolve: never, view: never }, turn: 't-1', agent: 'clerk' },
      ...{ call: call({ request: proposal() }), said: { approver: 'ann' }, context: { screen, env: {} } },
    };
    await decideByHunks(subject, terminal);
    return { printed: screen.printed, sent };
  };

  it('names the tool, the agent, the turn and the file first', async () => {
    const { printed } = await decided('y', 'n', 'y');
    expect(printed.slice(0, 3)).toEqual(['edit_file for clerk, t-1/1.1', '--- a.txt', '+++ a.txt']);
  });

  it('tells of s what it does: it splits nothing, and says why', async () => {
    const { printed } = await decided('?', 's', 'y', 'n', 'y');
    const told = printed.indexOf('s  say why this hunk cannot be split');
    expect(told).toBeGreaterThan(0);
    expect(printed.findIndex((line) => line.startsWith('This hunk cannot be split'))).toBeGreaterThan(told);
  });

  it('prints every hunk before it offers it', async () => {
    const { printed, sent } = await decided('a', 'y');
    const offered = printed.findIndex((line) => line.startsWith('Approve all 2 hunks?'));
    expect(printed.slice(0, offered).filter((line) => line.startsWith('@@'))).toHaveLength(2);
    expect(sent).toMatchObject([{ decision: 'approved' }]);
  });
});
