import { defaultMaxFrame, frame, frameHeaderBytes } from './frames.ts';

/** What arrives; payloads are only valid during the call. */
export interface FrameSink {
  frame(type: number, flags: number, stream: number, payload: Buffer): void;
  /** A DATA frame begins; its payload is counted, not kept. `length` includes padding. */
  data(flags: number, stream: number, length: number): void;
  /** The DATA frame that began last is all there. */
  dataEnd(): void;
}

/** Cuts a byte stream, split anywhere, into HTTP/2 frames. Throws when a frame is longer than allowed. */
export class FrameReader {
  readonly #sink: FrameSink;
  /** Bytes of the DATA frame under way that are still to come. */
  #skip = 0;
  #partial: Buffer = Buffer.allocUnsafe(512);
  #held = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  take(buffer: Buffer, length: number): void {
    let at = 0;
    while (at < length) {
      if (this.#skip > 0) {
        const bytes = Math.min(this.#skip, length - at);
        at += bytes;
        this.#skip -= bytes;
        if (this.#skip === 0) this.#sink.dataEnd();
      } else if (this.#held > 0) at = this.#complete(buffer, at, length);
      else at = this.#whole(buffer, at, length);
    }
  }

  /** Takes a frame in place; keeps what is not a whole one. */
  #whole(buffer: Buffer, at: number, to: number): number {
    if (to - at < frameHeaderBytes) return this.#keep(buffer, at, to);
    const size = sizeOf(buffer, at);
    if (buffer[at + 3] === frame.data) {
      this.#begin(buffer, at, size);
      return at + frameHeaderBytes;
    }
    const end = at + frameHeaderBytes + size;
    if (end > to) return this.#keep(buffer, at, to);
    this.#emit(buffer, at, end);
    return end;
  }

  /** Goes on with a frame of which a part is held. */
  #complete(buffer: Buffer, at: number, to: number): number {
    if (this.#held < frameHeaderBytes) {
      const next = Math.min(to, at + frameHeaderBytes - this.#held);
      this.#keep(buffer, at, next);
      if (this.#held < frameHeaderBytes) return next;
      const size = sizeOf(this.#partial, 0);
      if (this.#partial[3] === frame.data) {
        this.#held = 0;
        this.#begin(this.#partial, 0, size);
      } else if (size === 0) this.#finish(frameHeaderBytes);
      return next;
    }
    const whole = frameHeaderBytes + sizeOf(this.#partial, 0);
    const next = Math.min(to, at + whole - this.#held);
    this.#keep(buffer, at, next);
    if (this.#held === whole) this.#finish(whole);
    return next;
  }

  #finish(whole: number): void {
    this.#held = 0;
    this.#emit(this.#partial, 0, whole);
  }

  #begin(buffer: Buffer, at: number, size: number): void {
    this.#skip = size;
    this.#sink.data(buffer[at + 4]!, streamOf(buffer, at), size);
    if (size === 0) this.#sink.dataEnd();
  }

  #emit(buffer: Buffer, at: number, end: number): void {
    this.#sink.frame(buffer[at + 3]!, buffer[at + 4]!, streamOf(buffer, at), buffer.subarray(at + frameHeaderBytes, end));
  }

  #keep(buffer: Buffer, from: number, to: number): number {
    const needed = this.#held + to - from;
    if (needed > this.#partial.length) {
      const wider = Buffer.allocUnsafe(needed * 2);
      this.#partial.copy(wider, 0, 0, this.#held);
      this.#partial = wider;
    }
    buffer.copy(this.#partial, this.#held, from, to);
    this.#held = needed;
    return to;
  }
}

function sizeOf(buffer: Buffer, at: number): number {
  const size = (buffer[at]! << 16) | (buffer[at + 1]! << 8) | buffer[at + 2]!;
  if (size > defaultMaxFrame) throw new Error(`a frame of ${size} bytes is longer than allowed`);
  return size;
}

function streamOf(buffer: Buffer, at: number): number {
  return ((buffer[at + 5]! & 0x7f) << 24) | (buffer[at + 6]! << 16) | (buffer[at + 7]! << 8) | buffer[at + 8]!;
}
