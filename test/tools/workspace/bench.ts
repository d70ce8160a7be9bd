import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../../src/contract/json';
import type { FilePlan, Preview } from '../../../src/contract/plan';
import type { ToolResult } from '../../../src/contract/result';
import { createExecutor } from '../../../src/tools/executor';
import { createRegistry } from '../../../src/tools/registry';
import type { CallContext, Tool } from '../../../src/tools/types';
import { createContentTools } from '../../../src/tools/workspace/content-tools';
import type { Holding } from '../../../src/tools/workspace/folder';
import { createListTools } from '../../../src/tools/workspace/list-tools';
import { createMoveTools } from '../../../src/tools/workspace/move-tools';
import { createReadTools } from '../../../src/tools/workspace/read-tools';
import { createRoot } from '../../../src/tools/workspace/root';
import { createSearchTool } from '../../../src/tools/workspace/search-tool';
import { scratchDirectory } from '../../support/scratch';
import { takeInHand, type Hands } from './support';

/** Both ways to hold a folder; each works on Linux. */
export const HOLDINGS: readonly Holding[] = ['descriptors', 'checks'];

/** A workspace in `proj`, with things beside it that no tool may touch. */
export interface Bench {
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
  handle(name: string, args: JsonObject, approved?: Pick<CallContext, 'plan' | 'hunks'>): Promise<unknown>;
}

/** A fresh bench for each test of the file that calls this. */
export function workspaceBench(holding?: Holding): Bench {
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
function toolsOf(directory: string, holding: Holding | undefined): Tool[] {
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
