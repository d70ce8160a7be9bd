import { unlessAborted, within } from '../../src/tools/wait-within';
import { gate } from './support';

describe('within', () => {
  it('gives the value of what ends in time', async () => {
    expect(await within(Promise.resolve(7), 60_000)).toEqual({ ended: true, value: 7 });
  });

  it('passes a rejection through', async () => {
    await expect(within(Promise.reject(new Error('broken')), 60_000)).rejects.toThrow('broken');
  });

  it('stops waiting when the time is over, and a later rejection harms nobody', async () => {
    const { opened, open } = gate();
    const late = opened.then(() => Promise.reject(new Error('late')));
    expect(await within(late, 1)).toEqual({ ended: false });
    open();
    await expect(late).rejects.toThrow('late');
  });
});

describe('unlessAborted', () => {
  const never = new Promise<never>(() => undefined);

  it('gives the value, and listens no longer', async () => {
    const { signal } = new AbortController();
    const removed = jest.spyOn(signal, 'removeEventListener');
    expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it('passes a rejection through', async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  });

  it('rejects with the reason when the signal aborts', async () => {
    const abort = new AbortController();
    const waiting = unlessAborted(never, abort.signal);
    abort.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
  });

  it('rejects at once where the signal had aborted before, even for what is ready', async () => {
    const aborted = AbortSignal.abort(new Error('stop'));
    await expect(unlessAborted(Promise.resolve(7), aborted)).rejects.toThrow('stop');
  });

  it('rejects with an error of its own, made from the reason', async () => {
    const toError = (cause: unknown): Error => new Error('too late', { cause });
    const error: unknown = await unlessAborted(never, AbortSignal.abort('why'), toError).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ message: 'too late', cause: 'why' });
  });
});
