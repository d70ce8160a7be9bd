/** What one check found. `skipped`: it could not be made because an earlier one failed. */
export interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'bad' | 'skipped';
  detail: string;
  /** What to do about it. */
  todo?: string;
}

/** An error in one line. */
export function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
}

/** The hint of an error of ours. */
export function hintOf(error: unknown): { todo?: string } {
  if (typeof error !== 'object' || error === null || !('hint' in error)) return {};
  return typeof error.hint === 'string' ? { todo: error.hint } : {};
}
