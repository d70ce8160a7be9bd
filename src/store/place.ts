/** Where bytes are kept by key: a folder or a bucket. */
export interface StorePlace {
  /** Undefined where there are none, or more than `most`. */
  read(key: string, most: number): Promise<Uint8Array | undefined>;
  /** Replaces what is there: readers see all of it or nothing. */
  write(key: string, bytes: Uint8Array): Promise<void>;
}
