import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

const PRIVATE = [
  'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDlEiJ7hudXTWyWgXR8botNI4pzP3mvNftsY4N69jCWQ+uG',
  'Hi40F8JcSXMG2W1w8hdJtqWGfGqgFq7oHNnNqVuwew5O9sMg+7HhYOQnOWeMTdPeEFQZTjat3M1oTWHEikMaXzMy4CMp67iP',
  'Ru5Zy0jhRUiG5eHTbtIEaAo5myKvg83EfmJhdFsBAxJOp/oP5To7THS9k0G/hWIhHV8rPTui1RiXrY+VgnIOtULZKyp0i5D9',
  'YGm+d1JMLUFM3OycqVRxMtQe5Ozmonecmgn5vvBxy7uPY24stsnwthwXiG1Ttn1XpZxYueIhakARHAAG7xKwOa/qiRhtvkKk',
  'TUkwyIE/AgMBAAECggEACjhg6Xn/YFnH+n8UH2kfNfXb+4BdgX+7E/7sotPRHyMwou89yH024r80Lp4Mz/k9KMDJadKrPzFD',
  '5H9FCHQB70HORZ+k3Rfdu9yC0W0yPYRLa6D235opvmAXmgu5zPcOP2L3+dEeQISP23SitcboHYTl0372MGTFYgTyT9eoGISH',
  'ThoDO96zvBh8KgnLiUvS12FeVeNC0Zv47QaTVL6i24e21TQaUMXtPUeKR2v4cGTUZbneZ5HBHsHmCFE+DQV9v9p6OWimk1+H',
  '9SjxpLwqzap00qSReDoiF9A/SD71p28K+uKC4SA3qt/cJLCsgvfqLTqhcI8bsgUGVPQMEmnl4QKBgQD7PXMRdSa07ReUXWo1',
  'emfYGSFGMC8t8gODGxxN82As+tcM0vGEahegg+4ibVPlNWyskRHGGFIYZM10QxIXMS3mEiD5JuB1c3D/Am8DTO0U7SilTPIi',
  'mY9OLuXcbtHX8dXO+GBLQfPRZwMfGOc8x/u9Ndyoz3WW//V7zvJHBoz+owKBgQDpaSlRG8MAiTgqBbtajSQRp+2+5udXqpe2',
  'T/DtNOO++FB8ze7dkPSfiEIWWy8vJthuh8Zl4xE0QXZ+v5y/2/AoNm0TtkcBx2iDDEGLQX+ZhOCBU3sXUxn49coGLqVB0u7U',
  'BonNcY5QMd074x9Lgc1pVuwHLT0oYMN+KvKOu2UotQKBgCAytN+E4wwG4qG6AxWNdWeFePU00acSwA56V/tJeIbrMspK8nbk',
  '3dhNcCRrXHggi6fmA6Ael87WhFolCll8jQRSSHWF3PhQbifQWQfUQQIQjsf4f4OdqHb9nanNbgk9zgfzXuvmLOgmSokeuOva',
  'OVH7aCceR1Stwvk2AWjG1yT/AoGAbK/ISnln6zb6TS8QF9FDK2mL3mn87aiFLqK46GvJZSKRsBvgj5GxJxw20dwx833eKFHX',
  'A5ihaTjWaZzl670JbmAxmI03MU/eja9GUgb02NK0C+SIm8rZfEFPimNsFmOXTGmi/2RSRWuCviE7cFiIAvYzv//Dy6qLPZPY',
  'ELiYGUUCgYEAixAHxOSzdE3p5mxP7VMkzK6yFb+UBy93PiHV8/jeD4QZU94d82LcnrENaFTqeE0avU0A8wiMR4/bkgsuKdhZ',
  'l7FL2kZMSouX4fnFY1jSxZPh38UnsFftY2XC76q/RHL/a/kc5/mnYPDjj2MEGrk8PYTwfF+3wc934VdZ9/Wb5Ag=',
].join('');

/** A pair of 2,048 bits that guards nothing. To look for its primes took half a second in each test file. */
export const rsaPair = (): { publicKey: KeyObject; privateKey: KeyObject } => {
  const privateKey = createPrivateKey({ key: Buffer.from(PRIVATE, 'base64'), format: 'der', type: 'pkcs8' });
  return { publicKey: createPublicKey(privateKey), privateKey };
};
