#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system at each moment at which its disk could have lost power.

moments.py check LOG IMAGE TYPE
    Does to IMAGE what dm-log-writes has in LOG, up to the mark "begin", and then up to
    each FLUSH and each FUA write before the mark "end". At each of these a copy is
    mounted, which has to have what synced.py has promised by then; unmounted again, it
    has to be clean. Ends at the first that is not, with status 1.

moments.py late LOG IMAGE TYPE
    The same of the moment in the middle, which cannot have what was promised until the
    end: says so, and ends with status 1.

moments.py finish LOG IMAGE
    Does the rest to IMAGE, which is then what the disk is.

A mark is no moment of its own: the disk is what it was at the flush before it. A moment
has to keep all promises that were made before the next one. A file may be missing from the
moment on that comes after its "gone", for it is removed later than that is said.
"""

import collections
import subprocess
import sys

import replay
import synced

TRY, DIR = "/dev/shm/try", "/mnt"
FSCK = {"ext4": ["e2fsck", "-fn", TRY], "xfs": ["xfs_repair", "-f", "-n", TRY]}

Moment = collections.namedtuple("Moment", "first last marks")


def moments(log):
    """Yields entries that are to be done for a moment, and the marks that follow it.

    The last is no moment: it is what comes after "end", with None for its marks.
    """
    first, last, marks = 0, None, []
    for number, entry in enumerate(log):
        if entry.text == "begin":
            last = number
        elif last is None:
            continue
        elif entry.text == "end":
            yield Moment(first, last + 1, marks)
            yield Moment(last + 1, len(log), None)
            return
        elif entry.text is not None:
            marks.append(entry.text)
        elif entry.flags & (replay.FLUSH | replay.FUA):
            yield Moment(first, last + 1, marks)
            first, last, marks = last + 1, number, []
    sys.exit("the log has no 'begin', or no 'end'")


def run(*command):
    """Returns what a command says when it fails"""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    return done.stdout.decode() or "no word" if done.returncode else ""


def survives(image, kind, promises):
    """Returns what is wrong with a disk after the power failure"""
    wrong = run("cp", "--sparse=always", image, TRY) or run("mount", "-o", "loop", TRY, DIR)
    if wrong:
        return f"not mounted: {wrong}"
    wrong = "".join(f"{line}\n" for line in synced.broken(DIR, promises))
    return run("umount", DIR) or wrong or run(*FSCK[kind])


def judge(image, kind, promises, where):
    wrong = survives(image, kind, promises)
    if wrong:
        print(f"{promises}; {where}:")
        print(wrong)
        sys.exit(1)


def check(path, image, kind):
    promises, count, empty = synced.Promises(), 0, 0
    log = replay.entries(path)
    for moment in moments(log):
        if moment.marks is None:
            break
        replay.apply(path, image, log[moment.first:moment.last])
        # Here the data of a coming discard is still there.
        promises.add(moment.marks)
        judge(image, kind, promises, f"moment {count}, entry {moment.last - 1} of {len(log)}")
        promises.forget()
        count += 1
        empty += not promises.files and not promises.tables
    writes = sum(entry.size > 0 for entry in log)
    print(f"{count} moments, {empty} with nothing promised; {writes} writes; {promises}")


def late(path, image, kind):
    promises, log = synced.Promises(), replay.entries(path)
    found = [moment for moment in moments(log) if moment.marks is not None]
    replay.apply(path, image, log[:found[len(found) // 2].last])
    for moment in found:
        promises.add(moment.marks)
        promises.forget()
    judge(image, kind, promises, f"moment {len(found) // 2} of {len(found)}")


def finish(path, image):
    log = replay.entries(path)
    rest = next(moment for moment in moments(log) if moment.marks is None)
    replay.apply(path, image, log[rest.first:])


def main():
    {"check": check, "late": late, "finish": finish}[sys.argv[1]](*sys.argv[2:])


main()
