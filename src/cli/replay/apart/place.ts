import { Session } from 'node:inspector';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

/** Enough on a busy machine; code that cannot be stopped at all is not waited for. */
const PATIENCE_MS = 5_000;

/**
 * Stops the other thread of this process, and tells which line of workflow code it was at, as its stack names it.
 * Undefined where that cannot be told.
 */
export async function stopAndLocate(): Promise<string | undefined> {
  const stack = await Promise.race([stopAndAsk(STACK), delay(PATIENCE_MS)]);
  return stack === undefined ? undefined : placeIn(stack);
}

/** The SDK gives stacks the names and lines of the sources. Its own calls are many, so the usual ten lines may not do. */
const STACK = 'try { Error.stackTraceLimit = 100 } catch {} new Error().stack';

const pausedSchema = z.object({
  method: z.literal('Debugger.paused'),
  params: z.object({ callFrames: z.tuple([z.object({ callFrameId: z.string() })], z.unknown()) }),
});
const valueSchema = z.object({ result: z.object({ result: z.object({ value: z.string() }) }) });

/** Evaluates an expression where the thread is. A debugger can: it interrupts code that nothing else reaches. */
function stopAndAsk(expression: string): Promise<string> {
  const session = new Session();
  session.connect();
  return new Promise((resolve) => {
    const send = (sessionId: string, method: string, params: object = {}): void => {
      const message = JSON.stringify({ id: 1, method, params });
      session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
    };
    session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => {
      send(sessionId, 'Debugger.enable');
      send(sessionId, 'Debugger.pause');
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
      const said: unknown = JSON.parse(message);
      const { data: paused } = pausedSchema.safeParse(said);
      const { data: answer } = valueSchema.safeParse(said);
      if (answer !== undefined) resolve(answer.result.result.value);
      if (paused === undefined) return;
      const [{ callFrameId }] = paused.params.callFrames;
      send(sessionId, 'Debugger.evaluateOnCallFrame', { callFrameId, expression });
    });
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  });
}

/** What evaluates the stack, what libraries do, and what called the sandbox is no workflow code. */
const NOT_OWN = /<anonymous>|node_modules|node:/;

/** The innermost line of workflow code in a stack. */
export function placeIn(stack: string): string | undefined {
  const [inside = ''] = stack.split(/\n[^\n]*\(node:vm:/);
  const own = inside.split('\n').filter((line) => !NOT_OWN.test(line));
  return own.map((line) => /\(?(\S+:\d+:\d+)\)?$/.exec(line)?.[1]).find((place) => place !== undefined);
}
