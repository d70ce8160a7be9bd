import { z } from 'zod';
import { digestJson } from '../../contract/digest';
import { errorMessage } from '../../contract/errors';
import { isJsonObject, isObject, isSoundJson } from '../../contract/json';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../../contract/names';
import { sha256 } from '../../system/sha256';
import { usableSchema } from '../../contract/schema/usable-schema';
import { guarded } from '../../system/guarded';

const jsonObject = guarded(isJsonObject, 'is not an object of JSON');

/**
 * The parts of a server's tool definition that we read. All of them are untrusted text. `annotations` are digested and
 * shown, but never believed.
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

/** A tool that a server listed, or the reason why it cannot be used. */
export type Listed = { definition: Definition; notes?: string[] } | { name: string; unfit: string };

/** The most tools of a server that we read. */
export const MOST_TOOLS = 1024;
/** The most bytes of one definition as JSON. */
const DEFINITION_BYTES = 64 * 1024;
/** The most levels of a definition. */
const MOST_LEVELS = 24;
const NAME_CHARACTERS = 128;
/** The most characters of a description that models get. They read it at every step. */
const DESCRIPTION_CHARACTERS = 8 * 1024;

/** The usable tools in a server's list. */
export function definitionsIn(listed: readonly Listed[]): Definition[] {
  return listed.flatMap((one) => ('definition' in one ? [one.definition] : []));
}

/** The tools that a server listed, in its order. A tool that cannot be used has the reason. Never throws. */
export function readListed(tools: readonly unknown[]): Listed[] {
  const listed = tools.slice(0, MOST_TOOLS).map(readOne);
  const twice = repeated(listed.map(nameOf));
  return listed.map((one) =>
    twice.has(nameOf(one)) ? { name: nameOf(one), unfit: 'the server lists two tools of this name' } : one,
  );
}

/** The names that occur more than once. */
function repeated(names: readonly string[]): Set<string> {
  const seen = new Set<string>();
  return new Set(names.filter((name) => seen.size === seen.add(name).size));
}

function nameOf(one: Listed) {
  return 'definition' in one ? one.definition.name : one.name;
}

function readOne(tool: unknown): Listed {
  const given = isObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : '';
  const name = given.slice(0, NAME_CHARACTERS);
  try {
    if (given !== name) throw new Error(`its name has more than ${NAME_CHARACTERS} characters`);
    const definition = fitting(tool);
    const { unchecked, misfits, notes } = readForModels(definition);
    const all = [...notes, ...misfits, ...unchecked.map((what) => `checked by the server only: ${what}`)];
    return { definition, notes: all.length === 0 ? undefined : all };
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
  const parsed = definitionSchema.safeParse({
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    annotations,
  });
  if (!parsed.success) throw new Error('it has no name, no schema of its arguments, or a wrong one');
  return parsed.data;
}

/** The description of a tool and the schema of its arguments, as models get them. */
interface ReadDefinition extends ReturnType<typeof usableSchema> {
  description: string;
  /** What is shorter than on the server, in words. */
  notes: string[];
}

/**
 * The parts of a definition that models get. The schema has no name of its dialect, and nothing that cannot be checked.
 *
 * @throws Error if the schema is not one of an object.
 */
export function readForModels({ name, title, description, inputSchema }: Definition): ReadDefinition {
  const { $schema: _dialect, ...schema } = inputSchema;
  const given = description ?? title ?? '';
  const whole = given.trim() === '' ? name : given;
  const notes =
    whole.length > DESCRIPTION_CHARACTERS
      ? [`its description has more than ${DESCRIPTION_CHARACTERS} characters; models get the first of them`]
      : [];
  return { ...usableSchema(schema), description: whole.slice(0, DESCRIPTION_CHARACTERS), notes };
}

/** SHA-256 over the whole definition: all that people and models are shown, and the annotations. */
export function digestDefinition(definition: Definition): string {
  const known = digests.get(definition);
  if (known !== undefined) return known;
  const digest = digestJson(definition, sha256);
  digests.set(definition, digest);
  return digest;
}

/** A cache of digests. Definitions never change once they are read, and they are compared often. */
const digests = new WeakMap<Definition, string>();

const MOST_NAME = 64;
const DIGITS = 8;

/**
 * Our name of a server's tool: `server__tool`, in snake case. A name that would be too long is cut and ends in a part
 * of its digest. Undefined if the tool's name has no letter or digit, or if our name is not allowed.
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

/** Maps a server's tool names to our names. Tools that would get the same name are left out as ambiguous. */
export function toolNames(prefix: string, names: readonly string[]): Map<string, string> {
  const all = names.flatMap((name) => {
    const ours = toolName(prefix, name);
    return ours === undefined ? [] : [[name, ours] as const];
  });
  const twice = repeated(all.map(([, ours]) => ours));
  return new Map(all.filter(([, ours]) => !twice.has(ours)));
}
