#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad clients of the daemon's socket.

    control_abuse.py SOCKET [slow]

A bad client loses at most its own connection; the next client is answered. The slow ones
need a daemon with a shorter time limit than usual.
"""
import json
import os
import socket
import sys
import time

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))
from schema import validator    # pylint: disable=wrong-import-position

PATH = sys.argv[1]
CLIENTS = 16
LIST = b'{"version":1,"command":"list"}\n'


def connect():
    """A connection with a time limit."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(60)
    sock.connect(PATH)
    return sock


def lines(sock, count):
    """Reads so many lines; fewer when the daemon hangs up."""
    data = b''
    while data.count(b'\n') < count:
        try:
            more = sock.recv(65536)
        except ConnectionResetError:
            more = b''
        if not more:
            break
        data += more
    return data.decode().splitlines()


def ask(text):
    """Sends one line. Returns the answer as an object."""
    with connect() as sock:
        sock.sendall(text)
        return json.loads(lines(sock, 1)[0])


def refused(text):
    """A bad line gets an error, and the connection goes on."""
    with connect() as sock:
        sock.sendall(text + b'\n' + LIST)
        answers = [json.loads(line) for line in lines(sock, 2)]
    assert answers[0]['version'] == 1 and answers[0]['error']['code'] == 'EINVAL', answers
    assert 'exports' in answers[1], answers


def slow():
    """The daemon ends clients that send byte by byte, and clients that take no answers."""
    dribbling = {connect() for _ in range(CLIENTS // 2)}
    greedy = {connect() for _ in range(CLIENTS // 2)}
    for sock in dribbling | greedy:
        sock.setblocking(False)
    deadline = time.monotonic() + 60
    while dribbling or greedy:
        assert time.monotonic() < deadline, 'the daemon lets itself be held up'
        for sock in dribbling | greedy:
            try:
                sock.send(b' ' if sock in dribbling else LIST * 50)
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                sock.close()
                dribbling.discard(sock)
                greedy.discard(sock)
        time.sleep(0.05)


def documented():
    """Answers follow the schema of the tool, and the schema refuses other documents."""
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        '../../Documentation/json/rdmablk-target.schema.json')
    schema = validator(name)
    for request in ({'command': 'list'}, {'command': 'list', 'name': 'a'},
                    {'command': 'sessions'}, {'command': 'reload'},
                    {'command': 'resize', 'name': 'a'}, {'command': 'list', 'name': 'b'},
                    {'command': 'add', 'spec': 'c,memory,size=1M,hugepages=no'},
                    {'command': 'remove', 'name': 'c'}, {'command': 'nothing'}):
        answer = ask(json.dumps({'version': 1, **request}).encode() + b'\n')
        if 'error' in answer:    # the tool makes its own of it
            assert set(answer['error']) == {'code', 'errno', 'message'}, answer
            continue
        schema.validate(answer)
        try:
            schema.validate({**answer, 'more': 1})
        except jsonschema.ValidationError:
            continue
        assert False, answer


def main():
    """All clients but the slow ones."""
    documented()
    for text in (b'', b'x', b'{', b'[]', b'1', b'null', b'{}', b'{"version":2,"command":"list"}',
                 b'{"version":1}', b'{"version":1,"command":"nothing"}',
                 b'{"version":1,"command":["list"]}',
                 b'{"version":1,"command":"list","spec":"none"}',
                 b'{"version":1,"command":"remove"}',
                 b'{"version":1,"command":"remove","name":1}',
                 b'{"version":1,"command":"remove","name":"a/b"}',
                 b'{"version":1,"command":"remove","name":"a\\u0000b"}',
                 b'{"version":1,"command":"resize","name":"none","size":-1}',
                 b'{"version":1,"command":"list"} {}',
                 b'[' * 200, b'\xff\x00\xfe'):
        refused(text)
    with connect() as sock:     # byte by byte
        for byte in LIST:
            sock.sendall(bytes([byte]))
        assert 'exports' in json.loads(lines(sock, 1)[0])
    with connect() as sock:     # many at once, nothing of it read before
        sock.sendall(LIST * 200)
        assert len(lines(sock, 200)) == 200
    with connect() as sock:     # no end
        try:
            sock.sendall(b' ' * 100000)
            assert not lines(sock, 1)
        except (BrokenPipeError, ConnectionResetError):
            pass
    crowd = [connect() for _ in range(CLIENTS)]
    crowd[-1].sendall(LIST)
    assert lines(crowd[-1], 1)
    with connect() as late:
        assert not lines(late, 1)
    for sock in crowd:
        sock.close()
    for text in (b'{"version":1,"command":"reload"}\n', LIST):
        with connect() as sock:     # gone before the answer
            sock.sendall(text)
    assert 'exports' in ask(LIST)


if sys.argv[2:] == ['slow']:
    slow()
else:
    main()
