import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { validationFailure } from '../contract/make-result';
import type { ToolFailure } from '../contract/result';
import { applyDefaults } from '../contract/schema';
import { cutOutput } from './cut-output';
import { parseArguments, type ArgumentsText } from './parse-arguments';
import type { Registry } from './registry';
import type { Tool } from './types';

/** A call whose tool is there and whose arguments fit. */
export interface ReadyCall {
  ok: true;
  tool: Tool;
  /** With defaults applied. */
  args: JsonObject;
  /** The same, as the handler wants them. */
  value: unknown;
}

/** A call that cannot run. */
export interface UnfitCall {
  ok: false;
  tool: Tool | undefined;
  args: JsonObject;
  failure: ToolFailure;
}

/** Finds the tool and validates the arguments; text is parsed first. */
export function prepare(registry: Registry, name: string, given: string | JsonObject): ReadyCall | UnfitCall {
  const tool = registry.get(name);
  const parsed = readArguments(given);
  const args = parsed.ok ? parsed.value : {};
  if (tool === undefined) return { ok: false, tool, args, failure: unknownTool(registry, name) };
  if (!parsed.ok) return { ok: false, tool, args, failure: validationFailure(parsed.issues) };
  return fit(tool, args);
}

/** Validates arguments against a tool, its defaults filled in. */
export function fit(tool: Tool, given: JsonObject): ReadyCall | UnfitCall {
  const parsed = tool.parse(given);
  if (!parsed.ok) return { ok: false, tool, args: given, failure: validationFailure(parsed.issues) };
  return { ok: true, tool, args: structuredClone(applyDefaults(tool.schema, given)), value: parsed.value };
}

/** Objects take the way of text too, so that both have the same limits and nobody else holds what will run. */
function readArguments(given: string | JsonObject): ArgumentsText {
  return parseArguments(typeof given === 'string' ? given : (JSON.stringify(given) ?? 'undefined'));
}

/** Names of tools that are told to a model that asked for one that does not exist. */
const NAMES_BYTES = LIMITS.reasonBytes;

function unknownTool(registry: Registry, name: string): ToolFailure {
  const names = registry.list().map((tool) => tool.name);
  const known = names.length === 0 ? 'There are no tools.' : `There are: ${names.join(', ')}.`;
  const message = `There is no tool "${name.slice(0, 100)}". ${cutOutput(known, NAMES_BYTES)}`;
  return { code: 'tool_not_found', message };
}
