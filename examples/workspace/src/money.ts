/** Cents as text with two decimals, `1,234.50 EUR`. */
export function formatCents(cents: number, currency = 'EUR'): string {
  const amount = (cents / 100).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `${amount} ${currency}`;
}
