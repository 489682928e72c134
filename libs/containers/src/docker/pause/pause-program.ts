/**
 * The program of a sandbox: does nothing, for as long as its pod lives. It is the first process of the pod and so
 * - ignores SIGCHLD: the kernel then clears away the children that end in a shared process namespace, no zombies stay;
 * - blocks TERM and INT and waits for one of them, then ends with 0: the daemon stops it at once instead of after 10 s.
 * Written as machine code, because neither a compiler nor a registry can be counted on:
 *
 *     rt_sigaction(SIGCHLD, &{ handler: SIG_IGN }, NULL, 8)
 *     rt_sigprocmask(SIG_BLOCK, &{ SIGINT, SIGTERM }, NULL, 8)
 *     do { got = rt_sigtimedwait(&{ SIGINT, SIGTERM }, NULL, NULL, 8) } while (got < 0)
 *     exit_group(0)
 */
export function pauseProgram(architecture: string): Buffer {
  const make = programs[architecture];
  if (make === undefined) throw new Error(`no pause program for ${architecture}: x64 and arm64 are there`);
  return make();
}

const programs: Readonly<Record<string, () => Buffer>> = {
  x64: () => executable(62, x64Code),
  arm64: () => executable(183, arm64Code),
};

const sigIgn = 1n;
const sigchld = 17;
const sigBlock = 0;
const setSize = 8;
/** Bit n - 1 for signal n: INT is 2, TERM 15. */
const intAndTerm = (1n << 1n) | (1n << 14n);

/** What the code points to: the kernel's sigaction (handler, flags, restorer, mask: 8 bytes each), then the set of signals. */
const data = (): Buffer => {
  const bytes = Buffer.alloc(40);
  bytes.writeBigUInt64LE(sigIgn, 0);
  bytes.writeBigUInt64LE(intAndTerm, 32);
  return bytes;
};
const offsetOfSet = 32;

const loadAddress = 0x40_0000;
const elfHeaderSize = 64;
const programHeaderSize = 56;
const codeOffset = elfHeaderSize + programHeaderSize;

/** A static ELF file of one segment that is read and executed: headers, code, data. `code` is told where its data will lie. */
function executable(machine: number, code: (dataAddress: number) => Buffer): Buffer {
  const codeSize = code(0).length;
  const dataOffset = Math.ceil((codeOffset + codeSize) / 8) * 8;
  const file = Buffer.alloc(dataOffset + data().length);
  // e_ident: magic, 64 bits, little endian, version 1
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(file, 0);
  file.writeUInt16LE(2, 16); // e_type: executable
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(1, 20); // e_version
  file.writeBigUInt64LE(BigInt(loadAddress + codeOffset), 24); // e_entry
  file.writeBigUInt64LE(BigInt(elfHeaderSize), 32); // e_phoff
  file.writeUInt16LE(elfHeaderSize, 52);
  file.writeUInt16LE(programHeaderSize, 54);
  file.writeUInt16LE(1, 56); // e_phnum
  file.writeUInt32LE(1, elfHeaderSize); // p_type: load
  file.writeUInt32LE(5, elfHeaderSize + 4); // p_flags: read, execute
  file.writeBigUInt64LE(BigInt(loadAddress), elfHeaderSize + 16); // p_vaddr
  file.writeBigUInt64LE(BigInt(loadAddress), elfHeaderSize + 24); // p_paddr
  file.writeBigUInt64LE(BigInt(file.length), elfHeaderSize + 32); // p_filesz
  file.writeBigUInt64LE(BigInt(file.length), elfHeaderSize + 40); // p_memsz
  file.writeBigUInt64LE(0x1_0000n, elfHeaderSize + 48); // p_align: the largest page size
  code(loadAddress + dataOffset).copy(file, codeOffset);
  data().copy(file, dataOffset);
  return file;
}

/** System call number in eax, arguments in edi, esi, edx, r10d; the kernel keeps all but rcx, r11 and eax. */
function x64Code(dataAddress: number): Buffer {
  const le32 = (value: number): number[] => [value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, (value >> 24) & 0xff];
  const mov = (register: 'eax' | 'edx' | 'esi' | 'edi', value: number): number[] => [0xb8 + { eax: 0, edx: 2, esi: 6, edi: 7 }[register], ...le32(value)];
  const movR10d = (value: number): number[] => [0x41, 0xba, ...le32(value)];
  const syscall = [0x0f, 0x05];
  const testEax = [0x85, 0xc0];
  const set = dataAddress + offsetOfSet;
  const wait = [...mov('eax', 128), ...mov('edi', set), ...mov('esi', 0), ...mov('edx', 0), ...syscall, ...testEax];
  // js: jump when negative, relative to the end of its two bytes
  const again = [0x78, 256 - (wait.length + 2)];
  return Buffer.from(
    [
      [...mov('eax', 13), ...mov('edi', sigchld), ...mov('esi', dataAddress), ...mov('edx', 0), ...movR10d(setSize), ...syscall],
      [...mov('eax', 14), ...mov('edi', sigBlock), ...mov('esi', set), ...mov('edx', 0), ...syscall],
      [...wait, ...again],
      [...mov('eax', 231), ...mov('edi', 0), ...syscall],
    ].flat(),
  );
}

/** System call number in x8, arguments in x0 to x3; the kernel keeps all but x0. One instruction is 4 bytes. */
function arm64Code(dataAddress: number): Buffer {
  const words: number[] = [];
  const movz = (register: number, value: number): number => words.push(0xd280_0000 | (value << 5) | register);
  const svc = (): number => words.push(0xd400_0001);
  /** Address of a place relative to this instruction. */
  const adr = (register: number, address: number): void => {
    const offset = address - (loadAddress + codeOffset + words.length * 4);
    words.push(0x1000_0000 | ((offset & 3) << 29) | (((offset >> 2) & 0x7_ffff) << 5) | register);
  };
  const set = dataAddress + offsetOfSet;
  movz(8, 134);
  movz(0, sigchld);
  adr(1, dataAddress);
  movz(2, 0);
  movz(3, setSize);
  svc();
  movz(8, 135);
  movz(0, sigBlock);
  adr(1, set);
  svc();
  const wait = words.length;
  movz(8, 137);
  adr(0, set);
  movz(1, 0);
  svc();
  // tbnz x0, #63: back when negative
  words.push(0xb700_0000 | (31 << 19) | (((wait - words.length) & 0x3fff) << 5));
  movz(8, 94);
  movz(0, 0);
  svc();
  const code = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) code.writeUInt32LE(word >>> 0, index * 4);
  return code;
}
