// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroWebSocket

private func moved(_ dialer: any Dialer) async -> String {
  await withCheckedContinuation { continuation in
    let done: @Sendable (Data?) -> Void = {
      continuation.resume(returning: String(decoding: $0 ?? Data(), as: UTF8.self))
    }
    // sample: connection
    let connection = NetworkConnection(to: .hostPort(host: "echo.example.org", port: 7), using: .tls, dialer: dialer)
    connection.stateUpdateHandler = { state in
      if case .failed(let error) = state { print("failed:", error) }
    }
    connection.start(queue: DispatchQueue(label: "echo"))
    connection.send(
      content: Data("hello".utf8),
      completion: .contentProcessed { error in
        if let error { return print("not sent:", error) }
        connection.receive(minimumIncompleteLength: 5, maximumLength: 5) { data, context, isComplete, error in
          done(data)
          connection.cancel()
        }
      })
    // end
  }
}

private func asynchronous(_ dialer: any Dialer) async throws {
  // sample: async
  let factory = NetworkConnectionFactory(to: .hostPort(host: "echo.example.org", port: 7), dialer: dialer)
  let connection = try await factory.open(using: .tls, within: .seconds(5))
  try await connection.send(Data("hello".utf8))
  let answer = try await connection.receive(minimum: 5, maximum: 5)
  print(String(decoding: answer.data, as: UTF8.self))
  connection.cancel()
  // end
}

private func watched(_ factory: NetworkConnectionFactory, tell: @escaping @Sendable (Bool) -> Void) async throws {
  // sample: viability
  let parameters = ConnectionParameters.tls
  parameters.watchesNetworkPath = true
  let connection = factory.connect(using: parameters)
  connection?.viabilityUpdateHandler = { isViable in tell(isViable) }
  try await connection?.start(within: .seconds(5))
  // end
  connection?.cancel()
}

// sample: transform
struct Mask: StreamTransform {
  private static let hello = Data("MASK1 ".utf8)
  let key: [UInt8]
  private var greeting = Data()
  private var sent = 0, received = 0

  init(cert: String) { key = Array(cert.utf8) }

  mutating func opening() -> Data { Self.hello }
  mutating func outgoing(_ data: Data) -> Data { mask(data, &sent) }

  mutating func incoming(_ data: Data) throws -> Data {
    guard greeting.count < Self.hello.count else { return mask(data, &received) }
    greeting += data  // pieces come in any length: the hello may be split
    guard greeting.count >= Self.hello.count else { return Data() }
    guard greeting.starts(with: Self.hello) else { throw NoHello() }
    return mask(greeting.dropFirst(Self.hello.count), &received)
  }

  private func mask(_ data: Data, _ position: inout Int) -> Data {
    defer { position += data.count }
    return key.isEmpty ? data : Data(zip(position..., data).map { $1 ^ key[$0 % key.count] })
  }

  struct NoHello: Error {}
}
// end

// sample: transport
struct MaskConnectionFactory: ConnectionFactory {
  private let transport: NetworkConnectionFactory

  /// Connects to the transport's server itself.
  init(
    serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool,
    network: any Dialer = CurlNetworkStack.sharedDialer
  ) {
    transport = NetworkConnectionFactory(to: serverAddress, dialer: network) { Mask(cert: cert) }
  }

  /// Makes its connections over those of another transport.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, factory: any ConnectionFactory) {
    transport = NetworkConnectionFactory(factory: factory) { Mask(cert: cert) }
  }

  /// Uses one connection. When that is lost, there is no other.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, connection: any Connection) {
    transport = NetworkConnectionFactory(connection: connection) { Mask(cert: cert) }
  }

  func connect(using parameters: ConnectionParameters) -> (any Connection)? { transport.connect(using: parameters) }
}
// end

private func conformance(_ factory: MaskConnectionFactory) async throws {
  // sample: conformance
  let findings = await ConnectionConformance(of: factory).findings()
  print(findings.isEmpty)
  // end
}

private func socket(_ factory: MaskConnectionFactory, _ options: ConnectionOptions) async throws -> WebSocket {
  // sample: over a transport
  let dialer = factory.dialer().addingTLS(connection: options)
  let socket = try await WebSocketClient(dialer: dialer).connect("wss://chat.example.org/room")
  // end
  return socket
}

// sample: framer
final class Lines: ProtocolFramerImplementation {
  static let label = "Lines"
  static let definition = ProtocolFramer.Definition(implementation: Lines.self)
  private var count = 0
  init(framer: ProtocolFramer.Instance) {}

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    while true {
      var line: Data?
      var seen = 0
      _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: 1024) { bytes, isComplete in
        guard let bytes else { return 0 }
        seen = bytes.count
        guard let end = bytes.firstIndex(of: 10) else { return 0 }
        line = Data(bytes[..<end])
        return end + 1
      }
      guard let line else { return seen + 1 }  // a line is not whole: call again when there is more
      let message = ProtocolFramer.Message(instance: framer)
      count += 1
      message["number"] = count
      framer.deliverInput(data: line, message: message, isComplete: true)
    }
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    try? framer.writeOutputNoCopy(length: messageLength)
    if isComplete { framer.writeOutput(data: Data([10])) }
  }
}
// end

