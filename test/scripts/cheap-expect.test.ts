const thrown = async (body: () => unknown): Promise<Error> => {
  try {
    await body();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('nothing was thrown');
};

/** The first line of a stack that is not of a package. */
const place = ({ stack = '' }: Error): string =>
  stack.split('\n').find((line) => line.includes(' at ') && !line.includes('node_modules')) ?? '';

const fails = (): Promise<never> => Promise.reject(new Error('boo'));

it.each<[string, () => unknown, string]>([
  ['a value', () => expect(1).toBe(2), 'expect(received).toBe(expected)'],
  ['what should not be', () => expect([1]).not.toEqual([1]), 'expect(received).not.toEqual(expected)'],
  ['what is thrown', () => expect(fails).not.toBeInstanceOf(Function), 'expect(received).not.toBeInstanceOf'],
  ['a promise that is kept', () => expect(Promise.resolve(1)).resolves.toBe(2), '.resolves.toBe(expected)'],
  ['one that should not be', () => expect(Promise.resolve(1)).resolves.not.toBe(1), '.resolves.not.toBe('],
  ['one that is broken', () => expect(fails()).rejects.toThrow('bar'), '.rejects.toThrow(expected)'],
  [
    'one that should be',
    () => expect(Promise.resolve(1)).rejects.toThrow('bar'),
    'resolved instead of rejected',
  ],
])('says what is wrong with %s, and where', async (_, body, words) => {
  const error = await thrown(body);
  expect(error.message.replace(/\x1b\[\d+m/g, '')).toContain(words);
  expect(place(error)).toContain('cheap-expect.test.ts');
});

it('knows no matcher that Jest does not know', () => {
  expect(Reflect.get(expect(1), 'toBeNice')).toBeUndefined();
});
