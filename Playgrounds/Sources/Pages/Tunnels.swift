// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import LastroWebSocket

private func nested(_ base: any Dialer) throws -> any Dialer {
  // sample: nested
  let proxy = try Tunnel.socks5(host: "proxy.example.org", port: 1080, over: base)
  let dialer = proxy.addingTLS()
  // end
  return dialer
}

private func meek(front: URL, serverURL: URL, _ stack: any HTTPNetworkStack) async throws -> any ByteStream {
  // sample: meek
  let dialer = try Tunnel.meek(to: front, serverURL: serverURL, through: stack)
  let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 7))
  // end
  return stream
}

private func chain() throws {
  // sample: chain
  let chain = try ViaChain(["socks5://127.0.0.1:9050", "http://ann:secret@proxy.example.org:3128"])
  print(chain)
  // end
}

private func over(_ chain: ViaChain, _ stack: CurlNetworkStack, url: String) async throws -> WebSocket {
  // sample: over a chain
  let client = WebSocketClient(dialer: try chain.dialer(on: stack))
  let socket = try await client.connect(url)
  // end
  return socket
}

extension Page {
  static let tunnels = Page("Tunnels") { stage in
    let hosts = try StreamHosts()
    try await meekTunnel(stage, hosts)
    try await twoProxies(stage, hosts)
  }
}

private func meekTunnel(_ stage: Stage, _ hosts: StreamHosts) async throws {
  _ = try nested(hosts.engine)
  try await stage.prints("chain") { try chain() }

  let web = try LoopbackTunnelServer.meek()
  defer { web.stop() }
  guard let url = URL(string: "http://127.0.0.1:\(web.port)") else { return }
  let stream = try await meek(front: url, serverURL: url, try CurlNetworkStack(hosts.configuration))
  try await stream.write(Data("hello".utf8))
  stage.check("meek brings it back", try await stream.read() == Data("hello".utf8))
}

private func twoProxies(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let first = try LoopbackServer.tunnel()
  let second = try LoopbackServer.tunnel()
  var identity = try hosts.identity("localhost")
  identity.applicationProtocols = ["http/1.1"]
  let sockets = try LoopbackWebSocketServer(tls: identity)
  defer { for server in [first, second] { server.stop() } }
  defer { sockets.stop() }
  let ways = try ViaChain(["http://127.0.0.1:\(first.port)", "http://127.0.0.1:\(second.port)"])
  let stack = try CurlNetworkStack(hosts.configuration)
  let socket = try await over(ways, stack, url: "wss://localhost:\(sockets.port)/")
  try await socket.send("through two proxies")
  var messages = socket.messages.makeAsyncIterator()
  stage.check("a WebSocket through two proxies", try await messages.next() == .text("through two proxies"))
  stage.check("the first leads to the second", first.requests.map(\.target) == ["127.0.0.1:\(second.port)"])
  stage.check("the second to the server", second.requests.map(\.target) == ["localhost:\(sockets.port)"])
  stage.check("whose certificate is checked", socket.facts.trust == .validated)
}
