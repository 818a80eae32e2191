// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroWebSocket

private func program(stack: CurlNetworkStack) -> WebSocketClient {
  // sample: client
  let client = WebSocketClient(dialer: stack.dialer)
  // end
  return client
}

private func pinned(_ engine: CurlConfiguration, key: String, backup: String) throws -> WebSocketClient {
  var engine = engine
  // sample: pinned
  engine.pins = [try PinningPolicy("chat.example.org", pins: [key, backup])]
  let stack = try CurlNetworkStack(engine)
  let client = WebSocketClient(dialer: stack.dialer)
  // end
  return client
}

private func chat(_ client: WebSocketClient) async throws {
  // sample: chat
  let socket = try await client.connect("wss://chat.example.org/room")
  try await socket.send("hello")
  for try await message in socket.messages {
    print(message)
  }
  // end
}

private func observe(_ socket: WebSocket) async throws {
  // sample: observers
  var log = socket.messages.makeAsyncIterator()  // an observer from here on
  var screen = socket.messages.makeAsyncIterator()
  try await socket.send("to all")
  let (logged, shown) = (try await log.next(), try await screen.next())
  print(logged == .text("to all"), shown == logged)
  // end
}

private func pieces(_ socket: WebSocket, lines: AsyncStream<String>) async throws -> Int {
  // sample: fragments
  try await socket.send(fragments: lines)  // an async sequence of texts

  var received = 0
  for try await piece in socket.fragments {
    received += piece.data.count
    if piece.isFinal { break }
  }
  // end
  return received
}

private func ping(_ socket: WebSocket) async throws -> Duration {
  // sample: ping
  let roundTrip = try await socket.ping(within: .seconds(5))
  // end
  return roundTrip
}

private func goodbye(_ socket: WebSocket) async throws {
  // sample: close
  let ending = try await socket.close(.normal, reason: "bye")
  print(ending.isClean, ending.initiator, ending.code?.rawValue ?? 0)
  // end
}

private func configured(dialer: any Dialer) -> WebSocketClient {
  // sample: configuration
  var configuration = WebSocketConfiguration()
  configuration.subprotocols = ["chat.v2", "chat.v1"]  // best first
  configuration.compression = .init()
  configuration.maximumMessageBytes = 16 * 1024
  configuration.keepAlive = .seconds(10)
  let client = WebSocketClient(dialer: dialer, configuration: configuration)
  // end
  return client
}

private func authenticated(dialer: any Dialer, password: Secret) async throws -> WebSocket {
  // sample: interceptors
  var stack = StackConfiguration()
  let origins = [try Origin("https://chat.example.org")]
  stack.interceptors = [try .basic(user: "ann", password: password, origins: origins)]
  let client = WebSocketClient(dialer: dialer, stack: stack)
  let socket = try await client.connect(
    "wss://chat.example.org/members", headers: [.origin: "https://www.example.org"])
  // end
  return socket
}

private func refused(_ client: WebSocketClient) async {
  // sample: refused
  do throws(WebSocketError) {
    _ = try await client.connect("wss://chat.example.org/members")
  } catch {
    print(error)
    if case .handshake(let failure) = error.reason { print(failure.response?.status.code ?? 0) }
  }
  // end
}

private func addressed(dialer: any Dialer) -> WebSocketClient {
  // sample: address
  var configuration = WebSocketConfiguration()
  configuration.address = ("192.0.2.7", 8443)
  configuration.serverName = "edge.example.org"
  let client = WebSocketClient(dialer: dialer, configuration: configuration)
  // end
  return client
}

private func sharing(_ stack: CurlNetworkStack) -> WebSocketClient {
  // sample: http2
  var configuration = WebSocketConfiguration()
  configuration.http2 = .whenAnnounced
  let client = WebSocketClient(dialer: stack.dialer, configuration: configuration)
  // end
  return client
}

private func tooLarge(_ client: WebSocketClient) async throws {
  // sample: too large
  let socket = try await client.connect("wss://chat.example.org/archive")
  do {
    for try await message in socket.messages { print(message.data.count) }
  } catch {
    print(error)
  }
  // end
}

