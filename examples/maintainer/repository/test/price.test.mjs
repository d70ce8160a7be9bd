import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format, vatIn, withVat } from '../src/price.mjs';

test('VAT is rounded once for the whole sum', () => {
  assert.equal(withVat([99, 99, 99], 0.19), 353);
});

test('the VAT in a price', () => {
  assert.equal(vatIn(119, 0.19), 19);
});

test('an amount for people', () => {
  assert.equal(format(4905), '49.05 EUR');
});
