// A real OpenID provider, in a process of its own because it is an ES module. Arguments: port, redirect address.
import Provider from 'oidc-provider';

const [port, redirect] = process.argv.slice(2);
const home = new URL('..', redirect).href;
const issuer = `http://127.0.0.1:${port}`;

/** What an account claims, by the name that logs in; `name+unverified` is the same with a mail that is not verified. */
const claimsOf = (id) => {
  const [name, state] = id.split('+');
  return {
    sub: id,
    email: `${name}@example.com`,
    email_verified: state !== 'unverified',
    groups: ['support', 'finance'],
  };
};

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'inbox',
      client_secret: 'the-secret-of-the-inbox',
      redirect_uris: [redirect],
      post_logout_redirect_uris: [home],
      response_types: ['code'],
      grant_types: ['authorization_code'],
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
  pkce: { required: () => true },
  cookies: { keys: ['a key of these tests alone'] },
  findAccount: (_context, id) => ({ accountId: id, claims: () => claimsOf(id) }),
});
provider.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'));
