// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import TestSupport
import Testing

@Suite("Transports over connections, dialers over transports", .timeLimit(.minutes(15)))
struct NestingTests {
  private static let echo = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
  private static let request = DialRequest(host: "anywhere.example", port: 1, connectTimeout: .seconds(600))

  @Test("A transport without datagrams returns nil, and its async form throws") func datagrams() async throws {
    let factory = SampleConnectionFactory(serverAddress: SampleNetwork.server, cert: "cert", iatMode: false)
    #expect(factory.connect(using: .udp) == nil)
    await #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) { try await factory.open(using: .udp) }
  }

  @Test("A transport's server address may not be a Unix socket") func serverAddress() async throws {
    let factory = SampleConnectionFactory(serverAddress: .unix(path: "/x"), cert: "cert", iatMode: false)
    await #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) { try await factory.open() }
  }

  @Test("Parameters reach the innermost connection, through every layer") func parameters() async throws {
    let dialer = RecordingDialer()
    var factory: any ConnectionFactory = NetworkConnectionFactory(to: SampleNetwork.server, dialer: dialer)
    for _ in 0..<2 {
      factory = SampleConnectionFactory(
        serverAddress: SampleNetwork.server, cert: "cert", iatMode: false, factory: factory)
    }
    let parameters = ConnectionParameters.tls
    parameters.tls?.serverName = "inner.example"
    let connection = try await factory.open(using: parameters)
    #expect(dialer.requests.map(\.tls?.serverName) == ["inner.example"])
    #expect(dialer.requests.map(\.host) == ["sample.example"])
    connection.cancel()
  }

  @Test("A dial's limit reaches the innermost connection through every layer, and so does its absence")
  func dialLimits()
    async throws
  {
    let dialer = RecordingDialer()
    let innermost = NetworkConnectionFactory(to: SampleNetwork.server, dialer: dialer)
    let factory = SampleConnectionFactory(
      serverAddress: SampleNetwork.server, cert: "cert", iatMode: false, factory: innermost)
    for limit in [Duration.seconds(600), nil] {
      try await factory.dialer().dial(DialRequest(host: "any.example", port: 1, connectTimeout: limit)).close()
    }
    #expect(dialer.requests.map(\.connectTimeout) == [.seconds(600), nil])
  }

  @Test("Copies of parameters are independent, and presets are new each time") func copies() {
    let one = ConnectionParameters.tcp
    let other = one.copy()
    other.tls = DialRequest.TLS()
    other.defaultProtocolStack.transportProtocol = .udp
    #expect(one.tls == nil)
    #expect(!one.isDatagrams)
    #expect(ConnectionParameters.tcp !== ConnectionParameters.tcp)
  }

  @Test("A transport over one connection reports its loss, and never redials") func single() async throws {
    let dials = Lock(0)
    let dialer = MemoryDialer { _, stream in
      dials.withLock { $0 += 1 }
      try await stream.write(SampleMask.hello)
      _ = try await stream.read()
      _ = try await stream.read()
      stream.truncate()
    }
    let inner = NetworkConnection(to: SampleNetwork.server, using: .tcp, dialer: dialer)
    try await inner.start()
    let factory = SampleConnectionFactory(
      serverAddress: SampleNetwork.server, cert: "cert", iatMode: false, connection: inner)
    let connection = try await factory.open()
    try? await connection.send(Data("x".utf8))
    do {
      _ = try await connection.receive()
      Issue.record("the loss was not reported")
    } catch {
      #expect(error.cause?.code == .truncatedStream)
    }
    do {
      _ = try await factory.open()
      Issue.record("the connection was used twice")
    } catch {
      #expect(error == .posix(.ECONNRESET) && error.cause?.code == .connectionLost)
    }
    #expect(dials.withLock { $0 } == 1)
  }

  @Test("Bytes of another protocol fail the connection") func foreign() async throws {
    let dialer = MemoryDialer { _, stream in
      try await stream.write(Data("HTTP/1.1 400 Bad Request\r\n".utf8))
      while try await stream.read() != nil {}
    }
    let factory = SampleConnectionFactory(
      serverAddress: SampleNetwork.server, cert: "cert", iatMode: false, network: dialer)
    let connection = try await factory.open()
    do {
      _ = try await connection.receive()
      Issue.record("the call must be refused")
    } catch {
      #expect(error.cause?.code == .protocolViolation)
    }
  }

