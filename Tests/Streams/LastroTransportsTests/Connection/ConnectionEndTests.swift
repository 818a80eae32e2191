// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import Testing

@testable import LastroTransports

@Suite("Ends of connections and streams", .timeLimit(.minutes(15)))
struct ConnectionEndTests {
  private func connection(_ dialer: any Dialer = RecordingDialer()) -> NetworkConnection {
    NetworkConnection(to: SampleNetwork.server, using: .tcp, dialer: dialer)
  }

  @Test("A connection that was cancelled cannot be started and throws ECANCELED") func startAfterCancel() async throws {
    let connection = connection()
    connection.cancel()
    await #expect(throws: ConnectionError.posix(.ECANCELED)) { try await connection.start() }
    await #expect(throws: ConnectionError.posix(.ECANCELED)) { try await connection.start() }
  }

  @Test("Starting a connection that is ready returns at once") func startAgain() async throws {
    let connection = connection()
    try await connection.start()
    try await connection.start()
    #expect(connection.state == .ready)
    connection.cancel()
    let failed = self.connection(RecordingDialer(error: .cancelled()))
    for _ in 0..<2 { await #expect(throws: ConnectionError.self) { try await failed.start() } }
  }

  @Test("The sequence of states ends with the connection, even without a state") func states() async throws {
    let unstarted = connection()
    let early = unstarted.states
    unstarted.cancel()
    for await state in early { Issue.record("unexpected state: \(state)") }

    let ended = connection()
    try await ended.start()
    let states = ended.states
    ended.cancel()
    var seen: [ConnectionState] = []
    for await state in states { seen.append(state) }
    #expect(seen == [.cancelled])
    for await state in ended.states { Issue.record("unexpected state: \(state)") }
  }

  @Test("Data that arrives late between two reads is neither lost nor waited for") func lateReceive() async throws {
    for _ in 0..<2000 {
      let connection = LateConnection()
      let stream = ConnectionStream(over: connection)
      await #expect(throws: TransportError.self) { try await stream.read(upTo: 8, within: .zero) }
      let server = Task.detached { connection.bring(Data("late".utf8)) }
      let got = try await stream.read(upTo: 8)
      #expect(got == Data("late".utf8))
      await server.value
      guard connection.receives == 1 else {
        Issue.record("\(connection.receives) receive calls for one response")
        return
      }
    }
  }

  @Test("A stream retains none of the data that was read, however much", arguments: [40_000, 65_536])
  func memory(maximum: Int) async throws {
    let stream = ConnectionStream(over: PlentifulConnection())
    for _ in 0..<200 {
      _ = try await stream.read(upTo: maximum)
      let kept = stream.state.withLock { $0.bytes.startIndex }
      try #require(kept < PlentifulConnection.pieceBytes)
    }
  }

  @Test("A transport reports a truncation at every read") func cut() async throws {
    let (near, far) = MemoryStream.pair()
    let stream = TransformedStream(near, Whole())
    try await far.write(Data("abc".utf8))
    try await far.finishWriting()
    #expect(try await stream.read() == Data("abc".utf8))
    for _ in 0..<3 {
      let error = try await #require(throws: TransportError.self) { try await stream.read() }
      #expect(error.code == .protocolViolation)
    }
  }

  @Test("A transport may close its stream itself, and readers get its error too")
  func closingTransport() async throws {
    let (near, _) = MemoryStream.pair()
    let holder = Lock<TransformedStream?>(nil)
    let stream = TransformedStream(near, Closing(stream: holder))
    holder.withLock { $0 = stream }
    let error = try await #require(throws: TransportError.self) { try await stream.write(Data("a".utf8)) }
    #expect(error.code == .protocolViolation)
    holder.withLock { $0 = nil }
    let failing = TransformedStream(MemoryStream.pair().0, Closing(stream: holder))
    _ = try? await failing.write(Data("a".utf8))
    let told = try await #require(throws: TransportError.self) { try await failing.read() }
    #expect(told.code == .protocolViolation)
  }

  @Test("A transport's stream returns no more data once it is closed") func closed() async throws {
    let (near, far) = MemoryStream.pair()
    let stream = TransformedStream(near, SampleMask(cert: "cert"))
    try await far.write(SampleMask.hello + Data("abcdef".utf8))
    #expect(try await stream.read(upTo: 2)?.count == 2)
    stream.close()
    let error = try await #require(throws: TransportError.self) { try await stream.read() }
    #expect(error.code == .streamClosed)
  }

  @Test("TLS that can no longer be added to a connection is refused, not omitted") func tls() async throws {
    let factory = NetworkConnectionFactory(connection: connection()) { SampleMask(cert: "cert") }
    await #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) { try await factory.open(using: .tls) }
    let framed = NetworkConnection(over: connection(), framers: [], using: .tls)
    await #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) { try await framed.start() }
  }

  @Test("Viability is passed on to the layers around a connection", arguments: [false, true])
  func viability(isFramed: Bool) async throws {
    let monitor = FakePathMonitor()
    let parameters = ConnectionParameters.tcp
    parameters.pathMonitor = monitor
    let network = NetworkConnectionFactory(to: SampleNetwork.server, dialer: RecordingDialer())
    let transport = NetworkConnectionFactory(factory: network) { SampleMask(cert: "cert") }
    let inner = try #require((isFramed ? network as any ConnectionFactory : transport).connect(using: parameters))
    let outer = isFramed ? NetworkConnection(over: inner, framers: []) : inner
    let (changes, continuation) = AsyncStream.makeStream(of: Bool.self)
    outer.viabilityUpdateHandler = { continuation.yield($0) }
    try await outer.start()
    await monitor.isWatched(by: 2)
    monitor.tell(false)
    var seen: [Bool] = []
    for await change in changes.prefix(2) { seen.append(change) }
    #expect(seen == [true, false])
    outer.cancel()
  }
}

/// A transform that refuses to let its stream end.
private struct Whole: StreamTransform {
  struct Cut: Error {}

