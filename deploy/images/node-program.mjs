// Node and what it needs to run, as files of an image.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const nodePath = 'usr/bin/node';

/** The running Node without its symbols, and the libraries of this machine that it is linked to, each where the loader looks for it. */
export function nodeProgram() {
  const libraries = librariesOf(process.execPath);
  // Older versions of the C library load these when a name is resolved; in newer ones they are part of it.
  const folder = dirname(libraries.find((path) => path.includes('/libc.so')) ?? '');
  const resolvers = ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2'].map((name) => join(folder, name)).filter((path) => existsSync(path));
  return [
    { path: nodePath, mode: 0o755, content: withoutSymbols(readFileSync(process.execPath)) },
    ...[...new Set([...libraries, ...resolvers])].map((path) => ({ path: path.slice(1), mode: 0o755, content: readFileSync(path) })),
  ];
}

/** Absolute paths, the loader among them. */
function librariesOf(program) {
  const said = execFileSync('ldd', [program], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } });
  const missing = /^\s*(\S+) => not found/m.exec(said)?.[1];
  if (missing !== undefined) throw new Error(`${program} needs ${missing}, which is not on this machine`);
  return [...said.matchAll(/(?:=>\s+|^\s+)(\/\S+) \(0x/gm)].map(([, path]) => path);
}

/**
 * What of a 64-bit ELF file is loaded when it runs: section headers, symbols and debugging information lie behind that and are a fifth of Node.
 * As `strip` does, but the same on every machine. Throws for a file of another kind.
 */
export function withoutSymbols(file) {
  const littleEndian64 = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  if (!file.subarray(0, 6).equals(littleEndian64)) throw new Error('not a 64-bit little-endian ELF file');
  const programHeaders = Number(file.readBigUInt64LE(32)); // e_phoff
  const size = file.readUInt16LE(54); // e_phentsize
  let end = programHeaders + size * file.readUInt16LE(56); // e_phnum
  for (let at = programHeaders, last = end; at < last; at += size) end = Math.max(end, Number(file.readBigUInt64LE(at + 8) + file.readBigUInt64LE(at + 32))); // p_offset + p_filesz
  const loaded = Buffer.from(file.subarray(0, end));
  loaded.writeBigUInt64LE(0n, 40); // e_shoff
  loaded.writeUInt16LE(0, 60); // e_shnum
  loaded.writeUInt16LE(0, 62); // e_shstrndx
  return loaded;
}
