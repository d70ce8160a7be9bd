import type { Drained } from '../../../src/client';
import { drainedLine } from '../../../src/cli/commands/deploy';

it.each<[Drained, string]>([
  [{ id: 't', outcome: 'moved' }, 't moved'],
  [{ id: 't', outcome: 'ended' }, 't ended'],
  [
    { id: 's', outcome: 'held', why: 'busy', reason: 'its turn s.t1 is open' },
    's is held: its turn s.t1 is open',
  ],
  [
    { id: 't\u001b[2J', outcome: 'held', why: 'busy', reason: 'a\u001b[2Jb' },
    't\\x1b[2J is held: a\\x1b[2Jb',
  ],
])('%j is printed as: %s', (drained, line) => {
  expect(drainedLine(drained)).toBe(line);
});
