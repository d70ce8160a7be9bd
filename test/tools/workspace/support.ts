import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import type { FilePlan, Preview } from '../../../src/contract/plan';
import { isToolError } from '../../../src/tools/errors';
import type { CallContext, Tool, Verification } from '../../../src/tools/types';

/** A folder of files that goes away after the test file. */
export interface Box {
  /** The workspace; it lies in a folder of its own, so that there is an outside to escape to. */
  root: string;
  /** Beside the workspace. */
  outside: string;
  write(path: string, content: string | Uint8Array): string;
  read(path: string): Buffer;
  text(path: string): string;
}

const boxes: string[] = [];

afterAll(() => {
  for (const box of boxes) rmSync(box, { recursive: true, force: true });
});

/** Makes a workspace with these files, and a folder `outside` beside it that holds `secret.txt`. */
export function makeBox(files: Record<string, string | Uint8Array> = {}): Box {
  const base = mkdtempSync(join(tmpdir(), 'workspace-'));
  boxes.push(base);
  const root = join(base, 'proj');
  const outside = join(base, 'outside');
  for (const folder of [root, outside]) mkdirSync(folder);
  writeFileSync(join(outside, 'secret.txt'), SECRET);
  const write = (path: string, content: string | Uint8Array): string => {
    const at = join(root, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, content);
    return at;
  };
  for (const [path, content] of Object.entries(files)) write(path, content);
  const read = (path: string): Buffer => readFileSync(join(root, path));
  return { root, outside, write, read, text: (path) => read(path).toString('utf8') };
}

/** What no tool may ever show. */
export const SECRET = 'the secret of another folder\n';

/** A context for one call. */
export function contextOf(given: Partial<CallContext> = {}): CallContext {
  return {
    callId: '1.1',
    tool: 'any',
    idempotencyKey: 'key:0',
    attempt: 1,
    signal: new AbortController().signal,
    partial: () => undefined,
    ...given,
  };
}

/** A pack of tools, called by name as an executor would. */
export interface Hands {
  run(name: string, args: JsonObject, context?: Partial<CallContext>): Promise<unknown>;
  /** Text that it returned, or the message of what it threw. */
  say(name: string, args: JsonObject, context?: Partial<CallContext>): Promise<string>;
  preview(name: string, args: JsonObject): Promise<Preview>;
  plan(name: string, args: JsonObject): Promise<FilePlan>;
  verify(name: string, args: JsonObject): Promise<Verification>;
  tool(name: string): Tool;
}

export function takeInHand(tools: readonly Tool[]): Hands {
  const tool = (name: string): Tool => {
    const found = tools.find((candidate) => candidate.name === name);
    if (found === undefined) throw new Error(`no tool ${name}`);
    return found;
  };
  const valueOf = (name: string, args: JsonObject): unknown => {
    const parsed = tool(name).parse(args);
    if (!parsed.ok) throw new Error(`invalid: ${JSON.stringify(parsed.issues)}`);
    return parsed.value;
  };
  const run: Hands['run'] = async (name, args, context) =>
    tool(name).handle(valueOf(name, args), contextOf({ tool: name, ...context }));
  const preview: Hands['preview'] = async (name, args) => {
    const shown = await tool(name).preview?.(valueOf(name, args), contextOf({ tool: name }));
    if (shown === undefined) throw new Error(`${name} has no preview`);
    return shown;
  };
  return {
    tool,
    run,
    preview,
    say: async (name, args, context) => run(name, args, context).then(toText, messageOf),
    plan: async (name, args) => {
      const { plan } = await preview(name, args);
      if (plan === undefined) throw new Error(`${name} made no plan`);
      return plan;
    },
    verify: async (name, args) => {
      const found = await tool(name).verify?.(valueOf(name, args), contextOf({ tool: name }));
      if (found === undefined) throw new Error(`${name} has no verify`);
      return found;
    },
  };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Only errors made for the model count: anything else would show it a path of this machine. */
function messageOf(error: unknown): string {
  if (isToolError(error)) return `${error.code}: ${error.message}`;
  throw error;
}
