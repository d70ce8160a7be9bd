import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The first lines of every invoice. Falls back to the name alone, so that a lost file stops nobody. */
export function letterhead(file = join(__dirname, '..', 'config', 'letterhead.json')): string[] {
  try {
    const { company, street, city, vatNumber } = JSON.parse(readFileSync(file, 'utf8'));
    return [company, `${street}, ${city}`, `VAT ${vatNumber}`].map(String);
  } catch {
    return ['Acme Ltd'];
  }
}
