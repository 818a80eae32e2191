// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroGemini
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import Logging
import TestSupport
import Testing

@Suite("Framers of a connection", .timeLimit(.minutes(15)))
struct FramerTests {
  private static let place: ConnectionEndpoint = .hostPort(host: "host.example", port: 1)

  private func connection(
    _ framers: [any ProtocolOptions], _ dialer: any Dialer, _ change: (ConnectionParameters) -> Void = { _ in }
  ) -> NetworkConnection {
    let parameters = ConnectionParameters.tcp
    parameters.defaultProtocolStack.applicationProtocols = framers
    change(parameters)
    return NetworkConnection(to: Self.place, using: parameters, dialer: dialer)
  }

  @Test("Sent data is framed, and the final message ends the stream") func output() async throws {
    let stream = ScriptedStream([])
    let connection = connection([.lines, .lengthPrefixed], GivenStreamDialer(stream))
    try await connection.start()
    try await connection.send(Data("ab".utf8), isComplete: false)
    try await connection.send(Data("c".utf8))
    try await connection.send(Data("d".utf8), contentContext: .finalMessage)
    // Each piece is a message to the framer below.
    #expect(stream.written == "\u{0}\u{2}ab\u{0}\u{2}c\n\u{0}\u{2}d\n<end>")
    connection.cancel()
  }

  @Test("An end without content is not a message") func end() async throws {
    let stream = ScriptedStream([])
    let connection = connection([.lengthPrefixed], GivenStreamDialer(stream))
    try await connection.start()
    try await connection.send(nil, contentContext: .finalMessage)
    #expect(stream.written == "<end>")
    await #expect(throws: ConnectionError.posix(.EPIPE)) { try await connection.send(Data("x".utf8)) }
    connection.cancel()
  }

  @Test("The article's request is sent from its metadata, without content") func article() async throws {
    let stream = ScriptedStream([])
    let connection = connection(
      [ProtocolFramer.Options(definition: ArticleGemini.definition)], GivenStreamDialer(stream))
    try await connection.start()
    let message = ProtocolFramer.Message(articleRequest: "gemini://a/", definition: ArticleGemini.definition)
    let context = ConnectionContentContext(identifier: "GeminiRequest", metadata: [message])
    try await connection.send(nil, contentContext: context)
    #expect(stream.written == "gemini://a/\r\n")
    connection.cancel()
  }

