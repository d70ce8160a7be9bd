import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects, type Effects } from './effects';
import { readBack, scriptBook, type ScriptBook } from './script-book';
import { waitFor } from './turns';
import { startBench, type TestBench, type TurnHandle } from './worker';

/** An agent that can only pay, and what it did. */
export interface Payer {
  effects: Effects;
  book: ScriptBook;
  bench(): TestBench;
  /** A turn that waits with one request, 1.1. */
  waiting(tag: string): Promise<TurnHandle>;
}

/** One with a worker, for the test file that calls this. */
export function usePayer(): Payer {
  const effects = useEffects();
  const book = scriptBook();
  let bench: TestBench;
  beforeAll(async () => {
    bench = await startPayer({ effects, book, workers: 1 });
  });
  afterAll(() => bench.stop());
  const waiting = async (tag: string): Promise<TurnHandle> => {
    const prompt = book.add({ toolCalls: [{ name: 'pay', arguments: { tag } }] }, readBack);
    const handle = await bench.start('payer', prompt);
    await waitFor(handle, '1.1');
    return handle;
  };
  return { effects, book, bench: () => bench, waiting };
}

/** One on a queue of its own with no worker yet; workers come and go as the test says. */
export function startLonePayer(effects: Effects, book: Pick<ScriptBook, 'model'>): Promise<TestBench> {
  return startPayer({ effects, book, workers: 0 });
}

interface PayerOptions {
  effects: Effects;
  book: Pick<ScriptBook, 'model'>;
  workers: number;
}

function startPayer({ effects, book: { model }, workers }: PayerOptions): Promise<TestBench> {
  const tools = [recordTool(effects, { name: 'pay', safety: 'dangerous' })];
  const agents = [defineAgent({ name: 'payer', instructions: 'do', model, tools })];
  return startBench({ workers, agents });
}
