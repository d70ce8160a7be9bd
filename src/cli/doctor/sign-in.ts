import { createOidc, type Oidc } from '../../server/auth/oidc';
import { readSignInFile } from '../sign-in-file';
import { failed, type Finding } from './machine';

/** Whether a sign-in file can be used, and whether the issuer that it names can be reached from here. */
export async function checkSignIn(file: string, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  try {
    const { oidc, publicUrl } = await readSignInFile(file, env);
    return oidc === undefined ? [] : [await checkIssuer(createOidc(oidc, publicUrl), oidc.issuer)];
  } catch (error) {
    return [failed('sign-in file', error)];
  }
}

async function checkIssuer({ check }: Pick<Oidc, 'check'>, issuer: string): Promise<Finding> {
  const name = 'issuer';
  try {
    await check();
    return { name, state: 'ok', detail: `${issuer} answers` };
  } catch (error) {
    return failed(name, error);
  }
}
