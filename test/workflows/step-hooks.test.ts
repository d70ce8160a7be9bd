import { carriedBy, firstOf } from '../../src/workflows/step-hooks';
import { makeTurn, type StepHook } from '../../src/workflows/turn-state';

const turn = makeTurn({ agent: 'a', prompt: 'go' }, 'r');

test('every hook is asked, and the first that says anything is heard', () => {
  const asked: string[] = [];
  const hook = (name: string, status?: 'loop' | 'budget'): StepHook => ({
    after() {
      asked.push(name);
      return status && { status };
    },
  });
  const hooks = [hook('first'), {}, hook('second', 'loop'), hook('third', 'budget')];
  expect(firstOf(hooks, ({ after }) => after?.(turn, []))).toEqual({ status: 'loop' });
  expect(asked).toEqual(['first', 'second', 'third']);
});

test('the next run gets what each hook gives', () => {
  const hooks: StepHook[] = [{ carry: () => ({ children: 2 }) }, {}, { carry: () => ({ step: 3 }) }];
  expect(carriedBy(hooks, turn)).toEqual({ children: 2, step: 3 });
});
