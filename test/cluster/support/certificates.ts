import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a certificate authority and of a server that it vouches for. */
export interface Certificates {
  ca: string;
  cert: string;
  key: string;
  /** An authority that vouches for nobody. */
  otherCa: string;
}

/** The only name that the server's certificate is for. */
export const SERVER_NAME = 'cluster.test';

/** Makes them with openssl; they are good for a day. */
export const makeCertificates = (directory: string): Certificates => {
  const file = (name: string): string => join(directory, name);
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
  const key = (name: string): string[] => ['-newkey', 'rsa:2048', '-nodes', '-keyout', file(`${name}.key`)];
  for (const name of ['ca', 'other-ca'])
    openssl('req', '-x509', ...key(name), '-subj', `/CN=${name}`, '-days', '1', '-out', file(`${name}.pem`));
  openssl('req', ...key('server'), '-subj', `/CN=${SERVER_NAME}`, '-out', file('server.csr'));
  writeFileSync(file('extensions'), `subjectAltName=DNS:${SERVER_NAME}\nbasicConstraints=CA:FALSE\n`);
  const authority = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial'];
  const signed = ['-extfile', file('extensions'), '-days', '1', '-out', file('server.pem')];
  openssl('x509', '-req', '-in', file('server.csr'), ...authority, ...signed);
  return {
    ca: file('ca.pem'),
    cert: file('server.pem'),
    key: file('server.key'),
    otherCa: file('other-ca.pem'),
  };
};
