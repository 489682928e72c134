import { expect, it } from '@jest/globals';
import { classify } from './errors.ts';

it.each(['ECONNRESET', 'EPIPE'])('a server that closes during the TLS handshake is told so, however this side hears of it: %s', (code) => {
  const error = Object.assign(new Error(`write ${code}`), { code });
  expect(classify(error, 'tls')).toEqual({ code: 'tls', message: 'the server closed the connection during the TLS handshake' });
  expect(classify(error, 'exchange').code).toBe('reset');
});
