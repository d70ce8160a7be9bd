import { takeStopSignals } from '../../src/cli/stop-signals';

const exit = jest.spyOn(process, 'exit').mockImplementation(() => {
  throw new Error('exit');
});
afterAll(() => exit.mockRestore());

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s asks to end once, and ends at the second',
  async (name) => {
    const before = process.listenerCount(name);
    const second = jest.fn();
    const stop = takeStopSignals(second);
    try {
      expect(stop.signal.aborted).toBe(false);
      process.emit(name, name);
      expect(await stop.asked).toBe(name);
      expect(stop.signal.aborted).toBe(true);
      expect(second).not.toHaveBeenCalled();
      expect(() => process.emit(name, name)).toThrow('exit');
      expect(second).toHaveBeenCalledTimes(1);
      expect(exit).toHaveBeenLastCalledWith(130);
    } finally {
      stop.release();
    }
    expect(process.listenerCount(name)).toBe(before);
  },
);
