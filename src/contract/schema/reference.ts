import { isObject, type JsonObject } from '../json';

/**
 * The part that a reference inside a schema leads to: `#`, a JSON pointer after it, or the name of an anchor.
 * Undefined: nowhere.
 */
export function findReference(root: JsonObject, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#')) return undefined;
  const steps = stepsOf(reference);
  if (steps === undefined) return undefined;
  if (!reference.startsWith('#/')) return findAnchor(root, reference.slice(1));
  let node: unknown = root;
  for (const step of steps) {
    const isThere = (isObject(node) || Array.isArray(node)) && Object.hasOwn(node, step);
    node = isThere ? Object.entries(node ?? {}).find(([key]) => key === step)?.[1] : undefined;
  }
  return node;
}

function stepsOf(reference: string): string[] | undefined {
  try {
    return reference
      .split('/')
      .slice(1)
      .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    return undefined;
  }
}

/** Keywords whose values are data and not schemas. */
export const DATA_KEYWORDS: readonly string[] = ['const', 'enum', 'default', 'examples'];

function findAnchor(node: unknown, name: string): unknown {
  if (Array.isArray(node)) return firstOf(node, name);
  if (!isObject(node)) return undefined;
  if (node['$anchor'] === name || node['$dynamicAnchor'] === name) return node;
  const children = Object.entries(node).filter(([key]) => !DATA_KEYWORDS.includes(key));
  return firstOf(
    children.map(([, child]) => child),
    name,
  );
}

function firstOf(nodes: readonly unknown[], name: string): unknown {
  for (const node of nodes) {
    const found = findAnchor(node, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
