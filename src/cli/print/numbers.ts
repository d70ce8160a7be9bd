/** A count with its thousands apart: `1,234`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A size: `12 B`, `3.4 KiB`, `5 MiB`. */
export function bytes(size: number): string {
  if (size < 1024) return `${Math.round(size)} B`;
  const [value, unit] = size < 1024 ** 2 ? [size / 1024, 'KiB'] : [size / 1024 ** 2, 'MiB'];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
