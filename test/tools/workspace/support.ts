import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import type { FilePlan, Preview } from '../../../src/contract/plan';
import { isToolError } from '../../../src/tools/errors';
import { makeContext } from '../../../src/tools/context';
import type { CallContext, Tool } from '../../../src/tools/types';
import type { ToolResult } from '../../../src/contract/result';
import { createExecutor } from '../../../src/tools/executor';
import { createRegistry } from '../../../src/tools/registry';
import { createWorkspaceTools } from '../../../src/tools/workspace';
import { createContentTools } from '../../../src/tools/workspace/plan';
import type { FolderAccess } from '../../../src/tools/workspace/held-folder';
import { createListTools, createReadTools } from '../../../src/tools/workspace/read-tools';
import { createMoveTools } from '../../../src/tools/workspace/move-tools';
import { createRoot } from '../../../src/tools/workspace/root';
import { createSearchTool } from '../../../src/tools/workspace/search-tool';
import { scratchDirectory } from '../../support/scratch';

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
  const { signal } = new AbortController();
  return {
    ...makeContext({ callId: '1.1', tool: 'any', idempotencyKey: 'key:0' }, {}, { signal }),
    ...given,
  };
}

/** A pack of tools, called by name as an executor would. */
interface Hands {
  run(name: string, args: JsonObject, context?: Partial<CallContext>): Promise<unknown>;
  /** Text that it returned, or the message of what it threw. */
  say(name: string, args: JsonObject, context?: Partial<CallContext>): Promise<string>;
  preview(name: string, args: JsonObject): Promise<Preview>;
  plan(name: string, args: JsonObject): Promise<FilePlan>;
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
  };
}

/** A workspace with these files, and its tools. */
export function openWorkspace(files: Record<string, string | Uint8Array> = {}) {
  const box = makeBox(files);
  return { box, hands: takeInHand(createWorkspaceTools({ root: box.root })) };
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Only errors made for the model count: anything else would show it a path of this machine. */
function messageOf(error: unknown): string {
  if (isToolError(error)) return `${error.code}: ${error.message}`;
  throw error;
}

/** Both ways to hold a folder; each works on Linux. */
export const HOLDINGS: readonly FolderAccess[] = ['descriptors', 'checks'];

/** A workspace in `proj`, with things beside it that no tool may touch. */
export interface WorkspaceFixture {
  /** The workspace. */
  root(): string;
  /** What holds the workspace and what is outside of it. */
  around(): string;
  put(path: string, content: string | Uint8Array): void;
  replaceByLink(path: string, target: string): void;
  text(path: string): string;
  bytes(path: string): Buffer;
  /** Every name around, with its kind, mode and content. */
  snapshot(): Record<string, string>;
  tool(name: string): Tool;
  /** Through the executor, approved. */
  run(name: string, args: JsonObject, signal?: AbortSignal): Promise<ToolResult>;
  preview(name: string, args: JsonObject): Promise<Preview>;
  plan(name: string, args: JsonObject): Promise<FilePlan>;
  /** The handler as an activity calls it: with the approved plan. */
  handle(
    name: string,
    args: JsonObject,
    approved?: Partial<Pick<CallContext, 'plan' | 'hunks' | 'signal'>>,
  ): Promise<unknown>;
}

/** A fresh fixture for each test of the file that calls this. */
export function workspaceFixture(holding?: FolderAccess): WorkspaceFixture {
  const around = scratchDirectory();
  const root = (): string => join(around(), 'proj');
  beforeEach(() => mkdirSync(root()));
  const tools = (): Tool[] => toolsOf(root(), holding);
  const hands = (): Hands => takeInHand(tools());
  return {
    root,
    around,
    put: (path, content) => {
      mkdirSync(dirname(join(root(), path)), { recursive: true });
      writeFileSync(join(root(), path), content);
    },
    replaceByLink: (path, target) => {
      rmSync(join(root(), path), { recursive: true });
      symlinkSync(target, join(root(), path));
    },
    text: (path) => readFileSync(join(root(), path), 'utf8'),
    bytes: (path) => readFileSync(join(root(), path)),
    snapshot: () => snapshotOf(around()),
    tool: (name) => hands().tool(name),
    run: (name, args, signal) =>
      createExecutor({ registry: createRegistry(tools()) }).execute(
        { name, arguments: args },
        { approve: () => ({ decision: 'approved' }), ...(signal === undefined ? {} : { signal }) },
      ),
    preview: (name, args) => hands().preview(name, args),
    plan: (name, args) => hands().plan(name, args),
    handle: (name, args, approved) => hands().run(name, args, approved),
  };
}

/** The pack, with its root held one way or the other. */
function toolsOf(directory: string, holding: FolderAccess | undefined): Tool[] {
  const root = createRoot(directory, { holding });
  const pack = { categories: ['workspace'] };
  return [
    ...createReadTools(root, pack),
    ...createListTools(root, pack),
    createSearchTool(root, pack),
    ...createContentTools(root, pack),
    ...createMoveTools(root, pack),
  ];
}

function snapshotOf(directory: string, below = ''): Record<string, string> {
  const entries = readdirSync(join(directory, below), { withFileTypes: true });
  // Not `recursive`: that follows links.
  const found = entries.map((entry) => {
    const path = join(below, entry.name);
    const inside = entry.isDirectory() ? snapshotOf(directory, path) : {};
    return { [path]: describe(join(directory, path)), ...inside };
  });
  return Object.assign({}, ...found);
}

function describe(path: string): string {
  const facts = lstatSync(path);
  const mode = (facts.mode & 0o7777).toString(8);
  if (facts.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (facts.isFile())
    return facts.size > 100_000 ? `${mode} large` : `${mode} ${readFileSync(path, 'latin1')}`;
  return facts.isDirectory() ? `${mode} folder` : `${mode} other`;
}
