// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import LastroTransports
import Testing

@Suite("Framers at the end of a connection", .timeLimit(.minutes(15)))
struct FramerEndTests {
  private func connection(
    _ framers: [any ProtocolOptions], _ dialer: any Dialer, _ change: (ConnectionParameters) -> Void = { _ in }
  ) -> NetworkConnection {
    let parameters = ConnectionParameters.tcp
    parameters.defaultProtocolStack.applicationProtocols = framers
    change(parameters)
    return NetworkConnection(to: .hostPort(host: "host.example", port: 1), using: parameters, dialer: dialer)
  }

  @Test(
    "A message that a framer delivers together with the end is received before it",
    arguments: [Last.Place.input, .wakeup, .output], [false, true])
  func lastMessage(place: Last.Place, fails: Bool) async throws {
    let dialer = MemoryDialer { _, stream in
      if place == .input { try await stream.write(Data("x".utf8)) }
      while try await stream.read() != nil {}
    }
    for (above, bytes) in [([], "last"), ([ProtocolFramer.Options.lines], "last\n")] {
      let connection = connection(above + [Last.options(place, bytes, fails: fails)], dialer)
      try await connection.start()
      if place == .output { connection.send(content: Data("x".utf8), completion: .idempotent) }
      #expect(try await connection.receiveMessage().data == Data("last".utf8))
      if fails {
        await #expect(throws: ConnectionError.posix(.ECONNREFUSED)) { try await connection.receiveMessage() }
      } else {
        #expect(try await endsStream(connection.receiveMessage()))
      }
      connection.cancel()
    }
  }

  @Test("A framer that has finished stopping does not end the others") func stopping() async throws {
    let goodbye = OneAnswer<String>()
    let dialer = MemoryDialer { _, stream in
      var seen = ""
      while let bytes = try await stream.read() { seen += String(decoding: bytes, as: UTF8.self) }
      goodbye.give(seen)
    }
    let connection = connection([Leaving.options(.atOnce), Leaving.options(.later)], dialer) {
      $0.stopTimeout = .seconds(3600)
    }
    try await connection.start()
    connection.cancel()
    #expect(await goodbye.value() == "BYE")
  }

  @Test("A framer of a released connection is cleaned up, though it never stops") func dropped() async throws {
    let isCleanedUp = OneAnswer<Bool>()
    let dialer = MemoryDialer { _, stream in
      try await stream.finishWriting()
      while try await stream.read() != nil {}
    }
    do {
      let connection = connection([Leaving.options(.never, isCleanedUp)], dialer) {
        $0.stopTimeout = .milliseconds(20)
      }
      try await connection.start()
      // From here on, no operation is under way that would retain the connection.
      #expect(try await endsStream(connection.receiveMessage()))
    }
    #expect(await isCleanedUp.value())
  }

  @Test("Passing through begins after the data that is being delivered") func passing() async throws {
    for pieces in feedings("sixsixrest") {
      let got = try await transcript(pieces, [ProtocolFramer.Options(definition: FirstSix.definition)]) { content in
        let message = content.context?.protocolMetadata(definition: FirstSix.definition) as? ProtocolFramer.Message
        return "\(message?["name"] as? String ?? "-") \(String(decoding: content.data, as: UTF8.self))"
      }
      #expect(got == Transcript(messages: ["six sixsix", "- rest"], ending: "end"), "fed as \(pieces.map(\.count))")
    }
  }

  @Test("A clean end stays clean, whatever happens to the pending read") func cleanEnd() async throws {
    let connection = connection([Last.options(.output, fails: false)], ResettingDialer())
    try await connection.start()
    try await connection.send(Data("x".utf8))
    // The read has failed by now. The connection gets a moment to react to that, which it must not do.
    for _ in 0..<100 where connection.state == .ready { try await Task.sleep(for: .milliseconds(1)) }
    #expect(connection.state == .ready)
    #expect(try await connection.receiveMessage().data == Data("last".utf8))
    #expect(try await endsStream(connection.receiveMessage()))
    connection.cancel()
  }
}

/// A framer that delivers a message and ends the connection in the same call.
final class Last: ProtocolFramerImplementation {
  enum Place: Sendable { case input, wakeup, output }