private func reconnecting(_ client: WebSocketClient) async throws {
  // sample: reconnecting
  let feed = client.reconnecting(
    to: "wss://chat.example.org/feed",
    policy: .backoff(.constant(delay: .milliseconds(100), until: .maxRetries(5))), stableAfter: .seconds(60)
  ) { socket in
    try await socket.send("resume")  // first of all on every socket but the first
  }
  for try await event in feed {
    switch event {
    case .opened(let socket):
      do {
        for try await message in socket.messages { print(message) }
      } catch {}  // the next event tells why
    case .waiting(let delay, let error, _):
      print("again in \(delay): \(error.message)")
    }
  }
  // end
}

private func connection(_ dialer: any Dialer) async throws {
  // sample: connection
  let factory = NetworkConnectionFactory(to: .hostPort(host: "chat.example.org", port: 443), dialer: dialer)
  let connection = try await factory.open(using: .secureWebSocket)
  let text = ConnectionContentContext(identifier: "text", metadata: [WebSocketProtocol.Metadata(opcode: .text)])
  try await connection.send(Data("hello".utf8), contentContext: text)

  let message = try await connection.receiveMessage()
  let metadata = message.context?.protocolMetadata(definition: WebSocketProtocol.definition)
  if let metadata = metadata as? WebSocketProtocol.Metadata {
    print(metadata.opcode, String(decoding: message.data, as: UTF8.self))
  }
  connection.cancel()  // says goodbye first
  // end
}

// MARK: the page

extension Page {
  static let webSockets = Page("WebSockets") { stage in
    _ = program(stack: try stage.github())
    let hosts = try StreamHosts()
    try await conversation(stage, hosts)
    try await openSocket(stage, hosts)
    try await pins(stage, hosts)
    try await handshakes(stage, hosts)
    try await limits(stage, hosts)
    try await reconnection(stage)
    try await chatProgram(stage, hosts)
  }
}

private let host = "chat.example.org"

private func server(
  _ hosts: StreamHosts, _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior()
) throws -> LoopbackWebSocketServer {
  try LoopbackWebSocketServer(tls: try hosts.identity(host), behavior)
}

private func conversation(_ stage: Stage, _ hosts: StreamHosts) async throws {
  var behavior = LoopbackWebSocketBehavior()
  behavior.onMessage = { [$0.echo, .close(1000, "")] }
  let server = try server(hosts, behavior)
  defer { server.stop() }
  let client = WebSocketClient(dialer: hosts.dialer([host: server.port]))
  try await stage.prints("chat") { try await chat(client) }
  stage.check("the message came to the server", server.record.events.contains(.text("hello")))
}

private func openSocket(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try server(hosts)
  defer { server.stop() }
  let client = WebSocketClient(dialer: hosts.dialer([host: server.port]))
  let socket = try await client.connect("wss://\(host)/room")
  stage.check("TLS was checked", socket.facts.trust == .validated)
  try await stage.prints("connection") { try await connection(hosts.dialer([host: server.port])) }
  try await stage.prints("observers") { try await observe(socket) }
  let (lines, source) = AsyncStream.makeStream(of: String.self)
  for line in ["one\n", "two\n"] { source.yield(line) }
  source.finish()
  stage.check("fragments arrive as one message", try await pieces(socket, lines: lines) == 8)
  stage.check("a ping is answered", try await ping(socket) > .zero)
  try await stage.prints("close") { try await goodbye(socket) }
  do {
    try await socket.send("too late")
    stage.check("nothing is sent after the end", false)
  } catch {
    if case .closed(let close?) = error.reason { stage.check("an error tells how it ended", close.isClean) }
  }
}

private func pins(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let tls = try hosts.identity(host)
  let server = try LoopbackWebSocketServer(tls: tls)
  defer { server.stop() }
  var engine = hosts.configuration
  engine.connection.resolve(host, port: server.port, to: ["127.0.0.1"])
  let (other, backup) = ("sha256/\(String(repeating: "A", count: 43))=", "sha256/\(String(repeating: "B", count: 43))=")
  let key = try SPKIHash(pem: tls.identity.certificatePEM).description
  let url = "wss://\(host):\(server.port)/room"
  let socket = try await pinned(engine, key: key, backup: backup).connect(url)
  stage.check("a WebSocket is pinned as a fetch is", socket.facts.trust == .pinned)
  let refusing = try pinned(engine, key: other, backup: backup)
  do throws(WebSocketError) {
    _ = try await refusing.connect(url)
    stage.check("and refused as a fetch is", false)
  } catch {
    stage.check("and refused as a fetch is", error.description.contains("trust/pin_mismatch"))
  }
}

