import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** One mail that a server took. */
export interface TakenMail {
  to: string[];
  from: string;
  text: string;
  id: string;
}

/** A real mail server on this machine that keeps what it takes. */
export interface MailServer {
  port: number;
  mails: TakenMail[];
  /** How often somebody gave a password. */
  logins: string[];
  /** Answers the next recipients with these; 0 takes one. */
  script(...codes: number[]): void;
  close(): Promise<void>;
}

const refusal = (code: number): Error => Object.assign(new Error(`not now ${code}`), { responseCode: code });

/** Starts it; the password is `s3cret&@`. */
export async function startMailServer(options: SMTPServerOptions = {}, port = 0): Promise<MailServer> {
  const [mails, logins, codes] = [new Array<TakenMail>(), new Array<string>(), new Array<number>()];
  const server = new SMTPServer({
    logger: false,
    onAuth: ({ username = '', password = '' }, _session, done) => {
      logins.push(username);
      if (password === 's3cret&@') return done(null, { user: username });
      done(Object.assign(new Error(`wrong password ${password}`), { responseCode: 535 }));
    },
    onRcptTo: (_address, _session, done) => {
      const code = codes.shift() ?? 0;
      done(code === 0 ? null : refusal(code));
    },
    onData: (stream, { envelope }, done) => {
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const id = /^Message-ID: (.*)$/im.exec(text)?.[1]?.trim() ?? '';
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), from, text, id });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    ...{ mails, logins },
    script: (...next) => void codes.push(...next),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
