import { createTransport, type SendMailOptions, type Transporter } from 'nodemailer';
import type SMTPTransport from 'nodemailer/lib/smtp-transport';
import { digestText } from '../contract/digest';
import { type CountersignError, errnoOf, errorMessage, usageError } from '../contract/errors';
import { isObject } from '../contract/json';
import { mailOf } from './mail-text';
import { type Notice, type Receiver, notifyFailure } from './notices';
import { untilStopped } from '../system/until-stopped';

/** The settings for sending mail, and the receivers. */
interface MailSettings {
  /** `smtps://user:password@host:465` or `smtp://user:password@host:587`. */
  url: string;
  /** Without TLS, anybody between here and the mail server can read the password. */
  tls: 'required' | 'none';
  /** Certificates of authorities for the mail server, as PEM. @default those of Node */
  ca?: string;
  from: string;
  /** The address of the web inbox. */
  page: string;
  targetsOf(notice: Notice): Promise<readonly string[]>;
}

const CONNECT_MS = 15_000;
const SILENT_MS = 30_000;
/** The time to wait after a refused login. Repeated logins with a wrong password can lock an account. */
const REFUSED_LOGIN_MS = 15 * 60_000;
const REFUSED_MAIL_MS = 60 * 60_000;

/**
 * A receiver of mail. Each person gets a separate mail. The mail keeps its Message-ID, however often it is sent.
 *
 * @throws CountersignError `usage` for an address of a mail server that cannot be read.
 */
export function createMail(settings: MailSettings): Receiver {
  const options = transportOf(settings);
  const { host = '' } = options;
  const withTransport = async <T>(
    signal: AbortSignal,
    use: (transport: Transporter<SMTPTransport.SentMessageInfo>) => Promise<T>,
  ) => {
    const transport = createTransport(options);
    try {
      return await untilStopped(signal, use(transport));
    } catch (error) {
      throw inWords(error);
    } finally {
      transport.close();
    }
  };
  return {
    name: `mail by ${host}`,
    targetsOf: settings.targetsOf,
    deliver: async (notice, signal, to = '') => {
      await withTransport(signal, (transport) => transport.sendMail(messageOf(notice, to, settings)));
    },
    check: async (signal) => {
      await withTransport(signal, (transport) => transport.verify());
      return `${host} takes mail${options.auth ? ' from this user' : ''}`;
    },
  };
}

function messageOf(notice: Notice, to: string, { from, page }: MailSettings): SendMailOptions {
  const id = `${notice.id}.${digestText(to).slice(0, 16)}@${from.slice(from.lastIndexOf('@') + 1)}`;
  return {
    ...mailOf(notice, page),
    // Name and address are given separately, so that the name is not parsed for an address.
    from: { name: 'Countersign', address: from },
    to: { name: '', address: to },
    messageId: `<${id}>`,
    // These headers ask mail programs not to answer automatically.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function transportOf({ url, tls, ca }: MailSettings): SMTPTransport.Options {
  const read = URL.canParse(url) ? new URL(url) : undefined;
  const isSecure = read?.protocol === 'smtps:';
  const isPlain = read?.protocol === 'smtp:' && read.hostname !== '';
  // The error does not repeat the text, because the text may be a password.
  if (read === undefined || !(isSecure || isPlain) || read.search !== '')
    throw usageError(
      'the address of the mail server cannot be read',
      'Write smtps://user:password@host:465, or smtp://user:password@host:587; in the password, escape what is neither a letter nor a digit, such as %40 for @.',
    );
  const auth = { user: decoded(read.username), pass: decoded(read.password) };
  const trust = ca === undefined ? {} : { tls: { ca } };
  return {
    host: read.hostname.replace(/^\[|\]$/g, ''),
    port: read.port === '' ? (isSecure ? 465 : 587) : Number(read.port),
    secure: isSecure,
    ...(isSecure ? {} : tls === 'required' ? { requireTLS: true } : { ignoreTLS: true }),
    auth: read.username === '' ? undefined : auth,
    ...trust,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    logger: false,
    debug: false,
  };
}

function decoded(part: string) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * The error in words. The server's own text is left out for a refused login, because the text may repeat the password.
 */
function inWords(error: unknown): CountersignError {
  const code = errnoOf(error);
  const answer = isObject(error) && typeof error['responseCode'] === 'number' ? error['responseCode'] : 0;
  const says = isObject(error) && typeof error['response'] === 'string' ? error['response'] : '';
  if (code === 'EAUTH')
    return notifyFailure(`the mail server refused the user or the password (${answer})`, {
      retryInMs: REFUSED_LOGIN_MS,
      holdsAll: true,
    });
  if (code === 'ETLS') return notifyFailure(`it offers no safe connection: ${errorMessage(error)}`);
  if (answer >= 500) return notifyFailure(`it refused the mail: ${says}`, { retryInMs: REFUSED_MAIL_MS });
  if (answer >= 400) return notifyFailure(`it wants the mail later: ${says}`);
  return notifyFailure(`it could not be reached: ${errorMessage(error)}`);
}
