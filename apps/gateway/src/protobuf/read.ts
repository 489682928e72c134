import { ProtobufBodies, type Decoded } from './decode.ts';
import { bodies, messages } from './messages.ts';

const served = new ProtobufBodies(messages, bodies);

/** A request body of a kind that is served. */
export const readProtobuf = (bytes: Buffer): Decoded => served.decode(bytes);
