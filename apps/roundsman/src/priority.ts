import { readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** A niceness: three times the usual share of a busy processor. */
const ahead = -5;

/**
 * Lets a process of the control plane go before what it makes: it takes little of the processor, but while pods start on few cores everybody would wait for it. What it
 * starts inherits it. A niceness that somebody has chosen stays, and without the right to raise it all stays as it is.
 */
export function goAhead(pid: number): void {
  allowed(() => {
    if (getPriority(pid) === 0) setPriority(pid, ahead);
  });
  // Where the kernel shares the processor between sessions first, that of a session counts; one with others in it (a terminal) is not ours.
  allowed(() => {
    if (leadsSession(pid) && getPriority(pid) === ahead) writeFileSync(`/proc/${pid}/autogroup`, String(ahead));
  });
}

/** Nothing depends on it. EACCES, EPERM: without the right; ENOENT: a kernel without such groups; ESRCH: it has ended, as others will tell. */
function allowed(work: () => void): void {
  try {
    work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
  }
}

function leadsSession(pid: number): boolean {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3]) === pid;
}
