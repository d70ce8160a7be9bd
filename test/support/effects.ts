import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonSchema } from '../../src/contract/tool';
import { defineTool, type ToolOptions } from '../../src/tools/define-tool';
import type { CallContext, Tool } from '../../src/tools/types';

/** Effects of tools, written to a file: what really happened, whatever the turn says. */
export interface Effects {
  add(line: string): Promise<void>;
  /** Lines so far; with a tag only those of it. */
  lines(tag?: string): Promise<string[]>;
}

/** A fresh file for the test file that calls this. Each line is `<tool> <tag>`, or what a handler adds. */
export function useEffects(): Effects {
  let directory = '';
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'countersign-effects-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const file = (): string => join(directory, 'effects');
  return {
    add: (line) => appendFile(file(), `${line}\n`),
    lines: async (tag = '') => {
      const text = await readFile(file(), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '' && line.includes(tag));
    },
  };
}

/** Parameters of `recordTool`: which test it is, and anything that decides about the call. */
export const TAG_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { tag: { type: 'string' }, amount: { type: 'number', maximum: 1000 }, to: { type: 'string' } },
  required: ['tag'],
  additionalProperties: false,
};

/** A tool that writes `<name> <tag>` to the effects and returns `<name> did <tag>`. A handler of one's own runs after the line. */
export function recordTool(
  effects: Effects,
  options: Partial<Omit<ToolOptions<JsonSchema>, 'handler'>> & { name: string },
  then: (tag: string, context: CallContext) => unknown = () => undefined,
): Tool {
  return defineTool<JsonSchema>({
    description: `Writes ${options.name} to the effects file.`,
    parameters: TAG_SCHEMA,
    ...options,
    handler: async (args, context) => {
      const tag = String(args['tag']);
      await effects.add(`${options.name} ${tag}`);
      return (await then(tag, context)) ?? `${options.name} did ${tag}`;
    },
  });
}

/** Tools whose calls a person is asked about: one that pays, one whose request is short, and one that never says how it ended. */
export function askedTools(effects: Effects): Tool[] {
  return [
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
    recordTool(effects, { name: 'brief', safety: 'dangerous', requestExpires: '1s' }),
    recordTool(
      effects,
      { name: 'hang', safety: 'dangerous', timeout: '1s' },
      () => new Promise(() => undefined),
    ),
  ];
}
