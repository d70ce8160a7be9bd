import { isJsonObject, isObject, type Json, type JsonObject } from '../json';
import { LIMITS } from '../limits';
import { readJson } from '../read-json';
import type { Issue, JsonSchema } from '../tool';

/** The public key of the workers that a question carries: a P-256 JWK whose id is its RFC 7638 thumbprint. */
export interface AnswerKey {
  kty: 'EC';
  crv: 'P-256';
  x: string;
  y: string;
  kid: string;
}

/** The key pairs that a worker uses to decrypt secret answers. */
export interface AnswerKeys {
  /** The public key of the newest pair. New questions carry it. */
  readonly publicKey: AnswerKey;
  /** Decrypts with the pair that the head names. @throws Error that reveals nothing about the value. */
  open(sealed: string): Promise<string>;
}

/** The parts of a question that decide which of its fields are secret. */
interface SecretForm {
  form: JsonSchema;
  key?: AnswerKey;
}

/** The call, field and tools to which an encrypted value is bound. They are authenticated by the encryption. */
export interface SealedFor {
  /** Key of the call that asked. The key belongs to one call of one reply. */
  call: string;
  field: string;
  /** The tools that may read the value. */
  for: string[];
}

/** The fields of an encrypted value's head that our code reads. */
export interface SealedHead {
  kid: string;
  cs: SealedFor;
}

/** Encrypted values by their handles, such as `answer:3.1/token`. */
export type SealedValues = Record<string, string>;

export const SEALED_ALG = 'ECDH-ES';
export const SEALED_ENC = 'A256GCM';
/** The `format` of a secret field, and the keyword that lists the tools that may read it. */
export const SECRET_FORMAT = 'password';
export const SECRET_FOR = 'x-for';

const HEAD_FIELDS: readonly string[] = ['alg', 'enc', 'kid', 'cs', 'epk'];
/**
 * Compact JWE with direct key agreement, so the second part is empty. IV and tag have fixed lengths. The ciphertext has
 * room for `LIMITS.secretBytes`, which `sealAnswer` enforces.
 */
const COMPACT = /^([\w-]{40,4000})\.\.[\w-]{16}\.([\w-]{0,6000})\.[\w-]{22}$/;

/** Reads the head of an encrypted value. Undefined for anything else. Decrypts nothing and never throws. */
export function sealedHead(value: unknown): SealedHead | undefined {
  if (typeof value !== 'string' || value.length > LIMITS.sealedCharacters) return undefined;
  const text = asciiOf(COMPACT.exec(value)?.[1] ?? '');
  const read = text === undefined ? undefined : readJson(text);
  const head = read?.ok === true && isObject(read.value) ? read.value : {};
  if (Object.keys(head).some((key) => !HEAD_FIELDS.includes(key))) return undefined;
  const { alg, enc, kid, epk } = head;
  const cs = boundTo(head['cs']);
  if (alg !== SEALED_ALG || enc !== SEALED_ENC || typeof kid !== 'string' || !isObject(epk)) return undefined;
  return cs === undefined ? undefined : { kid, cs };
}

function boundTo(value: unknown): SealedFor | undefined {
  if (!isObject(value) || Object.keys(value).length !== 3) return undefined;
  const { call, field, for: tools } = value;
  if (typeof call !== 'string' || typeof field !== 'string' || !isNames(tools)) return undefined;
  return { call, field, for: tools };
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Decodes base64url of ASCII to text. Undefined if the text is not base64url of ASCII. Workflows have no decoder of
 * their own.
 */
function asciiOf(encoded: string): string | undefined {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const letter of encoded) {
    held = ((held << 6) | LETTERS.indexOf(letter)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    const code = (held >> bits) & 0xff;
    if (code < 0x20 || code > 0x7e) return undefined;
    text += String.fromCharCode(code);
  }
  return text;
}

/** The secret fields of a question, each with the tools that may read it. */
export function secretFields({ form }: SecretForm): Map<string, string[]> {
  const { properties } = form;
  return new Map(
    Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, field]) => {
      const tools = secretFor(field);
      return tools === undefined ? [] : [[name, tools] as const];
    }),
  );
}

/** The tools that may read a field. Undefined if the field is not secret. */
export function secretFor(field: Json): string[] | undefined {
  if (!isJsonObject(field) || field['format'] !== SECRET_FORMAT) return undefined;
  const tools = field[SECRET_FOR];
  return isNames(tools) ? tools : [];
}

/** The issues of the secret fields of an answer. Each value has to be encrypted for this call and this field. */
export function sealIssues(question: SecretForm, content: JsonObject, callKey: string): Issue[] {
  return [...secretFields(question)].flatMap(([name, tools]) => {
    const value = Object.hasOwn(content, name) ? content[name] : undefined;
    if (value === undefined) return [];
    const path = `/${name}`;
    const head = sealedHead(value);
    if (head === undefined) return { path, message: NOT_SEALED };
    const { cs, kid } = head;
    if (cs.call !== callKey || cs.field !== name || cs.for.join() !== tools.join())
      return { path, message: 'is encrypted for another question, field or tool' };
    return kid === question.key?.kid ? [] : { path, message: 'is encrypted with another key' };
  });
}

const NOT_SEALED =
  'is secret and has to be encrypted before it is sent: answer in the web inbox or with countersign answer';

/** The pattern of the name of a field in a form. */
export const FIELD_NAME = '[A-Za-z][A-Za-z0-9_-]{0,63}';

/** The handle of an encrypted value. The model reads the handle and passes it to the tool. */
export function handleOf(callId: string, field: string): string {
  return `answer:${callId}/${field}`;
}

/** Only a call of a reply asks for secrets, so the id of the call is one of `callIdIn`. */
const HANDLE = /* @__PURE__ */ new RegExp(`answer:(\\d+\\.\\d+)/(${FIELD_NAME})`, 'g');

/** All handles in the texts of arguments. */
export function handlesIn(value: Json): string[] {
  if (typeof value === 'string') return [...value.matchAll(HANDLE)].map(([handle]) => handle);
  if (typeof value !== 'object' || value === null) return [];
  return [...new Set(Object.values(value).flatMap(handlesIn))];
}

/** The call and the field that a handle names. Undefined for any other text. */
export function partsOf(handle: string): { callId: string; field: string } | undefined {
  const [[whole, callId, field] = []] = handle.matchAll(HANDLE);
  return whole === handle && callId !== undefined && field !== undefined ? { callId, field } : undefined;
}

/**
 * Splits an answer into two parts: the content that people and the model may see, where handles stand for the secrets,
 * and the encrypted values.
 */
export function splitAnswer(
  question: SecretForm,
  content: JsonObject,
  callId: string,
): { shown: JsonObject; sealed: SealedValues | undefined } {
  const secret = secretFields(question);
  const sealed = Object.entries(content).flatMap(([name, value]) =>
    secret.has(name) && typeof value === 'string' ? [[handleOf(callId, name), value] as const] : [],
  );
  const shown = Object.entries(content).map(
    ([name, value]) => [name, secret.has(name) ? handleOf(callId, name) : value] as const,
  );
  return {
    shown: Object.fromEntries(shown),
    sealed: sealed.length === 0 ? undefined : Object.fromEntries(sealed),
  };
}
