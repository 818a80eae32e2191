// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import LastroTransports
import TestSupport
import Testing

/// Tests that feed every input in one piece, in every split into two, and one byte at a time. The results must be the
/// same.
@Suite("Framers with input in pieces", .timeLimit(.minutes(15)))
struct FramerFeedingTests {
  private func expect(
    _ input: Data, _ framers: [any ProtocolOptions], gives expected: Transcript,
    show: (ReceivedContent) -> String = { String(decoding: $0.data, as: UTF8.self) },
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for pieces in feedings(input) {
      let got = try await transcript(pieces, framers, show: show)
      #expect(got == expected, "fed as \(pieces.map(\.count))", sourceLocation: sourceLocation)
    }
  }

  @Test("Lines are delivered, including an unterminated last one") func lines() async throws {
    try await expect(
      Data("one\n\nthree\nfour".utf8), [.lines],
      gives: Transcript(messages: ["one", "", "three", "four"], ending: "end"))
  }

  @Test("Empty input ends without messages") func nothing() async throws {
    try await expect(Data(), [.lines], gives: Transcript(ending: "end"))
    try await expect(Data(), [.lengthPrefixed], gives: Transcript(ending: "end"))
  }

  @Test("A line over the framer's limit fails the connection and does not spin") func longLine() async throws {
    let line = String(repeating: "x", count: 1030)
    let pieces = [
      [Data(line.utf8)], line.utf8.map { Data([$0]) }, [Data(line.utf8.prefix(1024)), Data("xxxxxx".utf8)],
    ]
    for pieces in pieces {
      let got = try await transcript(pieces, [.lines])
      #expect(got == Transcript(ending: "Lines: protocol_violation"))
    }
  }

  @Test("Length-prefixed messages are delivered, and their metadata is found by definition") func lengthPrefixed()
    async throws
  {
    let input = LengthPrefixed.encoded(["first", "", "third, and longer"])
    try await expect(
      input, [.lengthPrefixed],
      gives: Transcript(messages: ["1: first (5)", "2:  (0)", "3: third, and longer (17)"], ending: "end")
    ) { content in
      let message = content.context?.protocolMetadata(definition: LengthPrefixed.definition) as? ProtocolFramer.Message
      let number = message?["number"] as? Int ?? -1, length = message?["length"] as? Int ?? -1
      return "\(number): \(String(decoding: content.data, as: UTF8.self)) (\(length))"
    }
  }

  @Test("A stream that ends within a message, or within its length, fails") func truncated() async throws {
    let whole = LengthPrefixed.encoded(["first", "second"])
    try await expect(
      whole.dropLast(2), [.lengthPrefixed],
      gives: Transcript(messages: ["first"], ending: "LengthPrefixed: truncated_stream"))
    try await expect(
      LengthPrefixed.encoded(["first"]) + [0], [.lengthPrefixed],
      gives: Transcript(messages: ["first"], ending: "LengthPrefixed: truncated_stream"))
  }

  @Test("Two stacked framers deliver lines within messages, with the metadata of both") func stacked() async throws {
    let input = LengthPrefixed.encoded(["on", "e\ntwo\nthr", "ee\n"])
    try await expect(
      input, [.lines, .lengthPrefixed], gives: Transcript(messages: ["one", "two", "three"], ending: "end")
    ) { content in
      guard content.context?.protocolMetadata(definition: Lines.definition) != nil,
        content.context?.protocolMetadata(definition: LengthPrefixed.definition) != nil
      else { return "metadata is missing" }
      return String(decoding: content.data, as: UTF8.self)
    }
  }

  @Test("After a handshake lines are delivered, and the framer above starts when it is done") func handshake()
    async throws
  {
    try await expect(
      Data("WELCOME\none\ntwo\n".utf8), [.lines, Greeting.options()],
      gives: Transcript(messages: ["one", "two"], ending: "end"))
  }

  @Test("A handshake that is refused, and one that is cut off, fail") func badHandshake() async throws {
    try await expect(
      Data("GOAWAY!\none\n".utf8), [.lines, Greeting.options()],
      gives: Transcript(ending: "\(ConnectionError.posix(.ECONNREFUSED))"))
    for pieces in feedings("WELCOM") {
      let got = try await transcript(pieces, [.lines, Greeting.options()])
      #expect(got.ending == "Greeting: truncated_stream")
    }
  }

  @Test("A framer can be inserted by another, as the handshake requires") func negotiated() async throws {
    let negotiator = ProtocolFramer.Options(definition: Negotiator.definition)
    try await expect(
      Data("L\none\ntwo".utf8), [negotiator], gives: Transcript(messages: ["one", "two"], ending: "end"))
    try await expect(
      Data("P\n".utf8) + LengthPrefixed.encoded(["one", "two"]), [negotiator],
      gives: Transcript(messages: ["one", "two"], ending: "end"))
  }

