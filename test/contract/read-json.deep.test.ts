import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJson } from '../../src/contract/read-json';
import { describeWithSuite } from '../support/suites';

const cases = z.array(z.object({ name: z.string(), input: z.string() }));

/** What the suite calls JSON and we refuse on purpose: a key that stands twice. */
const STRICTER = /^y_object_duplicated_key/;

describeWithSuite('json', 'JSONTestSuite', (folder) => {
  const text = readFileSync(join(folder, 'parsing.js'), 'utf8');
  const all = cases.parse(JSON.parse(text.slice(text.indexOf('['), text.lastIndexOf(']') + 1)));

  it('is read where it is JSON', () => {
    const valid = all.filter(({ name }) => name.startsWith('y_'));
    expect(valid.length).toBeGreaterThan(90);
    const refused = valid.filter(({ input }) => !readJson(input).ok).map(({ name }) => name);
    expect(refused.filter((name) => !STRICTER.test(name))).toEqual([]);
  });

  it('is refused where it is not', () => {
    const invalid = all.filter(({ name }) => name.startsWith('n_'));
    expect(invalid.length).toBeGreaterThan(180);
    expect(invalid.filter(({ input }) => readJson(input).ok)).toEqual([]);
  });

  it('never throws where parsers differ', () => {
    for (const { input } of all) expect(typeof readJson(input).ok).toBe('boolean');
  });
});
