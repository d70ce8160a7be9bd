import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json, JsonObject } from '../../../src/contract/json';
import { SchemaChecker } from '../../../src/contract/schema/check-value';
import { describeWithSuite } from '../../support/suites';

const groups = z.array(
  z.object({
    description: z.string(),
    // zod would leave out a key __proto__.
    schema: z.custom<JsonObject | boolean>(),
    tests: z.array(z.object({ description: z.string(), data: z.custom<Json>(), valid: z.boolean() })),
  }),
);

/** What we judge otherwise on purpose: a format is a rule here, and the vocabularies of a dialect are not read. */
const OTHERWISE: Readonly<Record<string, number>> = { 'format.json': 15, 'vocabulary.json': 1 };

/** Tests whose references lead to another document, which is never fetched. */
const REMOTE: Readonly<Record<string, number>> = {
  'defs.json': 2,
  'dynamicRef.json': 13,
  'ref.json': 2,
  'refRemote.json': 31,
};

describeWithSuite('jsonSchema', 'JSON-Schema-Test-Suite, 2020-12', (folder) => {
  const tests = join(folder, 'draft2020-12');
  const files = readdirSync(tests).filter((name) => name.endsWith('.json'));

  it.each(files)('%s', (file) => {
    const wrong: string[] = [];
    const refused: string[] = [];
    const read = groups.parse(JSON.parse(readFileSync(join(tests, file), 'utf8')));
    for (const { description, schema, tests: cases } of read)
      for (const { description: what, data, valid } of cases) {
        const title = `${description}: ${what}`;
        try {
          const checker = new SchemaChecker(typeof schema === 'boolean' ? { allOf: [schema] } : schema);
          if ((checker.issuesOf(data).length === 0) !== valid) wrong.push(title);
        } catch (error) {
          expect(String(error)).toMatch(/Unresolved \$(ref|dynamicRef)/);
          refused.push(title);
        }
      }
    if (OTHERWISE[file] === undefined) expect(wrong).toEqual([]);
    else expect(wrong).toHaveLength(OTHERWISE[file]);
    expect(refused).toHaveLength(REMOTE[file] ?? 0);
  });

  it('is here as a whole', () => {
    expect(files).toHaveLength(46);
  });
});