  private func showHeader(_ definition: ProtocolDefinition) -> (ReceivedContent) -> String {
    { content in
      let message = content.context?.protocolMetadata(definition: definition) as? ProtocolFramer.Message
      guard let header = message?.articleHeader else { return "no header" }
      return "\(header.status) \(header.meta): \(String(decoding: content.data, as: UTF8.self))"
    }
  }

  /// The meta string is eleven bytes long, and its CRLF may arrive separately: that hung on Network framework.
  @Test("The article's Gemini framer works in every split, with the retry that hung") func article() async throws {
    try await expect(
      Data("20 text/gemini\r\n# Hello\r\n".utf8), [ProtocolFramer.Options(definition: ArticleGemini.definition)],
      gives: Transcript(messages: ["20 text/gemini: # Hello\r\n"], ending: "end"),
      show: showHeader(ArticleGemini.definition))
    try await expect(
      Data("20 \r\n".utf8), [ProtocolFramer.Options(definition: ArticleGemini.definition)],
      gives: Transcript(messages: ["20 : "], ending: "end"), show: showHeader(ArticleGemini.definition))
  }

  @Test("The Gemini framer works with the second article's repair") func repaired() async throws {
    try await expect(
      Data("20 text/gemini\r\n# Hello\r\n".utf8), [ProtocolFramer.Options(definition: RepairedGemini.definition)],
      gives: Transcript(messages: ["20 text/gemini: # Hello\r\n"], ending: "end"),
      show: showHeader(RepairedGemini.definition))
  }

  @Test("Both Gemini framers: a header without body is delivered; one that is cut off fails", arguments: [true, false])
  func header(isArticle: Bool) async throws {
    let definition = isArticle ? ArticleGemini.definition : RepairedGemini.definition
    for pieces in feedings("51 Not found\r\n") {
      let got = try await transcript(
        pieces, [ProtocolFramer.Options(definition: definition)], show: showHeader(definition))
      #expect(got.messages.first == "51 Not found: ")
      #expect(got.ending == "end")
    }
    for pieces in feedings("20 text/gemini\r") {
      let got = try await transcript(
        pieces, [ProtocolFramer.Options(definition: definition)], show: showHeader(definition))
      #expect(got == Transcript(ending: "\(definition.name): truncated_stream"))
    }
  }
}

/// A stream whose reads return exactly the pieces that it was made of, followed by the end.
final class ScriptedStream: ByteStream {
  private struct State {
    var pieces: [Data]
    var written: [UInt8] = []
  }

  let facts = StreamFacts()
  private let state: Lock<State>

  init(_ pieces: [Data]) { state = Lock(State(pieces: pieces.filter { !$0.isEmpty })) }

  var written: String { state.withLock { String(decoding: $0.written, as: UTF8.self) } }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    state.withLock { $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    state.withLock { $0.written += data }
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    state.withLock { $0.written += Array("<end>".utf8) }
  }

  func close() {}
}

/// Returns the input in one piece, in every split into two, and one byte at a time.
func feedings(_ input: String) -> [[Data]] { feedings(Data(input.utf8)) }

func feedings(_ input: Data) -> [[Data]] {
  let splits = (0..<max(1, input.count)).map { [Data(input.prefix($0)), Data(input.dropFirst($0))] }
  return splits + [input.map { Data([$0]) }]
}

/// The messages and the end of a connection, as an application sees them.
struct Transcript: Equatable, CustomStringConvertible {
  var messages: [String] = []
  var ending = ""

  var description: String { "\(messages) \(ending)" }
}

/// Receives all messages of one feeding.
///
/// - Parameter show: returns the text that represents a message.
func transcript(
  _ pieces: [Data], _ framers: [any ProtocolOptions],
  show: (ReceivedContent) -> String = { String(decoding: $0.data, as: UTF8.self) }
) async throws -> Transcript {
  let parameters = ConnectionParameters.tcp
  parameters.defaultProtocolStack.applicationProtocols = framers
  let connection = NetworkConnection(
    to: .hostPort(host: "host.example", port: 1), using: parameters,
    dialer: GivenStreamDialer(ScriptedStream(pieces)))
  defer { connection.cancel() }
  var transcript = Transcript()
  connection.start(queue: .global())
  do {
    while true {
      let content = try await connection.receiveMessage()
      if endsStream(content) {
        transcript.ending = "end"
        return transcript
      }
      transcript.messages.append(show(content) + (content.isComplete ? "" : "…"))
    }
  } catch ConnectionError.framer(let failure) {
    // If the framer asks byte by byte, the number of available bytes depends on the feeding, so it is not compared.
    transcript.ending = "\(failure.label): \(failure.code)"
  } catch {
    transcript.ending = "\(error)"
  }
  return transcript
}
