/** HTTP/2 frames (RFC 9113): what a client that sends one kind of request needs. */
export const frame = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, push: 5, ping: 6, goAway: 7, windowUpdate: 8, continuation: 9 } as const;
export const flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;
export const setting = { headerTableSize: 1, enablePush: 2, maxConcurrentStreams: 3, initialWindowSize: 4, maxFrameSize: 5 } as const;

export const frameHeaderBytes = 9;
/** The most a frame may carry until the server allows more; also what we allow. */
export const defaultMaxFrame = 16_384;
export const defaultWindow = 65_535;
/** What we let the server send ahead, per stream and per connection: bodies are counted and dropped. */
export const receiveWindow = 16 * 1024 * 1024;

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export function frameOf(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, frameHeaderBytes);
  return bytes;
}

/** What a client says first: no push, no dynamic header table, large windows. */
export function hello(): Buffer {
  const settings = Buffer.alloc(18);
  [[setting.headerTableSize, 0], [setting.enablePush, 0], [setting.initialWindowSize, receiveWindow]].forEach(([id, value], i) => {
    settings.writeUInt16BE(id!, i * 6);
    settings.writeUInt32BE(value!, i * 6 + 2);
  });
  return Buffer.concat([preface, frameOf(frame.settings, 0, 0, settings), windowUpdate(0, receiveWindow - defaultWindow)]);
}

export function windowUpdate(stream: number, bytes: number): Buffer {
  return frameOf(frame.windowUpdate, 0, stream, uint32(bytes));
}

export function resetStream(stream: number, code: number): Buffer {
  return frameOf(frame.reset, 0, stream, uint32(code));
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

const errorNames = ['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT', 'STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR', 'CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'];

export const refusedStream = 7;
export const cancelStream = 8;

export function errorName(code: number): string {
  return errorNames[code] ?? `error ${code}`;
}