  static let label = "Last"
  static let definition = ProtocolFramer.Definition(implementation: Last.self)
  private let place: Place?
  private let bytes: String
  private let fails: Bool

  static func options(_ place: Place, _ bytes: String = "last", fails: Bool) -> ProtocolFramer.Options {
    var options = ProtocolFramer.Options(definition: definition)
    options["bytes"] = bytes
    options["place"] = place
    options["fails"] = fails
    return options
  }

  init(framer: ProtocolFramer.Instance) {
    let options = framer.options as? ProtocolFramer.Options
    place = options?["place"] as? Place
    bytes = options?["bytes"] as? String ?? ""
    fails = options?["fails"] as? Bool == true
  }

  private func end(_ framer: ProtocolFramer.Instance) {
    let message = ProtocolFramer.Message(instance: framer)
    framer.deliverInput(data: Data(bytes.utf8), message: message, isComplete: true)
    framer.markFailed(error: fails ? .posix(.ECONNREFUSED) : nil)
  }

  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult {
    if place == .wakeup { framer.scheduleWakeup(wakeupTime: .milliseconds(1)) }
    return .ready
  }

  func wakeup(framer: ProtocolFramer.Instance) { end(framer) }

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: 10) { bytes, _ in bytes?.count ?? 0 }
    end(framer)
    return 1
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    try? framer.writeOutputNoCopy(length: messageLength)
    if place == .output { end(framer) }
  }
}

/// A framer that stops at once, after a while, or never.
private final class Leaving: ProtocolFramerImplementation {
  enum Manner: Sendable { case atOnce, later, never }

  static let label = "Leaving"
  static let definition = ProtocolFramer.Definition(implementation: Leaving.self)
  private let manner: Manner?
  private let result: OneAnswer<Bool>?
  private var isCleanedUp = false

  static func options(_ manner: Manner, _ result: OneAnswer<Bool>? = nil) -> ProtocolFramer.Options {
    var options = ProtocolFramer.Options(definition: definition)
    options["manner"] = manner
    options["result"] = result
    return options
  }

  init(framer: ProtocolFramer.Instance) {
    let options = framer.options as? ProtocolFramer.Options
    manner = options?["manner"] as? Manner
    result = options?["result"] as? OneAnswer<Bool>
  }

  deinit { result?.give(isCleanedUp) }

  func stop(framer: ProtocolFramer.Instance) -> Bool {
    switch manner {
    case .atOnce:
      framer.markFailed(error: nil)
      return true
    case .later:
      framer.scheduleWakeup(wakeupTime: .milliseconds(1))
      return false
    case .never, nil: return false
    }
  }

  func wakeup(framer: ProtocolFramer.Instance) {
    framer.writeOutput(data: Data("BYE".utf8))
    framer.markFailed(error: nil)
  }

  func cleanup(framer: ProtocolFramer.Instance) { isCleanedUp = true }

  func handleInput(framer: ProtocolFramer.Instance) -> Int { 1 }
  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) { try? framer.writeOutputNoCopy(length: messageLength) }
}

/// A framer that delivers the first six bytes as a message, even before they have arrived, and lets the rest through.
private final class FirstSix: ProtocolFramerImplementation {
  static let label = "FirstSix"
  static let definition = ProtocolFramer.Definition(implementation: FirstSix.self)
  init(framer: ProtocolFramer.Instance) {}

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    let message = ProtocolFramer.Message(instance: framer)
    message["name"] = "six"
    _ = framer.deliverInputNoCopy(length: 6, message: message, isComplete: true)
    framer.passThroughInput()
    return 0
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {}
}

/// A dialer whose peer responds to the end of our direction with a reset.
private struct ResettingDialer: Dialer {
  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { ResettingStream() }
}

private final class ResettingStream: ByteStream {
  let facts = StreamFacts()
  private let reset = OneAnswer<Void>()

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    await reset.value()
    throw TransportError(stage: .response, code: .connectionLost, message: "reset", requestSent: true)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {}
  func finishWriting(within limit: Duration?) async throws(TransportError) { reset.give(()) }
  func close() { reset.give(()) }
}
