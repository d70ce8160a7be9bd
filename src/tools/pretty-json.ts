import { describeBytes, toBytes } from './binary';

/** Any value as indented JSON; what JSON has no form for becomes text, see formatResult. May throw where reading throws. */
export function toPrettyJson(value: unknown): string {
  const above: unknown[] = [];
  return JSON.stringify(
    value,
    function (this: unknown, key, current: unknown) {
      // `this` holds the key: whatever was entered after it has been left again.
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      const original: unknown = typeof this === 'object' && this !== null ? Reflect.get(this, key) : current;
      const plain = toJsonForm(original, current);
      if (typeof plain !== 'object' || plain === null) return plain;
      if (above.includes(plain) || above.includes(original)) return '[circular]';
      above.push(plain);
      return plain;
    },
    2,
  );
}

/** `original` is what the holder has, `current` what its `toJSON` made of it. */
function toJsonForm(original: unknown, current: unknown): unknown {
  const bytes = toBytes(original);
  if (bytes !== undefined) return describeBytes(bytes);
  if (current instanceof Map) return fromMap(current);
  if (current instanceof Set) return [...current];
  if (current instanceof Error) return { name: current.name, message: current.message };
  return typeof current === 'object' ? current : fromPrimitive(current);
}

function fromMap(map: Map<unknown, unknown>): unknown {
  const pairs = [...map];
  return pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(map) : pairs;
}

function fromPrimitive(value: unknown): unknown {
  if (typeof value === 'function') return `[function ${value.name || 'without a name'}]`;
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}
