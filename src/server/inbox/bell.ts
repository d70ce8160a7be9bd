/** Wakes whoever waits. */
export interface Bell {
  ring(): void;
  /** Resolves when it rings, or after so many milliseconds; without a time only when it rings. */
  wait(ms?: number): Promise<void>;
}

/** A bell that nobody waits for yet. */
export function createBell(): Bell {
  const waiting = new Set<() => void>();
  return {
    ring: () => [...waiting].forEach((wake) => wake()),
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => wake(), ms);
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      }),
  };
}
