/** Calls `tick` every `ms` milliseconds until stopped; does not keep the process alive. */
export const every = (ms: number, tick: () => void): { stop: () => void } => {
  const timer = setInterval(tick, ms);
  timer.unref();
  return { stop: () => clearInterval(timer) };
};
