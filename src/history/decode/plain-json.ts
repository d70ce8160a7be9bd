import {
  defaultPayloadConverter,
  METADATA_ENCODING_KEY,
  type Payload,
  type PayloadConverter,
} from '@temporalio/common';

const JSON_PLAIN = 'json/plain';

/**
 * What a converter makes of a payload. JSON is decoded here where the converter is the SDK's own, which does it in
 * JavaScript, byte by byte, because it has to in the workflow sandbox: most of the time that reading a history took.
 * Errors: those of the converter.
 */
export function fromPayload(payload: Payload, converter: PayloadConverter): unknown {
  const { metadata, data } = payload;
  const encoding = metadata?.[METADATA_ENCODING_KEY];
  const isOurs = converter === defaultPayloadConverter && encoding !== undefined && !!data;
  return isOurs && textOf(encoding) === JSON_PLAIN
    ? JSON.parse(textOf(data))
    : converter.fromPayload(payload);
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
}
