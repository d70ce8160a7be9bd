import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExecutor } from '../../lib/tools/executor';
import { createLispTools } from '../../lib/tools/lisp';
import { findOrStartImage } from '../../lib/tools/lisp/image';
import { lispSymbol } from '../../lib/tools/lisp/sexp';
import { createRegistry } from '../../lib/tools/registry';
import { absolute, alternate, median, timed, type Figure, type Measurement } from '../figure';

const ROUNDS = 200;
const NAME = 'bench';

/** What a lookup costs over Swank itself, and what the three tools of the seed's scenario take together. */
export const lisp: Measurement = {
  name: 'lisp',
  async run({ say }) {
    if (spawnSync('sbcl', ['--version']).status !== 0) {
      say('there is no SBCL here; the figures of the Lisp pack are left out');
      return [];
    }
    const stateDir = await mkdtemp(join(tmpdir(), 'countersign-bench-lisp-'));
    const dir = join(stateDir, 'lisp', NAME);
    const image = await findOrStartImage({ dir, program: 'sbcl', cwd: stateDir, load: [], heapMb: 1024 });
    try {
      return await measure(stateDir, image);
    } finally {
      await image.kill?.();
      await rm(stateDir, { recursive: true, force: true });
    }
  },
};

async function measure(
  stateDir: string,
  { swank }: Awaited<ReturnType<typeof findOrStartImage>>,
): Promise<Figure[]> {
  const executor = createExecutor({ registry: createRegistry(createLispTools({ stateDir, name: NAME })) });
  const ask = async (name: string, args: Record<string, string>): Promise<void> => {
    const { success, content } = await executor.execute({ name, arguments: args });
    if (!success) throw new Error(content);
  };
  const bare = [lispSymbol('swank:operator-arglist'), 'mapcar', 'COMMON-LISP'];
  const [baselines, lookups, together] = await alternate(
    ROUNDS,
    () => timed(() => swank.request(bare)),
    () => timed(() => ask('function_arglist', { function: 'mapcar' })),
    () =>
      timed(async () => {
        await ask('describe_symbol', { symbol: 'defun', package: 'common-lisp' });
        await ask('function_arglist', { function: 'defun' });
        await ask('who_calls', { function: 'find-package' });
      }),
  );
  const over = (lookups ?? []).map((ms, index) => ms - (baselines?.[index] ?? NaN));
  return [
    absolute('Lisp lookup, over the bare Swank round trip', median(over), { most: 5, unit: 'ms' }),
    absolute('three Lisp lookups together', median(together), { most: 100, unit: 'ms' }),
  ];
}