private func handshakes(_ stage: Stage, _ hosts: StreamHosts) async throws {
  var behavior = LoopbackWebSocketBehavior()
  behavior.onHandshake = { $0.headers["Authorization"] == nil ? LoopbackResponse(status: 401) : nil }
  let members = try server(hosts, behavior)
  defer { members.stop() }
  let dialer = hosts.dialer([host: members.port])
  await stage.prints("refused") { await refused(WebSocketClient(dialer: dialer)) }
  let socket = try await authenticated(dialer: dialer, password: Secret("opensesame"))
  stage.check("credentials open it", socket.isOpen)
  let origin = members.record.handshakes.last?.headers["Origin"]
  stage.check("headers go with the handshake", origin == "https://www.example.org")

  behavior = LoopbackWebSocketBehavior()
  behavior.subprotocol = "chat.v1"
  behavior.compresses = true
  let agreeing = try server(hosts, behavior)
  defer { agreeing.stop() }
  let agreed = try await configured(dialer: hosts.dialer([host: agreeing.port])).connect("wss://\(host)/room")
  stage.check("a subprotocol is chosen", agreed.subprotocol == "chat.v1")
  stage.check("compression is agreed on", agreed.isCompressing)

  let edge = try LoopbackWebSocketServer(tls: try hosts.identity("edge.example.org"))
  defer { edge.stop() }
  let byAddress = addressed(dialer: hosts.dialer(["192.0.2.7:8443": edge.port]))
  let there = try await byAddress.connect("wss://\(host)/room")
  stage.check("the address is dialed", there.isOpen)
  stage.check("and the URL's host stands in Host", edge.record.handshakes.first?.headers["Host"] == host)
}

private func limits(_ stage: Stage, _ hosts: StreamHosts) async throws {
  var behavior = LoopbackWebSocketBehavior()
  behavior.greeting = [.text(String(repeating: "x", count: 16 * 1024 + 1))]
  let archive = try server(hosts, behavior)
  defer { archive.stop() }
  let client = configured(dialer: hosts.dialer([host: archive.port]))
  try await stage.prints("too large") { try await tooLarge(client) }
  _ = try await archive.record.waitForEvents(count: 2)
  stage.check("the server is told 1009", archive.record.events.contains(.close(1009, "")))
}

/// Checks the reconnection to a server that restarts once.
private func reconnection(_ stage: Stage) async throws {
  let dials = EventRecorder<Int>()
  let record = EventRecorder<LoopbackWebSocketEvent>()
  let dialer = MemoryDialer { _, stream in
    dials.record(1)
    var behavior = LoopbackWebSocketBehavior()
    if dials.events.count == 1 {
      behavior.greeting = [.text("one"), .close(1012, "the server restarts")]
    } else {
      behavior.onMessage = { _ in [.text("two"), .close(1000, "")] }
    }
    try await LoopbackWebSocketServer.serve(stream, record: record, behavior)
  }
  try await stage.prints("reconnecting") { try await reconnecting(WebSocketClient(dialer: dialer)) }
  stage.check("a new socket begins where the old one ended", record.events.contains(.text("resume")))
}

/// Runs the program `Pages chat` with a user who types.
private func chatProgram(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try server(hosts)
  defer { server.stop() }
  let (lines, typing) = AsyncStream.makeStream(of: String.self)
  let (shown, show) = AsyncStream.makeStream(of: String.self)
  let chat = Chat(
    client: WebSocketClient(dialer: hosts.dialer([host: server.port])), url: "wss://\(host)/room", name: "ann",
    terminal: Terminal(lines: lines) { show.yield($0) })
  let status = Task { await chat.run() }
  var screen = shown.makeAsyncIterator()
  _ = await screen.next()
  typing.yield("good morning \u{1B}[2J")
  stage.check("what is typed comes back, harmless", await screen.next() == "ann: good morning  [2J")
  typing.yield("/ping")
  stage.check("a ping is measured", await screen.next()?.hasPrefix("* the server is ") == true)
  typing.finish()
  stage.check("it says goodbye", await screen.next() == "* closed with code 1000")
  stage.check("and ends well", await status.value == 0)
}
