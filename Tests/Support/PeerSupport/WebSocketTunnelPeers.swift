// SPDX-License-Identifier: Apache-2.0

/// hypercorn, with WebSockets over HTTP/2 (RFC 8441) and HTTP/1.1 over TLS.
///
/// | path | action |
/// |---|---|
/// | `/echo` | sends every message back; chooses the subprotocol `chat` if it is offered |
/// | `/close` | closes with 4001 and the reason `go` |
/// | `/deny` | refuses the handshake with 403 |
/// | any, without WebSocket | the HTTP version |
package enum HypercornWebSocketPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("hypercorn")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      let application = try directory.write(script, to: "application.py")
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "--bind", "127.0.0.1:\(ports[0])", "--certfile", certificates.server, "--keyfile", certificates.serverKey,
          "--websocket-ping-interval", "3600", "\(application):application",
        ])
    }
  }

  private static let script = #"""
    async def lifespan(receive, send):
        while True:
            event = (await receive())["type"]
            await send({"type": event + ".complete"})
            if event == "lifespan.shutdown":
                return

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            return await lifespan(receive, send)
        if scope["type"] == "http":
            body = scope["http_version"].encode()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            return await send({"type": "http.response.body", "body": body})
        await receive()
        if scope["path"] == "/deny":
            return await send({"type": "websocket.close"})
        await send({"type": "websocket.accept", "subprotocol": "chat" if "chat" in scope["subprotocols"] else None})
        if scope["path"] == "/close":
            return await send({"type": "websocket.close", "code": 4001, "reason": "go"})
        while (event := await receive())["type"] == "websocket.receive":
            text = event.get("text")
            message = {"bytes": event["bytes"]} if text is None else {"text": text}
            await send({"type": "websocket.send"} | message)

    """#
}

/// haproxy, which accepts WebSockets over HTTP/2 (RFC 8441) and passes them to an HTTP/1.1 server.
package enum HAProxyWebSocketPeer {
  /// - Parameter origin: the port of the server.
  package static func start(origin: Int) async throws -> Peer {
    let program = try PeerProcess.find(["haproxy"], package: "haproxy")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      try directory.write(try certificates.serverWithKey, to: "server.pem")
      let file = try directory.write(
        """
        defaults
          mode http
          timeout connect 600s
          timeout client 600s
          timeout server 600s
          timeout tunnel 600s
        frontend main
          bind 127.0.0.1:\(ports[0]) ssl crt \(directory.file("server.pem")) alpn h2,http/1.1
          default_backend origin
        backend origin
          server origin 127.0.0.1:\(origin)

        """, to: "haproxy.cfg")
      return PeerProcess.Launch(program: program, arguments: ["-db", "-f", file])
    }
  }
}
