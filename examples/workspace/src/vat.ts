/** VAT rates in percent, by country. */
const RATES: Readonly<Record<string, number>> = { GB: 20, DE: 19, FR: 20, NL: 21 };

/** Where deliveries start. */
export const HOME = 'GB';

/** VAT on a sum, in whole cents, rounded once. Unknown countries pay none: they have to do it themselves. */
export function vatOf(cents: number, country: string = HOME): number {
  const rate = RATES[country] ?? 0;
  return Math.round((cents * rate) / 100);
}
