/** Milliseconds since the Unix epoch at 2000-01-01, where Postgres starts to count. */
const postgresEpoch = 946_684_800_000;
const twoTo32 = 4_294_967_296;
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');

/**
 * Rows in Postgres' binary COPY format, written into one buffer that grows and is used again after `reset`. Numbers and
 * strings are trusted to fit their column: check first. NUL characters, which Postgres cannot hold, become U+FFFD.
 */
export class CopyRows {
  #buffer: Buffer;
  #view: DataView;
  #at = 0;
  #rows = 0;

  constructor(bytes = 1 << 20) {
    this.#buffer = Buffer.allocUnsafeSlow(bytes);
    this.#view = new DataView(this.#buffer.buffer);
    this.reset();
  }

  get rows(): number {
    return this.#rows;
  }

  reset(): void {
    this.#at = header.copy(this.#buffer, 0);
    this.#rows = 0;
  }

  /** Everything so far with the trailer; valid until the next write. */
  finish(): Buffer {
    this.#room(2);
    this.#view.setInt16(this.#at, -1);
    return this.#buffer.subarray(0, this.#at + 2);
  }

  row(columns: number): void {
    this.#room(512);
    this.#view.setInt16(this.#at, columns);
    this.#at += 2;
    this.#rows += 1;
  }

  null(): void {
    this.#room(4);
    this.#view.setInt32(this.#at, -1);
    this.#at += 4;
  }

  text(value: string): void {
    const length = value.length;
    this.#room(4 + length * 3);
    const start = this.#at + 4;
    let at = start;
    if (length <= 48) {
      const buffer = this.#buffer;
      let i = 0;
      for (; i < length; i++) {
        const code = value.charCodeAt(i);
        if (code === 0 || code > 127) break;
        buffer[at++] = code;
      }
      if (i < length) at = start + this.#utf8(value, start);
    } else {
      at = start + this.#utf8(value, start);
    }
    this.#view.setInt32(this.#at, at - start);
    this.#at = at;
  }

  textOrNull(value: string | undefined): void {
    if (value === undefined) this.null();
    else this.text(value);
  }

  bool(value: boolean): void {
    this.#room(5);
    this.#view.setInt32(this.#at, 1);
    this.#buffer[this.#at + 4] = value ? 1 : 0;
    this.#at += 5;
  }

  int4(value: number): void {
    this.#room(8);
    this.#view.setInt32(this.#at, 4);
    this.#view.setInt32(this.#at + 4, value);
    this.#at += 8;
  }

  int8(value: number): void {
    this.#room(12);
    this.#view.setInt32(this.#at, 8);
    const high = Math.floor(value / twoTo32);
    this.#view.setInt32(this.#at + 4, high);
    this.#view.setUint32(this.#at + 8, value - high * twoTo32);
    this.#at += 12;
  }

  float8(value: number): void {
    this.#room(12);
    this.#view.setInt32(this.#at, 8);
    this.#view.setFloat64(this.#at + 4, value);
    this.#at += 12;
  }

  /** Milliseconds since the Unix epoch. */
  timestamp(ms: number): void {
    this.int8(Math.round((ms - postgresEpoch) * 1000));
  }

  int2Array(values: readonly number[]): void {
    this.#array(values, 21, 2);
  }

  float4Array(values: readonly number[]): void {
    this.#array(values, 700, 4);
  }

  int4Array(values: readonly number[]): void {
    this.#array(values, 23, 4);
  }

  /** JSON text without NULs. */
  jsonb(json: string): void {
    this.#room(5 + json.length * 3);
    const bytes = this.#utf8(json, this.#at + 5);
    this.#view.setInt32(this.#at, bytes + 1);
    this.#buffer[this.#at + 4] = 1;
    this.#at += 5 + bytes;
  }

  #utf8(value: string, at: number): number {
    return this.#buffer.write(value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value, at, 'utf8');
  }

  #array(values: readonly number[], type: number, size: 2 | 4): void {
    const n = values.length;
    this.#room(24 + n * (4 + size));
    const view = this.#view;
    let at = this.#at;
    if (n === 0) {
      view.setInt32(at, 12);
      view.setInt32(at + 4, 0);
      view.setInt32(at + 8, 0);
      view.setInt32(at + 12, type);
      this.#at = at + 16;
      return;
    }
    view.setInt32(at, 20 + n * (4 + size));
    view.setInt32(at + 4, 1);
    view.setInt32(at + 8, 0);
    view.setInt32(at + 12, type);
    view.setInt32(at + 16, n);
    view.setInt32(at + 20, 1);
    at += 24;
    for (let i = 0; i < n; i++) {
      view.setInt32(at, size);
      at += 4;
      if (size === 2) view.setInt16(at, values[i]!);
      else if (type === 700) view.setFloat32(at, values[i]!);
      else view.setInt32(at, values[i]!);
      at += size;
    }
    this.#at = at;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const wider = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(wider, 0, 0, this.#at);
    this.#buffer = wider;
    this.#view = new DataView(wider.buffer);
  }
}
