// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import Testing

@Suite("Network connections", .timeLimit(.minutes(15)))
struct NetworkConnectionTests {
  private static let place: ConnectionEndpoint = .hostPort(host: "host.example", port: 7)

  private func connection(
    _ dialer: any Dialer, to endpoint: ConnectionEndpoint = Self.place, using parameters: ConnectionParameters = .tcp
  ) -> NetworkConnection { NetworkConnection(to: endpoint, using: parameters, dialer: dialer) }

  @Test("Endpoint and parameters reach the dialer") func request() async throws {
    let parameters = ConnectionParameters.tls
    parameters.tls?.serverName = "name.example"
    parameters.tls?.applicationProtocols = ["x"]
    parameters.connectTimeout = .seconds(77)
    let dialer = RecordingDialer()
    let endpoints: [(ConnectionEndpoint, String, Int)] = [
      (.hostPort(host: "Host.Example.", port: 7), "host.example", 7), (.hostPort(host: "[::1]", port: 8), "::1", 8),
      (.hostPort(host: "192.0.2.1", port: 9), "192.0.2.1", 9),
      (.url(try #require(URL(string: "wss://host.example/path"))), "host.example", 443),
    ]
    for (endpoint, host, port) in endpoints {
      let connection = connection(dialer, to: endpoint, using: parameters)
      try await connection.start()
      let request = try #require(dialer.requests.last)
      #expect(request.host == host && request.port == port)
      #expect(request.tls?.serverName == "name.example")
      #expect(request.tls?.applicationProtocols == ["x"])
      #expect(request.connectTimeout == .seconds(77))
      connection.cancel()
    }
    let unix = connection(dialer, to: .unix(path: "/tmp/socket"))
    try await unix.start()
    #expect(dialer.requests.last?.connection?.unixSocketPath == "/tmp/socket")
    unix.cancel()
  }

  @Test("An invalid host, port or address fails and is not dialed") func badEndpoints() async throws {
    let dialer = RecordingDialer()
    let service = ConnectionEndpoint.service(name: "a", type: "_b._tcp", domain: "local")
    for (endpoint, code) in [
      (service, FailureCode.unsupported), (.hostPort(host: "no host", port: 1), .invalidOption),
      (.hostPort(host: "a", port: 0), .invalidOption),
    ] {
      do {
        try await connection(dialer, to: endpoint).start()
        Issue.record("\(endpoint) was accepted")
      } catch {
        #expect(error.cause?.code == code, "\(endpoint)")
        #expect(error.cause?.hint != nil)
      }
    }
    #expect(dialer.requests.isEmpty)
  }

  @Test("A transport's server address is IPv4, IPv6 or a name") func serverAddress() throws {
    #expect(try ConnectionEndpoint.hostPort(host: "a.example", port: 1).serverAddress() == ("a.example", 1))
    #expect(try ConnectionEndpoint.hostPort(host: "::1", port: 1).serverAddress() == ("::1", 1))
    for endpoint in [ConnectionEndpoint.unix(path: "/x"), .service(name: "", type: "", domain: "")] {
      #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) { try endpoint.serverAddress() }
    }
    #expect(ConnectionEndpoint.hostPort(host: "::1", port: 80).description == "[::1]:80")
    #expect(ConnectionEndpoint.Host("1.2.3.4") == .ipv4(try #require(ConnectionEndpoint.IPv4Address("1.2.3.4"))))
    #expect(ConnectionEndpoint.IPv6Address("fe80::1%eth0")?.zone == "eth0")
    #expect(ConnectionEndpoint.Port("99999") == nil)
  }

  @Test("A failed dial is reported once with its errno, and only a cancellation follows") func dialFails()
    async throws
  {
    var error = TransportError(stage: .connect, code: .connectFailed, message: "refused")
    error.systemCode = ConnectionError.Code.ECONNREFUSED.rawValue
    let connection = connection(RecordingDialer(error: error))
    let states = connection.states
    connection.start(queue: .global())
    await #expect(throws: ConnectionError.posix(.ECONNREFUSED)) { try await connection.receive() }
    await #expect(throws: ConnectionError.posix(.ECONNREFUSED)) { try await connection.send(Data("x".utf8)) }
    connection.cancel()
    var seen: [ConnectionState] = []
    for await state in states { seen.append(state) }
    #expect(seen == [.preparing, .failed(.posix(.ECONNREFUSED)), .cancelled])
  }

  @Test("Errors are classified by their code") func errors() {
    let name = TransportError(stage: .resolve, code: .hostNotFound, message: "no such host")
    #expect(ConnectionError(name).errorDomain == "LastroConnectionError.dns")
    let pin = TransportError(stage: .trust, code: .pinMismatch, message: "pin", engineCode: 60)
    #expect(ConnectionError(pin) == .tls(60))
    #expect(ConnectionError(pin).transportError.code == .pinMismatch)
    let late = TransportError(stage: .timeout, code: .connectTimeout, message: "late")
    #expect(ConnectionError(late) == .posix(.ETIMEDOUT))
    #expect(ConnectionError(late).errorDomain == "NSPOSIXErrorDomain")
    #expect(ConnectionError.posix(.ECANCELED).transportError.code == .cancelled)
    #expect(ConnectionError(.cancelled()).isCancellation)
  }

  @Test("Data before a truncation can be received, and then the truncation is reported") func truncation() async throws
  {
    let dialer = MemoryDialer { _, stream in
      try await stream.write(Data("bytes".utf8))
      stream.truncate()
    }
    let connection = connection(dialer)
    connection.start(queue: .global())
    let first = try await connection.receive(minimum: 100, maximum: 1000)
    #expect(first.data == Data("bytes".utf8))
    #expect(!first.isComplete)
    do {
      _ = try await connection.receive()
      Issue.record("the cut was not reported")
    } catch {
      #expect(error.cause?.code == .truncatedStream)
    }
    connection.cancel()
  }

  @Test("Datagrams are messages, including empty ones, and one that is too large fails alone") func datagrams()
    async throws
  {
    let parameters = ConnectionParameters.udp
    let connection = connection(RecordingDialer(), using: parameters)
    try await connection.start()
    for text in ["one", "", "three"] { try await connection.send(Data(text.utf8)) }
    await #expect(throws: ConnectionError.transport(.refused(.invalidOption, ""))) {
      try await connection.send(Data(count: 70_000))
    }
    for text in ["one", "", "three"] {
      let content = try await connection.receiveMessage()
      #expect(content.data == Data(text.utf8) && content.isComplete && !endsStream(content))
    }
    try await connection.send(Data("pieces".utf8))
    let piece = try await connection.receive(minimum: 1, maximum: 4)
    #expect(piece.data == Data("piec".utf8) && !piece.isComplete)
    #expect(try await connection.receive(minimum: 4, maximum: 4).data == Data("es".utf8))
    connection.cancel()
    parameters.tls = DialRequest.TLS()
    await #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) {
      try await NetworkConnectionTests().connection(RecordingDialer(), using: parameters).start()
    }
  }

