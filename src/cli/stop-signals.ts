import { EXIT } from './exit-codes';

/** The signals that end a long-running command. */
interface StopSignals {
  /** Resolves with the first signal. */
  asked: Promise<NodeJS.Signals>;
  /** Aborts with the first signal. */
  signal: AbortSignal;
  /** Leaves the signals to Node again. */
  release(): void;
}

/** The signals that are handled. A terminal that closes sends SIGHUP. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Handles these signals: the first asks to end in good order, the second ends immediately. */
export function takeStopSignals(onSecond: () => void): StopSignals {
  const controller = new AbortController();
  let first: (signal: NodeJS.Signals) => void = () => undefined;
  const asked = new Promise<NodeJS.Signals>((resolve) => (first = resolve));
  const take = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      onSecond();
      process.exit(EXIT.interrupted);
    }
    controller.abort();
    first(signal);
  };
  for (const signal of SIGNALS) process.on(signal, take);
  const release = () => SIGNALS.forEach((signal) => void process.removeListener(signal, take));
  return { asked, signal: controller.signal, release };
}
