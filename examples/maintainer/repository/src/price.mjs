/** The sum of some lines with VAT, in cents. It is rounded once, as the tax office wants it. */
export function withVat(lines, rate) {
  return lines.reduce((sum, cents) => sum + Math.round(cents * (1 + rate)), 0);
}

/** The part of a price that is VAT, in cents. */
export function vatIn(cents, rate) {
  return cents - Math.round(cents / (1 + rate));
}

/** `4900` as `49.00 EUR`. */
export function format(cents) {
  const whole = Math.floor(cents / 100);
  const rest = String(cents % 100).padStart(2, '0');
  return `${whole}.${rest} EUR`;
}
