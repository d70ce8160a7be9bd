import { Session } from 'node:inspector';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

/**
 * The most time to wait for the thread to stop: enough on a busy machine. Code that cannot be stopped at all is not
 * waited for.
 */
const PATIENCE_MS = 5_000;

/**
 * Stops the other thread of this process and returns the line of workflow code that it was at. Undefined if the
 * stack does not show one.
 */
export async function stopAndLocate(): Promise<string | undefined> {
  return Promise.race([stopAndAsk(STACK, locationIn), delay(PATIENCE_MS, undefined)]);
}

/**
 * An expression that returns the stack. The SDK puts the names and lines of the sources into stacks. It makes many
 * calls itself, so the usual ten lines may not be enough.
 */
const STACK = 'try { Error.stackTraceLimit = 100 } catch {} new Error().stack';

const pausedSchema = z.object({
  method: z.literal('Debugger.paused'),
  params: z.object({ callFrames: z.tuple([z.object({ callFrameId: z.string() })], z.unknown()) }),
});
const resumedSchema = z.object({ method: z.literal('Debugger.resumed') });
const valueSchema = z.object({ result: z.object({ result: z.object({ value: z.string() }) }) });

/**
 * Evaluates an expression at the point where the thread is, again and again until `take` finds a value in the result:
 * the thread may have been stopped inside the SDK. Only a debugger can interrupt such code.
 */
function stopAndAsk<T>(expression: string, take: (said: string) => T | undefined): Promise<T> {
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
      if (answer !== undefined) {
        const taken = take(answer.result.result.value);
        if (taken !== undefined) return resolve(taken);
        send(sessionId, 'Debugger.resume');
      }
      if (resumedSchema.safeParse(said).success) send(sessionId, 'Debugger.pause');
      if (paused === undefined) return;
      const [{ callFrameId }] = paused.params.callFrames;
      send(sessionId, 'Debugger.evaluateOnCallFrame', { callFrameId, expression });
    });
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  });
}

/** Frames that are not workflow code: libraries, Node, and the expression that reads the stack. */
const NOT_OWN = /<anonymous>|node_modules|node:/;

/** The innermost line of workflow code in a stack. */
export function locationIn(stack: string): string | undefined {
  const [inside = ''] = stack.split(/\n[^\n]*\(node:vm:/);
  const own = inside.split('\n').filter((line) => !NOT_OWN.test(line));
  return own.map((line) => /\(?(\S+:\d+:\d+)\)?$/.exec(line)?.[1]).find((place) => place !== undefined);
}
