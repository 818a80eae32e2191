# SPDX-License-Identifier: Apache-2.0
"""The servers of a run, all on loopback addresses: nginx, a sink for uploads, one that never answers, a SOCKS proxy."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from .certificates import Certificates, make_certificates
from .clients import build_go
from .processes import running, running_on_port, wait_until

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MOST_CONNECTIONS = 24000
"""What nginx makes room for: 10,000 with a connection behind each, and the sockets that it listens on."""
IDLE_HOSTS = 1000
"""How many addresses of 127.0.0.0/8 the server of idle connections has."""
SECURE_IDLE_HOSTS = 50
"""How many of them speak TLS too, on another port."""

CONFIGURATION = """
daemon off;
master_process off;
worker_rlimit_nofile {descriptors};
pid {folder}/nginx.pid;
error_log {folder}/nginx.log error;
events {{ worker_connections {connections}; multi_accept on; }}
http {{
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  tcp_nodelay on;
  keepalive_timeout 600s;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_buffer_size 256k;
  client_body_temp_path {folder}/temp/body;
  proxy_temp_path {folder}/temp/proxy;
  fastcgi_temp_path {folder}/temp/fastcgi;
  uwsgi_temp_path {folder}/temp/uwsgi;
  scgi_temp_path {folder}/temp/scgi;
  proxy_http_version 1.1;
  proxy_read_timeout 600s;
  open_file_cache max=100;
  open_file_cache_valid 600s;
  ssl_certificate {chain};
  ssl_certificate_key {key};
  # So that each handshake is a full one.
  ssl_session_cache off;
  ssl_session_tickets off;
  http2_max_concurrent_streams 1000;
  server {{
    listen 127.0.0.1:{plain} backlog=16384;
    listen 127.0.0.1:{secure} ssl http2 backlog=16384;
{idle_listens}
    root {folder}/files;
    location = /1024 {{ return 200 "{small}"; }}
    location = /unique {{
      add_header X-Request-Id $request_id;
      add_header X-Time $msec;
      return 200 "{small}";
    }}
    location = /upload {{
      proxy_pass http://127.0.0.1:{sink};
      proxy_request_buffering off;
    }}
    location = /silent {{ proxy_pass http://127.0.0.1:{silent}; }}
  }}
{secure_idle_servers}
}}
"""


SECURE_IDLE_SERVER = """  server {{
    listen {host}:{port} ssl;
    ssl_certificate {chains}/{host}.pem;
    location = /1024 {{ return 200 "{small}"; }}
  }}"""


@dataclasses.dataclass(frozen=True)
class Servers:
    """Where everything is. `plain` and `secure` are the base URLs of nginx for HTTP/1.1 and for HTTP/2 over TLS."""
    plain: str
    secure: str
    sink: str
    silent: str
    idle: str
    secure_idle: str
    socks: str
    """The SOCKS 5 proxy, as HOST:PORT."""
    json_size: int
    certificates: Certificates

    def url(self, http: int, path: str) -> str:
        return f"{self.secure if http == 2 else self.plain}/{path}"


def idle_host(number: int) -> str:
    return f"127.1.{number // 250}.{number % 250 + 1}"


def free_ports(count: int) -> list[int]:
    """Ports that nobody has at this moment; all are held until all are found, so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def json_document() -> bytes:
    """An array of objects, 100 KiB to within one object."""
    objects: list[dict[str, object]] = []
    size = len("[]")
    while size < 100 * KIB:
        number = len(objects)
        objects.append({
            "id": number, "name": f"Person number {number}", "email": f"person{number}@example.org",
            "score": number * 0.25, "active": number % 3 == 0, "tags": ["red", "green", "blue"][: number % 4]})
        size += len(json.dumps(objects[-1])) + 2
    return json.dumps(objects).encode()


def make_files(folder: Path, largest: int) -> None:
    """Zeros, which take no room on the disk, and the JSON document; all are read once, so that they are in memory."""
    folder.mkdir()
    for size in {16 * KIB, MIB, largest}:
        with (folder / str(size)).open("wb") as file:
            file.truncate(size)
        with (folder / str(size)).open("rb", buffering=0) as file:
            while file.read(MIB):
                pass
    (folder / "json").write_bytes(json_document())


def nginx_program() -> str:
    for path in (None, "/usr/sbin"):
        if found := shutil.which("nginx", path=path):
            return found
    raise RuntimeError("nginx is missing: run .ci/setup benchmarks")


@contextlib.contextmanager
def serving(folder: Path, descriptors: int, largest: int) -> Iterator[Servers]:
    """All servers, for as long as the context lasts; `folder` is theirs, `largest` the size of the largest file."""
    make_files(folder / "files", largest)
    addresses = [idle_host(number) for number in range(SECURE_IDLE_HOSTS)]
    certificates = make_certificates(folder / "certificates", addresses)
    socks_program = str(build_go("socks", "./socks"))
    with helper("sink", folder) as sink, helper("silent", folder) as silent, \
            running_on_port([socks_program], folder / "socks.log") as socks, \
            nginx(folder, certificates, descriptors, sink, silent) as (plain, secure, idle, secure_idle):
        yield Servers(f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{secure}", f"http://127.0.0.1:{sink}",
                      f"http://127.0.0.1:{silent}", f"http://{{n}}:{idle}", f"https://{{n}}:{secure_idle}",
                      f"127.0.0.1:{socks}", (folder / "files" / "json").stat().st_size, certificates)


def helper(name: str, folder: Path) -> contextlib.AbstractContextManager[int]:
    program = Path(__file__).parent / f"{name}.py"
    return running_on_port([sys.executable, str(program)], folder / f"{name}.log")


@contextlib.contextmanager
def nginx(folder: Path, certificates: Certificates, descriptors: int, sink: int,
          silent: int) -> Iterator[tuple[int, int, int, int]]:
    """Its ports for HTTP/1.1, for HTTP/2 over TLS, and for idle connections without and with TLS."""
    (folder / "temp").mkdir()
    plain, secure, idle, secure_idle = free_ports(4)
    small = "0" * KIB
    configuration, log = folder / "nginx.conf", folder / "nginx.log"
    configuration.write_text(CONFIGURATION.format(
        folder=folder, descriptors=descriptors, connections=min(descriptors, MOST_CONNECTIONS),
        chain=certificates.chain, key=certificates.key, plain=plain, secure=secure, sink=sink, silent=silent,
        small=small,
        secure_idle_servers="\n".join(
            SECURE_IDLE_SERVER.format(
                host=idle_host(number), port=secure_idle, chains=certificates.addresses, small=small)
            for number in range(SECURE_IDLE_HOSTS)),
        idle_listens="\n".join(f"    listen {idle_host(number)}:{idle};" for number in range(IDLE_HOSTS))))
    with running([nginx_program(), "-p", str(folder), "-c", str(configuration), "-e", str(log)], log):
        wait_until(lambda: answers(plain) and answers(secure), log)
        yield plain, secure, idle, secure_idle
