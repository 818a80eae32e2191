// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTunnels
import LastroWebSocket

private func echo(_ dialer: any Dialer) async throws {
  // sample: stream
  let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 7, tls: .init()))
  try await stream.write(Data("hello".utf8), within: .seconds(5))
  try await stream.finishWriting()

  var answer = Data()
  while let piece = try await stream.read(upTo: 4096, within: .seconds(5)) { answer += piece }
  print(String(decoding: answer, as: UTF8.self), stream.facts.trust.rawValue)
  // end
}

private func truncated(_ stream: any ByteStream) async {
  // sample: truncated
  do {
    while let piece = try await stream.read() { print(piece.count, "bytes") }
    print("the end")
  } catch {
    print(error)
  }
  // end
}

private func datagrams(_ dialer: any Dialer) async throws -> Data {
  // sample: datagrams
  let datagrams = try await dialer.dialDatagrams(DialRequest(host: "echo.example.org", port: 7))
  try await datagrams.send(Data("hello".utf8))
  let answer = try await datagrams.receive(within: .seconds(5))
  // end
  return answer
}

// sample: dialer
struct Counted: Dialer {
  let below: any Dialer
  let count: @Sendable (String) -> Void

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let stream = try await below.dial(request)
    count(request.host)
    return stream
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }
}
// end

private func nested(_ base: any Dialer) throws -> any Dialer {
  // sample: nested
  let proxy = try ProxyServer(host: "proxy.example.org", port: 1080)
  let dialer = TLSDialer(over: try SOCKS5Dialer(proxy: proxy, over: base))
  // end
  return dialer
}

private func meek(front: URL, serverURL: URL, _ stack: any HTTPNetworkStack) async throws -> any ByteStream {
  // sample: meek
  let dialer = MeekDialer(try MeekServer(to: front, serverURL: serverURL), through: stack)
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

private func over(_ chain: ViaChain, _ engine: CurlTransport, url: String) async throws -> WebSocket {
  // sample: over a chain
  let client = WebSocketClient(dialer: try chain.dialer(on: engine))
  let socket = try await client.connect(url)
  // end
  return socket
}

extension Page {
  static let transports = Page("Transports") { stage in
    let hosts = try StreamHosts()
    try await streams(stage, hosts)
    try await wrapped(stage, hosts)
    try await connections(stage, hosts)
  }
}

private let host = "echo.example.org"

/// Sends back what comes, until the client ends its direction.
func echoServer(_ tls: LoopbackTLS) throws -> LoopbackServer {
  try LoopbackServer(tls: tls) { connection in
    while true {
      let bytes = connection.read(max: 65_536)
      if bytes.isEmpty { return }
      try connection.write(bytes)
    }
  }
}

private func streams(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try echoServer(try hosts.identity(host))
  defer { server.stop() }
  try await stage.prints("stream") { try await echo(hosts.dialer([host: server.port])) }

  let cutting = try LoopbackServer(tls: try hosts.identity(host)) { connection in
    try connection.write("half of it")
    connection.closeWithoutNotify()
  }
  defer { cutting.stop() }
  let stream = try await hosts.dialer([host: cutting.port]).dial(DialRequest(host: host, port: 7, tls: .init()))
  await stage.prints("truncated") { await truncated(stream) }

  let receiver = try LoopbackDatagramServer { .answer($0.bytes) }
  defer { receiver.stop() }
  stage.check("a datagram comes back", try await datagrams(hosts.dialer([host: receiver.port])) == Data("hello".utf8))

}

private func wrapped(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try echoServer(try hosts.identity(host))
  defer { server.stop() }
  let dialed = EventRecorder<String>()
  let counted = Counted(below: hosts.dialer([host: server.port])) { dialed.record($0) }
  try await echo(counted)
  stage.check("a dialer of one's own counts", dialed.events == [host])
  _ = try nested(counted)
  try await stage.prints("chain") { try chain() }

  let web = try LoopbackMeekServer()
  defer { web.stop() }
  guard let url = URL(string: web.server.baseURL) else { return }
  let stream = try await meek(front: url, serverURL: url, try CurlNetworkStack(hosts.configuration))
  try await stream.write(Data("hello".utf8))
  stage.check("meek brings it back", try await stream.read() == Data("hello".utf8))

  let first = try LoopbackServer.tunnel()
  let second = try LoopbackServer.tunnel()
  var identity = try hosts.identity("localhost")
  identity.applicationProtocols = ["http/1.1"]
  let sockets = try LoopbackWebSocketServer(tls: identity)
  defer { for server in [first, second] { server.stop() } }
  defer { sockets.stop() }
  let ways = try ViaChain(["http://127.0.0.1:\(first.port)", "http://127.0.0.1:\(second.port)"])
  let engine = try CurlTransport(hosts.configuration)
  let socket = try await over(ways, engine, url: "wss://localhost:\(sockets.port)/")
  try await socket.send("through two proxies")
  var messages = socket.messages.makeAsyncIterator()
  stage.check("a WebSocket through two proxies", try await messages.next() == .text("through two proxies"))
  stage.check("the first leads to the second", first.requests.map(\.target) == ["127.0.0.1:\(second.port)"])
  stage.check("the second to the server", second.requests.map(\.target) == ["localhost:\(sockets.port)"])
  stage.check("whose certificate is checked", socket.facts.trust == .validated)
}
