import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// What the requests of the benchmark are for: a process of its own that answers 1 KiB, and says its port.
const body = Buffer.alloc(1_024, 'x');
const server = createServer((_request, response) => response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length }).end(body));
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
