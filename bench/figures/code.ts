import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCodeTools } from '../../lib/tools/code';
import { createExecutor, type Executor } from '../../lib/tools/executor';
import { createRegistry } from '../../lib/tools/registry';
import { absolute, alternate, median, timed, type Measurement } from '../figure';

const ROOT = join(__dirname, '..', '..');
const EDITED = join(ROOT, 'src', 'tools', 'define-tool.ts');
const ROUNDS = 30;
const STARTS = 3;

/** What a question about this repository costs: of a TypeScript that was just started, of one that knows it, and after an edit. */
export const code: Measurement = {
  name: 'code',
  async run() {
    const cold: number[] = [];
    // A process serves all packs with the same settings, so each start needs its own.
    for (let start = 0; start < STARTS; start++) cold.push(await timed(() => describe(open(2048 + start))));
    const known = open(2048);
    const text = readFileSync(EDITED, 'utf8');
    let edited = 0;
    const edit = (): Promise<number> => {
      writeFileSync(EDITED, `${text}\nexport const edited = ${++edited};\n`);
      return timed(() => ask(known, 'code_diagnostics', { file: 'src/tools/define-tool.ts' }));
    };
    const [lookups, callers, edits] = await alternate(
      ROUNDS,
      () => timed(() => describe(known)),
      () => timed(() => ask(known, 'find_callers', { symbol: 'runProcess' })),
      edit,
    ).finally(() => writeFileSync(EDITED, text));
    return [
      absolute('first question about this repository', median(cold) / 1000, { most: 12, unit: 's' }),
      absolute('later question about its code', median(lookups), { most: 100, unit: 'ms' }),
      absolute('callers of one of its functions', median(callers), { most: 200, unit: 'ms' }),
      absolute('check of a file after an edit', median(edits), { most: 600, unit: 'ms' }),
    ];
  },
};

const open = (heapMb: number): Executor =>
  createExecutor({ registry: createRegistry(createCodeTools({ root: ROOT, heapMb })) });

const describe = (executor: Executor): Promise<void> =>
  ask(executor, 'describe_code_symbol', { symbol: 'defineTool' });

async function ask(executor: Executor, name: string, args: Record<string, string>): Promise<void> {
  const { success, content } = await executor.execute({ name, arguments: args });
  if (!success) throw new Error(content);
}
