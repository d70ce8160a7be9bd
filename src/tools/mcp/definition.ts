import { z } from 'zod';
import { defined } from '../../contract/defined';
import { digestJson } from '../../contract/digest';
import { errorMessage } from '../../contract/errors';
import { isJsonObject, isObject, isSoundJson, type JsonObject } from '../../contract/json';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../../contract/names';
import { contentDigest } from '../content-digest';
import { resolveParameters } from '../parameters';

const jsonObject = z.custom<JsonObject>(isJsonObject, 'is not an object of JSON');

/**
 * What a server says of a tool, as far as anybody reads it. All of it is a stranger's text. `annotations` are digested
 * and shown, and never believed.
 */
export const definitionSchema = z.strictObject({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.optional(),
  annotations: jsonObject.optional(),
});

export type Definition = z.output<typeof definitionSchema>;

/** A tool that a server listed and that can be used, or why it cannot. */
export type Listed = { definition: Definition } | { name: string; unfit: string };

/** More tools than these are not read. */
export const MOST_TOOLS = 1024;
/** One definition as JSON. */
const DEFINITION_BYTES = 64 * 1024;
/** Levels of its schemas. */
const MOST_LEVELS = 24;
const NAME_CHARACTERS = 128;
/** A model reads it with every step; longer ones are an attack or a mistake. */
const DESCRIPTION_CHARACTERS = 8 * 1024;

/** Of what a server listed, the tools that can be used. */
export function definitionsIn(listed: readonly Listed[]): Definition[] {
  return listed.flatMap((one) => ('definition' in one ? [one.definition] : []));
}

/** What a server listed, in its order; what cannot be used says why. Never throws. */
export function readListed(tools: readonly unknown[]): Listed[] {
  const listed = tools.slice(0, MOST_TOOLS).map(readOne);
  const twice = repeated(listed.map(nameOf));
  return listed.map((one) =>
    twice.has(nameOf(one)) ? { name: nameOf(one), unfit: 'the server lists two tools of this name' } : one,
  );
}

/** Those that are there more than once. */
function repeated(names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  return new Set(names.filter((name) => seen.size === seen.add(name).size));
}

function nameOf(one: Listed): string {
  return 'definition' in one ? one.definition.name : one.name;
}

function readOne(tool: unknown): Listed {
  const given = isObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : '';
  const name = given.slice(0, NAME_CHARACTERS);
  try {
    if (given !== name) throw new Error(`its name has more than ${NAME_CHARACTERS} characters`);
    return { definition: fitting(tool) };
  } catch (error) {
    return { name, unfit: errorMessage(error) };
  }
}

/** @throws Error with the broken rule as its message. */
function fitting(tool: unknown): Definition {
  if (!isObject(tool) || !isSoundJson(tool, MOST_LEVELS))
    throw new Error(`it is not JSON of at most ${MOST_LEVELS} levels`);
  if (Buffer.byteLength(JSON.stringify(tool)) > DEFINITION_BYTES)
    throw new Error(`its definition has more than ${DEFINITION_BYTES / 1024} KiB`);
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const parsed = definitionSchema.safeParse(
    defined({ name, title, description, inputSchema, outputSchema, annotations }),
  );
  if (!parsed.success) throw new Error('it has no name, no schema of its arguments, or a wrong one');
  if ((parsed.data.description ?? '').length > DESCRIPTION_CHARACTERS)
    throw new Error(`its description has more than ${DESCRIPTION_CHARACTERS} characters`);
  // Size, references and patterns of linear time are what every tool's schema is held to.
  resolveParameters(parametersOf(parsed.data));
  return parsed.data;
}

/** The schema that the model sees and arguments are checked against: the server's, without the name of its dialect. */
export function parametersOf({ inputSchema }: Definition): Definition['inputSchema'] {
  const { $schema: _dialect, ...schema } = inputSchema;
  return schema;
}

/** SHA-256 over everything that people and models are shown of a tool, and over what it says of itself. */
export function digestDefinition(definition: Definition): string {
  const known = digests.get(definition);
  if (known !== undefined) return known;
  const digest = digestJson(definition, contentDigest);
  digests.set(definition, digest);
  return digest;
}

/** Nobody changes a definition that was read, and one is compared again and again. */
const digests = new WeakMap<Definition, string>();

const MOST_NAME = 64;
const DIGITS = 8;

/**
 * The name of a server's tool here: `server__tool`, in snake case. One that would be too long ends in a part of its digest.
 * Undefined where no letter or digit is left of it.
 */
export function toolName(prefix: string, name: string): string | undefined {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  const snake = words.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  if (snake === '') return undefined;
  const whole = `${prefix}__${snake}`;
  const short =
    whole.length <= MOST_NAME
      ? whole
      : `${whole.slice(0, MOST_NAME - DIGITS - 1)}_${digestJson(name).slice(0, DIGITS)}`;
  return TOOL_NAME.test(short) && !RESERVED_TOOL_NAMES.includes(short) ? short : undefined;
}

/** The names of a server's tools here, by its own. Two that would be called the same are left out: nobody could tell them apart. */
export function toolNames(prefix: string, names: readonly string[]): Map<string, string> {
  const all = names.flatMap((name) => {
    const ours = toolName(prefix, name);
    return ours === undefined ? [] : [[name, ours] as const];
  });
  const twice = repeated(all.map(([, ours]) => ours));
  return new Map(all.filter(([, ours]) => !twice.has(ours)));
}
