import { z } from 'zod';
import type { PipeEnding } from '../pipe.ts';

/**
 * One message of a pipe: kind (1 byte), channel (1), sequence number of its direction (4, big-endian, wraps), payload. `credit` carries the
 * bytes granted (4, big-endian), `close` a PipeEnding as JSON, `alive` nothing.
 */
export type Frame = { readonly sequence: number } & (
  | { readonly kind: 'data'; readonly channel: number; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly channel: number }
  | { readonly kind: 'credit'; readonly granted: number }
  | { readonly kind: 'alive' }
  | { readonly kind: 'close'; readonly ending: PipeEnding }
);
type FrameKind = Frame['kind'];

const kinds: readonly FrameKind[] = ['data', 'end', 'credit', 'alive', 'close'];
export const headerBytes = 6;
/** Of one data frame: large enough that the cost per frame does not matter, far below NATS' own limit. */
export const maxFramePayload = 64 << 10;
export const channelLimit = 256;
/** Sequence numbers wrap here. */
export const sequenceLimit = 2 ** 32;

const endingSchema = z.object({ exitCode: z.number().int().optional(), error: z.string().optional(), broken: z.string().optional() });

function frameOf(kind: FrameKind, channel: number, sequence: number, payloadBytes: number): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + payloadBytes);
  frame[0] = kinds.indexOf(kind);
  frame[1] = channel;
  frame.writeUInt32BE(sequence, 2);
  return frame;
}

/** Copies the payload: the caller's bytes may be used again at once. */
export function encodeFrame(given: Frame): Buffer {
  const { kind, sequence } = given;
  if (kind === 'data') {
    const frame = frameOf(kind, given.channel, sequence, given.bytes.length);
    frame.set(given.bytes, headerBytes);
    return frame;
  }
  if (kind === 'end') return frameOf(kind, given.channel, sequence, 0);
  if (kind === 'credit') {
    const frame = frameOf(kind, 0, sequence, 4);
    frame.writeUInt32BE(given.granted, headerBytes);
    return frame;
  }
  if (kind === 'alive') return frameOf(kind, 0, sequence, 0);
  const text = JSON.stringify(given.ending);
  const frame = frameOf(kind, 0, sequence, Buffer.byteLength(text));
  frame.write(text, headerBytes);
  return frame;
}

/** Throws with what is wrong with it. The bytes of a data frame are a view of `message`. */
export function decodeFrame(message: Uint8Array): Frame {
  const frame = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  if (frame.length < headerBytes) throw new Error(`a frame of ${frame.length} bytes is too short`);
  const kind = kinds[frame.readUInt8(0)];
  const channel = frame.readUInt8(1);
  const sequence = frame.readUInt32BE(2);
  const payload = frame.subarray(headerBytes);
  switch (kind) {
    case 'data':
      return { kind, channel, sequence, bytes: payload };
    case 'end':
      return { kind, channel, sequence };
    case 'credit':
      if (payload.length !== 4) throw new Error(`a credit of ${payload.length} bytes`);
      return { kind, sequence, granted: payload.readUInt32BE(0) };
    case 'alive':
      return { kind, sequence };
    case 'close':
      return { kind, sequence, ending: endingSchema.parse(JSON.parse(payload.toString())) as PipeEnding };
    default:
      throw new Error(`an unknown kind of frame, ${String(frame[0])}`);
  }
}
