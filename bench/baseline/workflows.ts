import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

/** What a careful person writes by hand: a model and a tool, each an activity, results passed on. */
interface BaselineActivities {
  model(input: { step: number; steps: number; last: string }): Promise<{ text: string }>;
  tool(input: { text: string }): Promise<string>;
}

const { model, tool } = proxyActivities<BaselineActivities>({ startToCloseTimeout: '1 minute' });

/** `steps` steps of a model and a tool, until the model answers; only the last result is passed on. */
export async function handWrittenLoop(steps: number): Promise<number> {
  let last = '';
  for (let step = 0; ; step++) {
    const { text } = await model({ step, steps, last });
    if (text === 'done') return step;
    last = await tool({ text });
  }
}

export const goSignal = defineSignal('go');

/** Waits for a signal, then runs the tool: the least that a decision can cost. */
export async function rawSignal(): Promise<string> {
  let go = false;
  setHandler(goSignal, () => {
    go = true;
  });
  await condition(() => go);
  return tool({ text: 'go' });
}