  @Test("Bytes that a framer does not accept fail the send, and nothing else") func unconsumed() async throws {
    let stream = ScriptedStream([])
    let connection = connection([Selfish.options(.takesNothing)], GivenStreamDialer(stream))
    try await connection.start()
    for _ in 0..<2 {
      await #expect(
        throws: ConnectionError.framer(.init(label: "Selfish", reason: .unconsumedOutput(bytes: 3)))
      ) { try await connection.send(Data("abc".utf8)) }
    }
    #expect(connection.state == .ready)
    connection.cancel()
  }

  @Test(
    "A framer that spins, hangs or misreports ends the connection",
    arguments: [
      (Selfish.Vice.asksForWhatIsThere, ProtocolFramer.Failure.Reason.noProgress(needed: 1, available: 3)),
      (.asksForTooMuch, .needTooLarge(needed: 70_000, limit: 65_536)),
      (.consumesTooMuch, .invalidLength(4)), (.consumesLess, .invalidLength(-1)),
      (.deliversLess, .invalidLength(-5)),
    ])
  func vices(vice: Selfish.Vice, reason: ProtocolFramer.Failure.Reason) async throws {
    let connection = connection([Selfish.options(vice)], GivenStreamDialer(ScriptedStream([Data("abc".utf8)]))) {
      $0.maximumFramerBytes = 65_536
    }
    connection.start(queue: .global())
    await #expect(throws: ConnectionError.framer(.init(label: "Selfish", reason: reason))) {
      try await connection.receiveMessage()
    }
    connection.cancel()
  }

  @Test("A handshake is woken up and waits for the reply to that") func wakeup() async throws {
    let dialer = MemoryDialer { _, stream in
      var seen = ""
      while !seen.hasSuffix("AGAIN\n"), let bytes = try await stream.read() {
        seen += String(decoding: bytes, as: UTF8.self)
      }
      try await stream.write(Data("WELCOME\n".utf8))
      try await ConnectionConformance.echo(stream)
    }
    let journal = Greeting.Journal()
    let connection = connection([.lines, Greeting.options(patience: 1, journal: journal)], dialer)
    try await connection.start()
    try await connection.send(Data("line".utf8))
    #expect(try await connection.receiveMessage().data == Data("line".utf8))
    let states = connection.states
    connection.cancel()
    for await _ in states {}
    #expect(journal.all == ["start", "wakeup", "stop", "cleanup"])
  }

  @Test("A handshake without a reply times out") func lateHandshake() async throws {
    let dialer = MemoryDialer { _, stream in while try await stream.read() != nil {} }
    let connection = connection([Greeting.options()], dialer) { $0.connectTimeout = .milliseconds(50) }
    await #expect(throws: ConnectionError.posix(.ETIMEDOUT)) { try await connection.start() }
  }

  @Test(
    "On cancel framers write their last data, and one that never finishes is not waited for", arguments: [false, true])
  func stop(waits: Bool) async throws {
    let goodbye = OneAnswer<Void>(), all = OneAnswer<String>()
    let dialer = MemoryDialer { _, stream in
      try await stream.write(Data("WELCOME\n".utf8))
      var seen = ""
      while let bytes = try await stream.read() {
        seen += String(decoding: bytes, as: UTF8.self)
        if seen.hasSuffix("BYE\n") { goodbye.give(()) }
      }
      all.give(seen)
    }
    let clock = ManualClock()
    let journal = Greeting.Journal()
    let connection = connection([Greeting.options(journal: journal, waitsInStop: waits)], dialer) {
      $0.time = clock.timeSource
    }
    try await connection.start()
    let states = connection.states
    connection.cancel()
    await goodbye.value()
    // A framer that does not delay its stop needs no time.
    await clock.moving(by: waits ? .seconds(1) : .zero) { for await _ in states {} }
    #expect(await all.value() == "HELLO\nBYE\n")
    #expect(journal.all == ["start", "stop", "cleanup"])
  }

  @Test("Framers can run on another connection") func around() async throws {
    let dialer = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
    let inner = NetworkConnection(to: Self.place, using: .tcp, dialer: dialer)
    let connection = NetworkConnection(over: inner, framers: [.lines, .lengthPrefixed])
    try await connection.start()
    try await connection.send(Data("one".utf8))
    try await connection.send(Data("two".utf8))
    #expect(try await connection.receiveMessage().data == Data("one".utf8))
    #expect(try await connection.receiveMessage().data == Data("two".utf8))
    let states = inner.states
    connection.cancel()
    for await _ in states {}
    #expect(inner.state == .cancelled)
  }

  @Test("Without a receiver a bounded amount is read") func backPressure() async throws {
    let written = Lock(0)
    let full = OneAnswer<Void>()
    let dialer = MemoryDialer(shape: MemoryStream.Shape(capacity: 10_000)) { _, stream in
      let message = LengthPrefixed.encoded([String(repeating: "x", count: 1000)])
      do {
        while true {
          try await stream.write(message, within: .seconds(1))
          written.withLock { $0 += message.count }
        }
      } catch { full.give(()) }
    }
    let connection = connection([.lengthPrefixed], dialer)
    try await connection.start()
    await full.value()
    #expect(written.withLock { $0 } < 300_000)
    #expect(try await connection.receiveMessage().data.count == 1000)
    connection.cancel()
  }

  @Test("A message longer than the limit fails with EMSGSIZE, and can be received in pieces") func longMessage()
    async throws
  {
    let input = LengthPrefixed.encoded(["0123456789abcdef", "next"])
    let connection = connection([.lengthPrefixed], GivenStreamDialer(ScriptedStream([input]))) {
      $0.maximumMessageBytes = 8
    }
    connection.start(queue: .global())
    await #expect(throws: ConnectionError.posix(.EMSGSIZE)) { try await connection.receiveMessage() }
    let first = try await connection.receive(minimum: 8, maximum: 8)
    #expect(first.data == Data("01234567".utf8) && !first.isComplete)
    let rest = try await connection.receive(minimum: 8, maximum: 100)
    #expect(rest.data == Data("89abcdef".utf8) && rest.isComplete)
    #expect(try await connection.receiveMessage().data == Data("next".utf8))
    connection.cancel()
  }

  @Test("Options of no framer, and framers over datagrams, are refused") func refused() async throws {
    struct NoFramer: ProtocolOptions {
      static let shared = ProtocolDefinition(name: "nothing")
      var definition: ProtocolDefinition { Self.shared }
    }
    let stream = GivenStreamDialer(ScriptedStream([]))
    await #expect(throws: ConnectionError.framer(.init(label: "nothing", reason: .notAFramer))) {
      try await connection([NoFramer()], stream).start()
    }
    let datagrams = connection([.lines], stream) { $0.defaultProtocolStack.transportProtocol = .udp }
    await #expect(throws: ConnectionError.transport(.refused(.unsupported, ""))) { try await datagrams.start() }
  }

  @Test("A cancelled connection releases dialer, framers and everything they hold", arguments: [true, false])
  func release(isCancelled: Bool) async throws {
    let framerGone = OneAnswer<Bool>(), dialerGone = OneAnswer<Bool>()
    do {
      var options = ProtocolFramer.Options(definition: Keeper.definition)
      options["gone"] = framerGone
      let connection = connection([options], HeldDialer(dialerGone))
      connection.stateUpdateHandler = { [weak connection] _ in _ = connection?.state }
      try await connection.start()
      connection.receiveMessage { _, _, _, _ in }
      // The handler retains the connection, and only a cancel releases it.
      if isCancelled {
        connection.stateUpdateHandler = { _ in withExtendedLifetime(connection) {} }
        connection.cancel()
      }
    }
    #expect(await framerGone.value())
    #expect(await dialerGone.value())
  }

  @Test("Trace logs name the label, and the needed and available bytes") func logs() async throws {
    let lines = Lock<[String]>([])
    var logger = Logger(label: "test") { _ in LineHandler(lines: lines) }
    logger.logLevel = .trace
    let connection = connection([.lengthPrefixed], GivenStreamDialer(ScriptedStream([Data([0])]))) {
      $0.logger = logger
    }
    connection.start(queue: .global())
    _ = try? await connection.receiveMessage()
    #expect(lines.withLock { $0 }.contains("framer waits for input LengthPrefixed 2 1"))
    connection.cancel()
  }
}