  @Test("Viability follows the network, and ends with the connection") func viability() async throws {
    let monitor = FakePathMonitor()
    let parameters = ConnectionParameters.tcp
    parameters.pathMonitor = monitor
    let connection = connection(RecordingDialer(), using: parameters)
    let (changes, continuation) = AsyncStream.makeStream(of: Bool.self)
    connection.viabilityUpdateHandler = { continuation.yield($0) }
    try await connection.start()
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next() == true)
    await monitor.isWatched(by: 1)
    monitor.tell(false)
    monitor.tell(false)
    #expect(await iterator.next() == false)
    monitor.tell(true)
    #expect(await iterator.next() == true)
    #expect(connection.state == .ready)
    let states = connection.states
    connection.cancel()
    for await _ in states {}
    #expect(monitor.isWatched == false)
  }

  @Test("Data beyond the limit is not queued for sending") func sendLimit() async throws {
    let parameters = ConnectionParameters.tcp
    parameters.maximumQueuedBytes = 100
    let dialer = MemoryDialer(shape: MemoryStream.Shape(capacity: 1)) { _, stream in
      while !Task.isCancelled { try await Task.sleep(for: .seconds(3600)) }
    }
    let connection = connection(dialer, using: parameters)
    try await connection.start()
    let first = OneAnswer<ConnectionError?>(), second = OneAnswer<ConnectionError?>()
    connection.send(content: Data(count: 1000), completion: .contentProcessed { first.give($0) })
    connection.send(content: Data(count: 1), completion: .contentProcessed { second.give($0) })
    #expect(await second.value() == .posix(.ENOBUFS))
    connection.cancel()
    #expect(await first.value() == .posix(.ECANCELED))
  }

  @Test("A connection that is released is cancelled") func dropped() async throws {
    let ended = OneAnswer<Bool>()
    let dialer = MemoryDialer { _, stream in
      while try await stream.read() != nil {}
      ended.give(true)
    }
    do {
      let connection = connection(dialer)
      try await connection.start()
    }
    #expect(await ended.value())
  }

  @Test("Handlers run one at a time, also on a concurrent queue") func concurrentQueue() async throws {
    let dialer = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
    let connection = connection(dialer)
    let numbers = Lock<[Int]>([])
    let last = OneAnswer<Void>()
    connection.start(queue: DispatchQueue(label: "concurrent", attributes: .concurrent))
    for number in 0..<200 {
      connection.send(
        content: Data("x".utf8),
        completion: .contentProcessed { _ in
          numbers.withLock { $0.append(number) }
          if number == 199 { last.give(()) }
        })
    }
    await last.value()
    #expect(numbers.withLock { $0 } == Array(0..<200))
    connection.cancel()
  }

  @Test("A cancelled task ends an async receive") func cancelledTask() async throws {
    let dialer = MemoryDialer { _, stream in while try await stream.read() != nil {} }
    let connection = connection(dialer)
    try await connection.start()
    let task = Task { () -> ConnectionError? in
      do throws(ConnectionError) {
        _ = try await connection.receive()
        return nil
      } catch {
        return error
      }
    }
    task.cancel()
    #expect(await task.value == .posix(.ECANCELED))
  }
}