  @Test("A dialer over a transport returns streams, half-closed and whole") func dialer() async throws {
    let factory = SampleConnectionFactory(serverAddress: SampleNetwork.server, cert: "cert", iatMode: false)
    let stream = try await ConnectionFactoryDialer(factory).dial(Self.request)
    try await stream.write(Data("through the transport".utf8))
    try await stream.finishWriting()
    var got = Data()
    while let piece = try await stream.read(upTo: 5) { got += piece }
    #expect(got == Data("through the transport".utf8))
    #expect(try await stream.read() == nil)
    stream.close()
  }

  @Test("Unsupported TLS is refused and not silently omitted") func tls() async throws {
    var request = Self.request
    request.tls = DialRequest.TLS()
    let factory = NetworkConnectionFactory(to: SampleNetwork.server, dialer: Self.echo)
    for dialer in [
      ConnectionFactoryDialer(factory) as any Dialer,
      SingleConnectionDialer(NetworkConnection(to: SampleNetwork.server, using: .tcp, dialer: Self.echo)),
    ] {
      do {
        _ = try await dialer.dial(request)
        Issue.record("TLS was omitted")
      } catch {
        #expect(error.code == .unsupported)
      }
    }
  }

  @Test("A cancelled read loses nothing") func limits() async throws {
    let (near, far) = MemoryStream.pair()
    let connection = NetworkConnection(to: SampleNetwork.server, using: .tcp, dialer: GivenStreamDialer(near))
    try await connection.start()
    let stream = ConnectionStream(over: connection)
    for text in ["one", "two"] {
      do {
        _ = try await stream.read(upTo: 100, within: .milliseconds(1))
        Issue.record("the read returned data")
      } catch {
        #expect(error.code == .idleTimeout)
      }
      try await far.write(Data(text.utf8))
      #expect(try await stream.read(upTo: 2) == Data(text.utf8.prefix(2)))
      #expect(try await stream.read(upTo: 2) == Data(text.utf8.dropFirst(2)))
    }
    stream.close()
    do {
      _ = try await stream.read()
      Issue.record("the read returned data after the close")
    } catch {
      #expect(error.code == .streamClosed)
    }
  }
}

// A complete transport as the Swift Transport API specifies it, with all three initialisers of the document's Wisp. A
// reader of the guide's page on transports could have written it.

/// The transform of the transport: it masks bytes with a key that both sides know, and sends a hello first.
struct SampleMask: StreamTransform {
  static let hello = Data("SAMPLE1 ".utf8)
  let key: [UInt8]
  var sent = 0
  var received = 0
  var greeting = Data()

  init(cert: String) { key = Array(cert.utf8) }

  mutating func opening() -> Data { Self.hello }
  mutating func outgoing(_ data: Data) -> Data { mask(data, &sent) }

  mutating func incoming(_ data: Data) throws -> Data {
    guard greeting.count < Self.hello.count else { return mask(data, &received) }
    greeting.append(data)
    guard greeting.count >= Self.hello.count else { return Data() }
    guard greeting.starts(with: Self.hello) else { throw NoHello() }
    return mask(greeting.dropFirst(Self.hello.count), &received)
  }

  private func mask(_ data: some Sequence<UInt8>, _ position: inout Int) -> Data {
    Data(
      data.map { byte in
        defer { position += 1 }
        return byte ^ key[position % key.count]
      })
  }

  struct NoHello: Error {}
}

/// The connection factory of the transport.
struct SampleConnectionFactory: ConnectionFactory {
  private let transport: NetworkConnectionFactory

  /// Connects to the transport's server over the network.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, network: any Dialer = SampleNetwork.dialer) {
    transport = NetworkConnectionFactory(to: serverAddress, dialer: network) { SampleMask(cert: cert) }
  }

  /// Connects over the connections of another transport.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, factory: any ConnectionFactory) {
    transport = NetworkConnectionFactory(factory: factory) { SampleMask(cert: cert) }
  }

  /// Connects over one connection. When that connection is lost, there is no other.
  init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, connection: any Connection) {
    transport = NetworkConnectionFactory(connection: connection) { SampleMask(cert: cert) }
  }

  func connect(using parameters: ConnectionParameters) -> (any Connection)? { transport.connect(using: parameters) }
}

/// The network of the tests: a server of the transport in this process that sends back the bytes it unmasks.
enum SampleNetwork {
  static let server: ConnectionEndpoint = .hostPort(host: "sample.example", port: 9)

  static let dialer = masked(cert: "cert")

  /// Returns a dialer whose server is behind a number of layers of the transport.
  static func masked(cert: String, layers: Int = 1) -> MemoryDialer {
    MemoryDialer { _, stream in
      var inner: any ByteStream = stream
      for _ in 0..<layers {
        try await inner.write(SampleMask.hello)
        inner = TransformedStream(inner, SampleMask(cert: cert))
      }
      try await ConnectionConformance.echo(inner)
    }
  }
}
