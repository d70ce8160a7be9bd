import { isObject, type JsonObject } from '../json';

/** Keywords whose value is one schema. */
const ONE: readonly string[] = [
  ...['items', 'additionalItems', 'unevaluatedItems', 'contains', 'not', 'if', 'then', 'else'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contentSchema'],
];
/** Keywords whose value is a list of schemas. */
const LISTS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
/** Keywords whose value is an object of schemas, by any name. */
const NAMED: readonly string[] = [
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'],
];

/** A schema inside another: its keyword, its name or index there, and itself. */
interface SchemaPart {
  keyword: string;
  name?: string | number;
  schema: JsonObject;
}

/** The schemas that stand directly inside a schema. What a keyword holds as data is none. */
export function partsOf(schema: JsonObject): SchemaPart[] {
  const parts: SchemaPart[] = [];
  // A thousand tools have some ten thousand schemas, which are walked several times.
  const add = (keyword: string, part: unknown, name?: string | number) => {
    if (isSchema(part)) parts.push({ keyword, name, schema: part });
  };
  for (const [keyword, value] of Object.entries(schema)) {
    if (Array.isArray(value) && LISTS.includes(keyword))
      value.forEach((part, index) => add(keyword, part, index));
    if (!isSchema(value)) continue;
    if (ONE.includes(keyword)) add(keyword, value);
    if (NAMED.includes(keyword)) for (const [name, part] of Object.entries(value)) add(keyword, part, name);
  }
  return parts;
}

/** Everything inside a JSON Schema is JSON, so an object in it is a `JsonObject`. */
export function isSchema(value: unknown): value is JsonObject {
  return isObject(value);
}

/** A schema with a base address of its own, and the names that references find in it. */
interface SchemaResource {
  root: JsonObject;
  uri: string;
  anchors: Map<string, JsonObject>;
  /** The anchors that a `$dynamicRef` follows outwards. */
  dynamic: Map<string, JsonObject>;
}

/** The address of a schema that names none. Relative references need some address. */
const NO_ADDRESS = 'schema://here/';

/** The place that a reference leads to. */
interface FoundSchema {
  schema: unknown;
  resource: SchemaResource;
}

/** Finds what references of one schema lead to. Nothing outside the schema is ever found. */
export class References {
  private readonly resources = new Map<string, SchemaResource>();
  private readonly owners = new Map<JsonObject, SchemaResource>();
  private readonly found = new Map<SchemaResource, Map<string, FoundSchema | undefined>>();
  /** The resource of the root. */
  readonly outer: SchemaResource;

  constructor(root: JsonObject) {
    this.outer = this.add(root, NO_ADDRESS);
    this.register(root, this.outer);
  }

  /** The resource that a schema belongs to. Undefined if nothing at that place is a schema. */
  ownerOf(schema: JsonObject): SchemaResource | undefined {
    return this.owners.get(schema);
  }

  /** What a reference in a resource leads to. Undefined: nowhere, or to another place than this schema. */
  find(reference: string, from: SchemaResource = this.outer): FoundSchema | undefined {
    const known = this.found.get(from) ?? new Map<string, FoundSchema | undefined>();
    this.found.set(from, known);
    if (!known.has(reference)) known.set(reference, this.look(reference, from));
    return known.get(reference);
  }

  private look(reference: string, from: SchemaResource): FoundSchema | undefined {
    const [address = '', fragment = ''] = reference.split('#', 2);
    const uri = address === '' ? from.uri : addressOf(address, from.uri);
    const resource = uri === undefined ? undefined : this.resources.get(uri);
    const name = decoded(fragment);
    if (resource === undefined || name === undefined) return undefined;
    if (name === '') return { schema: resource.root, resource };
    if (!name.startsWith('/')) {
      const schema = resource.anchors.get(name);
      return schema && { schema, resource };
    }
    const schema = atPointer(resource.root, name);
    if (schema === undefined) return undefined;
    const owner = isSchema(schema) ? this.owners.get(schema) : undefined;
    return { schema, resource: owner ?? resource };
  }

  private add(root: JsonObject, base: string): SchemaResource {
    const { $id: id } = root;
    const uri = (typeof id === 'string' ? addressOf(id, base) : undefined) ?? base;
    const resource = { root, uri, anchors: new Map(), dynamic: new Map() };
    if (!this.resources.has(uri)) this.resources.set(uri, resource);
    return resource;
  }

  private register(schema: JsonObject, resource: SchemaResource) {
    this.owners.set(schema, resource);
    const { $anchor: anchor, $dynamicAnchor: dynamic } = schema;
    for (const name of [anchor, dynamic])
      if (typeof name === 'string' && !resource.anchors.has(name)) resource.anchors.set(name, schema);
    if (typeof dynamic === 'string') resource.dynamic.set(dynamic, schema);
    for (const { schema: part } of partsOf(schema))
      this.register(part, isOwnResource(part) ? this.add(part, resource.uri) : resource);
  }
}

/** Whether a schema begins a resource of its own. An `$id` that is only a fragment was an anchor once. */
export function isOwnResource({ $id: id }: JsonObject): boolean {
  return typeof id === 'string' && !id.startsWith('#');
}

function addressOf(address: string, base: string): string | undefined {
  try {
    return new URL(address, base).href.replace(/#.*$/s, '');
  } catch {
    return undefined;
  }
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function atPointer(root: JsonObject, pointer: string) {
  let node: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const isThere = (isObject(node) || Array.isArray(node)) && Object.hasOwn(node, key);
    node = isThere ? Object.entries(node ?? {}).find(([name]) => name === key)?.[1] : undefined;
  }
  return node;
}

/** The part that a reference inside a schema leads to. Undefined: nowhere. */
export function findReference(root: JsonObject, reference: string): unknown {
  if (reference === '#') return root;
  const pointer = reference.startsWith('#/') ? decoded(reference.slice(1)) : undefined;
  if (pointer !== undefined) return atPointer(root, pointer);
  return new References(root).find(reference)?.schema;
}