/// A framer that makes one mistake.
final class Selfish: ProtocolFramerImplementation {
  enum Vice: Sendable {
    case takesNothing, asksForWhatIsThere, asksForTooMuch, consumesTooMuch, consumesLess, deliversLess
  }

  static let label = "Selfish"
  static let definition = ProtocolFramer.Definition(implementation: Selfish.self)
  private let vice: Vice?

  static func options(_ vice: Vice) -> ProtocolFramer.Options {
    var options = ProtocolFramer.Options(definition: definition)
    options["vice"] = vice
    return options
  }

  init(framer: ProtocolFramer.Instance) {
    vice = (framer.options as? ProtocolFramer.Options)?["vice"] as? Vice
  }

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    switch vice {
    case .asksForTooMuch: return 70_000
    case .consumesTooMuch, .consumesLess:
      _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: 10) { bytes, _ in
        vice == .consumesLess ? -1 : (bytes?.count ?? 0) + 1
      }
      return 10
    case .deliversLess:
      _ = framer.deliverInputNoCopy(length: -5, message: ProtocolFramer.Message(instance: framer), isComplete: true)
      return 10
    case .takesNothing, .asksForWhatIsThere, nil: return 1
    }
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {}
}

/// A framer that retains its instance, which retains the framer.
private final class Keeper: ProtocolFramerImplementation {
  static let label = "Keeper"
  static let definition = ProtocolFramer.Definition(implementation: Keeper.self)
  private let instance: ProtocolFramer.Instance
  private let gone: OneAnswer<Bool>?

  init(framer: ProtocolFramer.Instance) {
    instance = framer
    gone = (framer.options as? ProtocolFramer.Options)?["gone"] as? OneAnswer<Bool>
  }

  deinit { gone?.give(true) }

  func handleInput(framer: ProtocolFramer.Instance) -> Int { 1 }
  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {}
}

/// A dialer that reports when its last reference is released. Its streams stay open and silent.
private final class HeldDialer: Dialer {
  private let gone: OneAnswer<Bool>
  private let far = Lock<MemoryStream?>(nil)

  init(_ gone: OneAnswer<Bool>) { self.gone = gone }

  deinit { gone.give(true) }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let (near, far) = MemoryStream.pair()
    self.far.withLock { $0 = far }
    return near
  }
}

/// A log handler that records the lines that framers log.
private struct LineHandler: LogHandler {
  let lines: Lock<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let values = ["label", "needed", "available"].compactMap { event.metadata?[$0].map { "\($0)" } }
    lines.withLock { $0.append("\(event.message) \(values.joined(separator: " "))") }
  }
}