private func framed(_ factory: NetworkConnectionFactory) async throws {
  // sample: framed
  let parameters = ConnectionParameters.tls
  parameters.defaultProtocolStack.applicationProtocols = [ProtocolFramer.Options(definition: Lines.definition)]
  let connection = try await factory.open(using: parameters)
  try await connection.send(Data("one".utf8))
  try await connection.send(Data("two".utf8))
  for _ in 1...2 {
    let line = try await connection.receiveMessage()
    let message = line.context?.protocolMetadata(definition: Lines.definition) as? ProtocolFramer.Message
    print(String(decoding: line.data, as: UTF8.self), message?["number"] as? Int ?? 0)
  }
  // end
  connection.cancel()
}

private func refused(_ factory: MaskConnectionFactory) async {
  // sample: refused
  print(factory.connect(using: .udp) == nil)
  do {
    _ = try await factory.open(using: .udp)
  } catch {
    print(error)
  }
  // end
}

extension Page {
  static let transports = Page("Transports") { stage in
    try await connections(stage, try StreamHosts())
  }
}

private let host = "echo.example.org"
private let address = ConnectionEndpoint.hostPort(host: "mask.example.org", port: 9)

private func connections(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try echoServer(try hosts.identity(host))
  defer { server.stop() }
  let dialer = hosts.dialer([host: server.port])
  stage.check("code of NWConnection runs renamed", await moved(dialer) == "hello")
  try await stage.prints("async") { try await asynchronous(dialer) }
  let factory = NetworkConnectionFactory(to: .hostPort(host: "echo.example.org", port: 7), dialer: dialer)
  let (viability, tell) = AsyncStream.makeStream(of: Bool.self)
  try await watched(factory) { tell.yield($0) }
  var states = viability.makeAsyncIterator()
  stage.check("a connection that is ready is viable", await states.next() == true)
  try await stage.prints("framed") { try await framed(factory) }

  let masked = MaskConnectionFactory(serverAddress: address, cert: "key", iatMode: false, network: maskedEcho)
  try await stage.prints("conformance") { try await conformance(masked) }
  await stage.prints("refused") { await refused(masked) }

  let inner = NetworkConnectionFactory(to: address, dialer: maskedEcho)
  let over = MaskConnectionFactory(serverAddress: address, cert: "key", iatMode: false, factory: inner)
  stage.check("over another factory", try await echoes(over))
  let one = NetworkConnection(to: address, using: .tcp, dialer: maskedEcho)
  let single = MaskConnectionFactory(serverAddress: address, cert: "key", iatMode: false, connection: one)
  stage.check("over one connection", try await echoes(single))
  stage.check("which cannot be made again", (try? await single.open()) == nil)
  try await webSocket(stage, hosts)
}

private func echoes(_ factory: MaskConnectionFactory) async throws -> Bool {
  let connection = try await factory.open()
  defer { connection.cancel() }
  try await connection.send(Data("hello".utf8))
  return try await connection.receive(minimum: 5, maximum: 5).data == Data("hello".utf8)
}

/// Checks a WebSocket over TLS over the transport. The transport's server unmasks the data and forwards it to a
/// WebSocket server.
private func webSocket(_ stage: Stage, _ hosts: StreamHosts) async throws {
  let server = try LoopbackWebSocketServer(tls: try hosts.identity("chat.example.org"))
  defer { server.stop() }
  let network = MemoryDialer { [port = server.port] _, stream in
    let upstream = try await hosts.engine.dial(DialRequest(host: "127.0.0.1", port: port))
    try await stream.write(Data("MASK1 ".utf8))
    let client = Mask(cert: "key").over(stream)
    async let answers: Void = copy(upstream, to: client)
    try await copy(client, to: upstream)
    try await answers
  }
  let factory = MaskConnectionFactory(serverAddress: address, cert: "key", iatMode: false, network: network)
  let socket = try await socket(factory, hosts.configuration.connection)
  stage.check("a WebSocket within TLS within a transport", socket.facts.trust == .validated)
  stage.check("which closes cleanly", try await socket.close().isClean)
}

private func copy(_ source: any ByteStream, to sink: any ByteStream) async throws {
  while let bytes = try await source.read() { try await sink.write(bytes) }
  try await sink.finishWriting()
}

/// A dialer to a server of the transport in this process, which unmasks the data and sends it back.
private let maskedEcho = MemoryDialer { _, stream in
  try await stream.write(Data("MASK1 ".utf8))
  try await ConnectionConformance.echo(Mask(cert: "key").over(stream))
}