/// A dialer that records its requests. Its streams lead to no server, and its datagrams are sent back.
final class RecordingDialer: Dialer {
  private let kept = Lock<[DialRequest]>([])
  private let ends = Lock<[MemoryStream]>([])
  private let error: TransportError?

  init(error: TransportError? = nil) { self.error = error }

  var requests: [DialRequest] { kept.withLock { $0 } }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    kept.withLock { $0.append(request) }
    if let error { throw error }
    let (near, far) = MemoryStream.pair()
    ends.withLock { $0.append(far) }
    return near
  }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    kept.withLock { $0.append(request) }
    return DatagramMirror()
  }
}

/// A datagram stream that sends every datagram back.
private final class DatagramMirror: DatagramStream {
  let facts = StreamFacts()
  let maximumDatagramBytes = 65_507
  private let continuation: AsyncStream<Data>.Continuation
  private let iterator: Lock<AsyncStream<Data>>

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
    self.continuation = continuation
    iterator = Lock(stream)
  }

  func receive(within limit: Duration?) async throws(TransportError) -> Data {
    var iterator = iterator.withLock { $0 }.makeAsyncIterator()
    guard let datagram = await iterator.next() else {
      throw TransportError(stage: .request, code: .streamClosed, message: "closed")
    }
    return datagram
  }

  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError) {
    guard datagram.count <= maximumDatagramBytes else { throw .refused(.invalidOption, "too large") }
    continuation.yield(datagram)
  }

  func close() { continuation.finish() }
}

/// A path monitor that reports the state that the test sets to all watchers.
final class FakePathMonitor: NetworkPathMonitor {
  private struct State {
    var handlers: [Int: @Sendable (Bool) -> Void] = [:]
    var watches = 0
    var waiters: [(Int, OneAnswer<Void>)] = []
  }

  private let state = Lock(State())

  var isWatched: Bool { state.withLock { !$0.handlers.isEmpty } }

  func watch(_ facts: StreamFacts, _ handler: @escaping @Sendable (Bool) -> Void) -> (any Cancelable)? {
    let (number, met) = state.withLock { state in
      state.watches += 1
      state.handlers[state.watches] = handler
      return (state.watches, state.waiters.filter { $0.0 <= state.watches })
    }
    for (_, shot) in met { shot.give(()) }
    return Watch(self, number)
  }

  /// Waits until `count` watches have begun.
  func isWatched(by count: Int) async {
    let shot = OneAnswer<Void>()
    let isMet = state.withLock { state in
      state.waiters.append((count, shot))
      return state.watches >= count
    }
    if isMet { shot.give(()) }
    await shot.value()
  }

  func tell(_ isViable: Bool) {
    for handler in state.withLock({ $0.handlers }).values { handler(isViable) }
  }

  private final class Watch: Cancelable {
    private let monitor: FakePathMonitor
    private let number: Int

    init(_ monitor: FakePathMonitor, _ number: Int) {
      self.monitor = monitor
      self.number = number
    }

    var isCancelled: Bool { monitor.state.withLock { $0.handlers[number] == nil } }
    func cancel() { _ = monitor.state.withLock { $0.handlers.removeValue(forKey: number) } }
  }
}
