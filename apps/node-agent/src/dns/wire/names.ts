/** No name is longer on the wire (RFC 1035). */
const longestName = 255;

/** Where what follows a name begins, pointers not followed; undefined when the bytes are no name, or one with a pointer where there must be none. */
export function endOfName(message: Buffer, at: number, pointers: 'pointers' | 'no pointers' = 'pointers'): number | undefined {
  for (let offset = at; offset < message.length && offset - at < longestName; ) {
    const length = message[offset]!;
    if (length === 0) return offset + 1;
    if (length >= 0xc0) return pointers === 'pointers' && offset + 2 <= message.length ? offset + 2 : undefined;
    if (length > 63) return undefined;
    offset += 1 + length;
  }
  return undefined;
}

/**
 * A name that has no pointers as text in lower case without its last dot. A dot within a label is written `\.`, so that it is taken for no name of ours.
 */
export function textOfName(message: Buffer, at: number): string {
  let text = '';
  for (let offset = at; ; ) {
    const length = message[offset]!;
    if (length === 0) return text;
    const label = message.toString('latin1', offset + 1, offset + 1 + length).toLowerCase();
    text += (text === '' ? '' : '.') + (label.includes('.') ? label.replaceAll('.', '\\.') : label);
    offset += 1 + length;
  }
}

/** Text as it goes on the wire; undefined when it is no domain name. */
export function wireName(text: string): Buffer | undefined {
  const labels = text.replace(/\.$/, '').split('.').map((label) => Buffer.from(label, 'latin1'));
  if (labels.some(({ length }) => length === 0 || length > 63)) return undefined;
  const name = Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)]);
  return name.length > longestName ? undefined : name;
}
