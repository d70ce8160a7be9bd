import { secureHeaders } from 'hono/secure-headers';
import type { MiddlewareHandler } from 'hono';

const SELF = ["'self'"];
const NONE = ["'none'"];

/** Headers that keep a browser from doing anything for anybody but this page. */
export function protectiveHeaders(): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: NONE,
      scriptSrc: SELF,
      styleSrc: SELF,
      // The page's empty icon is one.
      imgSrc: [...SELF, 'data:'],
      connectSrc: SELF,
      baseUri: NONE,
      formAction: NONE,
      frameAncestors: NONE,
      requireTrustedTypesFor: ["'script'"],
    },
    xFrameOptions: 'DENY',
    crossOriginOpenerPolicy: 'same-origin',
    crossOriginResourcePolicy: 'same-origin',
    referrerPolicy: 'no-referrer',
    // Whether its name is only ever reached by https is the proxy's to say.
    strictTransportSecurity: false,
  });
}

/** What the API answers is nobody's to keep. */
export const noStore: MiddlewareHandler = async (c, next) => {
  await next();
  c.header('Cache-Control', 'no-store');
};
