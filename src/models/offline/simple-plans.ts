import type { JsonObject } from '../../contract/json';
import { describeChange, describeRead } from './describe';
import type { Intent, ReplaceIntent, SearchIntent } from './intent';
import { askAll, lacking, type Plan, type PlannedCall, type Toolbox } from './plan';

type SimpleIntent = Exclude<Intent, ReplaceIntent | SearchIntent>;

/** How one of the tools that can do it would be asked. */
interface Way {
  tool: string;
  calls: JsonObject[];
}

/** A request that is one step: the calls do not depend on each other. */
export function* planSimple(intent: SimpleIntent, tools: Toolbox): Plan {
  const ways = waysOf(intent);
  const way = ways.find(({ tool }) => tools.has(tool));
  if (way === undefined) return lacking(...ways.map(({ tool }) => tool));
  const calls: PlannedCall[] = way.calls.map((args) => ({ tool: way.tool, arguments: args }));
  const outcomes = yield* askAll(calls);
  const describe = READS.includes(intent.kind) ? describeRead : describeChange;
  const lines = calls.map((call, index) => describe(call, outcomes[index]));
  return {
    lines,
    failed: outcomes.every((outcome) => outcome === undefined || outcome.failure !== undefined),
  };
}

const READS: readonly Intent['kind'][] = ['list', 'read', 'info', 'run'];

/** The ways to do it, best first. */
function waysOf(intent: SimpleIntent): Way[] {
  switch (intent.kind) {
    case 'list':
      return listWays(intent);
    case 'read':
      return [{ tool: 'read_file', calls: intent.paths.map((path) => ({ path })) }];
    case 'info':
      return [{ tool: 'get_file_info', calls: [{ path: intent.path }] }];
    case 'create':
      return createWays(intent);
    case 'insert':
      return [
        { tool: 'insert_at_line', calls: [{ path: intent.path, line: intent.line, text: intent.text }] },
      ];
    case 'delete':
      return [{ tool: 'delete_file', calls: intent.paths.map((path) => ({ path })) }];
    case 'move':
      return [{ tool: 'move_file', calls: [{ from: intent.from, to: intent.to }] }];
    case 'run':
      return [{ tool: 'run_command', calls: [{ argv: intent.argv }] }];
  }
}

function listWays({ path, tree }: Extract<Intent, { kind: 'list' }>): Way[] {
  const names = tree ? ['directory_tree', 'list_directory'] : ['list_directory', 'directory_tree'];
  return names.map((tool) => ({ tool, calls: [{ path }] }));
}

/** `create` never overwrites, so `write_file` cannot take its place. */
function createWays({ path, content, overwrite }: Extract<Intent, { kind: 'create' }>): Way[] {
  return [{ tool: overwrite ? 'write_file' : 'create_file', calls: [{ path, content }] }];
}
