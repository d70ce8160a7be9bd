import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openShop } from '../../examples/support-desk/orders';
import { root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();
const open = () =>
  openShop({ orders: join(root, 'examples/support-desk/orders.json'), refunds: join(scratch(), 'refunds') });
const wanted = (key: string, cents = 1000) => ({ order: '1001', cents, reason: 'broken', key });

it('pays a key once, and never more than there was, however many ask at once', async () => {
  const shops = [open(), open(), open()];
  const asked = Array.from({ length: 12 }, (_, n) =>
    shops[n % 3]?.refund(wanted(`key-${Math.floor(n / 2)}`)),
  );
  const ended = await Promise.allSettled(asked);
  const refunds = await open().refundsOf('1001');
  expect(refunds).toHaveLength(4);
  expect(new Set(refunds.map(({ key }) => key)).size).toBe(4);
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(4);
  expect(await open().leftOf(await open().find('1001'))).toBe(900);
  expect(readdirSync(join(scratch(), 'refunds')).filter((name) => name.startsWith('.'))).toEqual([]);
});

it('pays nothing where the refunds cannot be read', async () => {
  await open().refund(wanted('first'));
  writeFileSync(join(scratch(), 'refunds', '1001-1.json'), '{"order":');
  await expect(open().refund(wanted('second'))).rejects.toThrow();
  expect(readdirSync(join(scratch(), 'refunds'))).toEqual(['1001-1.json']);
});

it('knows no order that is not there', async () => {
  await expect(open().find('9999')).rejects.toThrow('there is no order 9999');
});
