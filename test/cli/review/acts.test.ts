import fc from 'fast-check';
import {
  answerHunk,
  choiceMeans,
  currentHunk,
  startChoice,
  type HunkAnswer,
  type HunkChoice,
} from '../../../src/cli/review/acts';

const choose = (ids: string[], ...answers: HunkAnswer[]): HunkChoice =>
  answers.reduce(answerHunk, startChoice(ids));

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
    expect(currentHunk(choice)).toBe(current);
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
