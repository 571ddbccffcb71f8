#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system at each moment at which its disk could have lost power.

moments.py check LOG IMAGE TYPE
    Applies the entries of LOG to IMAGE, up to the mark "begin", and then up to each FLUSH and
    each FUA write before the mark "end". At each of these moments it mounts a copy, which must
    keep the promises of synced.py so far and be clean after the unmount. Ends at the first bad
    moment, with status 1.

moments.py late LOG IMAGE TYPE
    The same for the moment in the middle and all promises up to the end, which it cannot keep
    yet: prints that, and ends with status 1.

moments.py finish LOG IMAGE
    Applies the rest of LOG to IMAGE, which is then the same as the disk.

A mark is not a moment: the disk is the same as at the flush before it. A moment has to keep all
promises that were made before the next moment. A file may be missing from the moment after its
mark "gone" on, because it is removed after the mark is made.
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
    """Yields for each moment the entries to apply, and the marks that follow it.

    The last item is not a moment: it has the entries after "end", and None for its marks.
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
        # The data of a discard that is yet to come is still in the image here.
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
