import { describeRead } from './describe';
import type { SearchIntent } from './intent';
import { lacking, type Plan, type Toolbox } from './plan';

/** Searches below a folder. Where that fails the path may be a file: then only that one is searched. */
export function* planSearch({ query, path }: SearchIntent, tools: Toolbox): Plan {
  if (!tools.has('search_files')) return lacking('search_files');
  const call = { tool: 'search_files', arguments: { query, ...(path === undefined ? {} : { path }) } };
  const [outcome] = yield [call];
  if (path === undefined || outcome?.failure !== 'tool') {
    return {
      lines: [describeRead(call, outcome)],
      failed: outcome === undefined || outcome.failure !== undefined,
    };
  }
  const inFile = { tool: 'search_files', arguments: { query, glob: path } };
  const [second] = yield [inFile];
  return {
    lines: [describeRead(inFile, second)],
    failed: second === undefined || second.failure !== undefined,
  };
}
