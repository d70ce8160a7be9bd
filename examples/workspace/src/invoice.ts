import { letterhead } from './letterhead';
import { formatCents } from './money';
import { vatOf } from './vat';

export interface Line {
  text: string;
  quantity: number;
  /** Of one piece. */
  cents: number;
}

export interface Order {
  number: string;
  customer: string;
  country?: string;
  lines: Line[];
}

export interface Invoice extends Order {
  netCents: number;
  vatCents: number;
}

/** An order with its sums. Refuses an order without lines. */
export function makeInvoice(order: Order): Invoice {
  if (order.lines.length === 0) throw new Error(`order ${order.number} has no lines`);
  const netCents = order.lines.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0);
  return { ...order, netCents, vatCents: vatOf(netCents, order.country) };
}

/** An invoice as text. */
export function renderInvoice({ number, customer, lines, netCents, vatCents }: Invoice): string {
  return [
    ...letterhead(),
    '',
    `Invoice ${number} for ${customer}`,
    ...lines.map(({ text, quantity, cents }) => `${quantity} × ${text}: ${formatCents(quantity * cents)}`),
    `net ${formatCents(netCents)}, VAT ${formatCents(vatCents)}, total ${formatCents(netCents + vatCents)}`,
  ].join('\n');
}
