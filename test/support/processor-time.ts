/** Milliseconds of processor time of this process since a moment: the same on a busy machine, unlike a clock. */
export const startProcessorTime = (): (() => number) => {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
};
