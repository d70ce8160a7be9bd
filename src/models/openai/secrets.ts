/** Shorter ones would take ordinary words out of messages. */
const SHORTEST = 4;

/** Makes a function that takes secrets out of a text, also where they are written for an URL, JSON or Base64. */
export function concealer(secrets: readonly string[]): (text: string) => string {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST)
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      base64(secret),
    ])
    .sort((a, b) => b.length - a.length);
  return (text) => forms.reduce((left, form) => left.replaceAll(form, '[redacted]'), text);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64').replace(/=+$/, '');
}
