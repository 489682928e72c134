import { createServer } from 'node:http';

// The pod that requests of the benchmark go to.
const body = Buffer.alloc(1_024, 'x');
createServer((_request, response) => response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length }).end(body)).listen(9_000, () => console.log('ready'));