  mutating func outgoing(_ data: Data) -> Data { data }
  mutating func incoming(_ data: Data) -> Data { data }
  mutating func ending() throws -> Data { throw Cut() }
}

/// A transform that closes its stream when data is written, and refuses the data.
private struct Closing: StreamTransform {
  struct Refusal: Error {}

  let stream: Lock<TransformedStream?>

  mutating func outgoing(_ data: Data) throws -> Data {
    stream.withLock { $0 }?.close()
    throw Refusal()
  }

  mutating func incoming(_ data: Data) -> Data { data }
}

/// A connection that implements nothing but receives.
private protocol ReceivingConnection: Connection {}

extension ReceivingConnection {
  var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? {
    get { nil }
    set {}
  }
  var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { nil }
    set {}
  }

  func start(queue: DispatchQueue) {}
  func cancel() {}
  func send(
    content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion
  ) {}
}

/// A connection that completes every receive with a piece of the same length.
private final class PlentifulConnection: ReceivingConnection {
  static let pieceBytes = 65_536

  func receive(
    minimumIncompleteLength: Int, maxLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    completion(Data(count: Self.pieceBytes), .defaultStream, false, nil)
  }
}

/// A connection that completes the first receive when the test provides data, and every other receive at once.
private final class LateConnection: ReceivingConnection {
  private struct State {
    var waiting: (@Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void)?
    var receives = 0
  }

  private let state = Lock(State())
  var receives: Int { state.withLock { $0.receives } }

  func receive(
    minimumIncompleteLength: Int, maxLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    let isFirst = state.withLock { state in
      state.receives += 1
      if state.receives == 1 { state.waiting = completion }
      return state.receives == 1
    }
    if !isFirst { completion(nil, .finalMessage, true, nil) }
  }

  func bring(_ data: Data) {
    let completion = state.withLock { $0.waiting }
    completion?(data, .defaultStream, false, nil)
  }
}
