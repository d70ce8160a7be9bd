import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const orderSchema = z.object({ id: z.string(), customer: z.string(), item: z.string(), cents: z.int() });
export type Order = z.output<typeof orderSchema>;

const refundSchema = z.object({ order: z.string(), cents: z.int(), reason: z.string(), key: z.string() });
export type Refund = z.output<typeof refundSchema>;

/** Where the shop keeps its data. */
interface Place {
  /** A file with the list of orders. */
  orders: string;
  /** A folder with one file per refund, `<order>-<n>.json`, written once and never changed. */
  refunds: string;
}

/** The orders of a shop, and its refunds. Any number of processes may use it at once. */
export function openShop({ orders, refunds }: Place) {
  const find = async (id: string): Promise<Order> => {
    const all = z.array(orderSchema).parse(JSON.parse(await readFile(orders, 'utf8')));
    const order = all.find((one) => one.id === id);
    if (order === undefined) throw new Error(`there is no order ${id}`);
    return order;
  };

  const refundsOf = async (id: string): Promise<Refund[]> => {
    await mkdir(refunds, { recursive: true });
    const own = (await readdir(refunds)).filter((name) => name.startsWith(`${id}-`));
    return Promise.all(own.map((name) => readRefund(join(refunds, name))));
  };

  const leftOf = async (order: Order): Promise<number> => left(order, await refundsOf(order.id));

  /** Pays back; throws if the order has less left. A key that was already paid is not paid again. */
  const refund = async (wanted: Refund): Promise<void> => {
    const order = await find(wanted.order);
    for (;;) {
      const made = await refundsOf(order.id);
      if (made.some(({ key }) => key === wanted.key)) return;
      const most = left(order, made);
      if (wanted.cents > most) throw new Error(`order ${order.id} has only ${euros(most)} left`);
      // Another process took the name. Look again: the rest of the order may have changed.
      if (await writeNew(refunds, `${order.id}-${made.length + 1}.json`, wanted)) return;
    }
  };

  return { find, refundsOf, leftOf, refund };
}

const readRefund = async (file: string): Promise<Refund> =>
  refundSchema.parse(JSON.parse(await readFile(file, 'utf8')));

const left = ({ cents }: Order, made: readonly Refund[]): number =>
  made.reduce((rest, refund) => rest - refund.cents, cents);

/** Writes a file that is either whole or not there. Returns false if the name is taken. */
async function writeNew(folder: string, name: string, value: Refund): Promise<boolean> {
  const draft = join(folder, `.${randomUUID()}.draft`);
  const file = await open(draft, 'w');
  try {
    await file.writeFile(`${JSON.stringify(value)}\n`);
    await file.sync();
    // Unlike a rename, a link never replaces an existing file.
    await link(draft, join(folder, name));
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  } finally {
    await file.close();
    await unlink(draft);
  }
}

const isTaken = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST';

/** `4900` as `49.00 EUR`. */
export const euros = (cents: number): string => `${(cents / 100).toFixed(2)} EUR`;
