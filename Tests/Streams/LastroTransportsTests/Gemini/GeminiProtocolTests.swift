// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroGemini
@testable import LastroTransports

@Suite("Gemini as a framer", .timeLimit(.minutes(15)))
struct GeminiProtocolTests {
  struct Outcome: Sendable {
    var header: GeminiResponseHeader?
    var body: Data?
    var error: ConnectionError?
  }

  /// Sends a request, and returns the outcome of receiving the message.
  static func exchange(_ dialer: any Dialer) async throws -> Outcome {
    let connection = NetworkConnection(
      to: .hostPort(host: "capsule.example", port: 1965), using: .gemini, dialer: dialer)
    let request = GeminiRequest(url: try GeminiURL("gemini://capsule.example/"))
    let context = ConnectionContentContext(
      identifier: "GeminiRequest", metadata: [ProtocolFramer.Message(geminiRequest: request)])
    connection.start(queue: DispatchQueue(label: "gemini"))
    connection.send(content: nil, contentContext: context, isComplete: true, completion: .idempotent)
    let outcome = OneAnswer<Outcome>()
    connection.receiveMessage { content, context, _, error in
      let message = context?.protocolMetadata(definition: GeminiProtocol.definition) as? ProtocolFramer.Message
      outcome.give(Outcome(header: message?.geminiResponseHeader, body: content, error: error))
    }
    defer { connection.cancel() }
    return await outcome.value()
  }

  @Test("Parameters with a judge of their own have it, TLS and the framer")
  func soleJudge() {
    let parameters = ConnectionParameters.gemini(soleJudge: ScriptedJudge(accepts: { _ in true }))
    #expect(parameters.tls?.soleJudge is ScriptedJudge)
    #expect(parameters.defaultProtocolStack.applicationProtocols.count == 1)
    let standard = ConnectionParameters.gemini
    #expect(standard.tls != nil && standard.tls?.soleJudge == nil)
  }

  @Test("A header is delivered in every split, including meta and CRLF in separate pieces")
  func everySplit() async throws {
    let bytes = Array("20 text/gemini\r\n# Hello\r\n".utf8)
    for split in 0...bytes.count {
      let dialer = PieceDialer([Array(bytes[..<split]), Array(bytes[split...])])
      let outcome = try await Self.exchange(dialer)
      #expect(outcome.header == GeminiResponseHeader(status: .success, meta: "text/gemini") && outcome.error == nil)
      #expect(outcome.body == Data("# Hello\r\n".utf8), "split at \(split)")
      #expect(dialer.written == Data("gemini://capsule.example/\r\n".utf8))
    }
    let dripping = try await Self.exchange(PieceDialer(bytes.map { [$0] }))
    #expect(dripping.header?.meta == "text/gemini" && dripping.body == Data("# Hello\r\n".utf8))
  }

  @Test("A header other than 2x has no body, whatever follows", arguments: ["51 no\r\nbody", "30 /x\r\n", "60\r\nb"])
  func noBody(text: String) async throws {
    for pieces in [[Array(text.utf8)], Array(text.utf8).map { [$0] }] {
      let outcome = try await Self.exchange(PieceDialer(pieces))
      #expect(outcome.header?.status.rawValue == Int(text.prefix(2)) && outcome.body?.isEmpty != false)
    }
  }

  @Test(
    "A protocol violation fails the connection and never hangs",
    arguments: [
      "", "2", "20 text", "20 text\r", "99 x\r\n", "20x\r\n", "20 x\n",
      "20 " + String(repeating: "x", count: 1025) + "\r\n",
    ])
  func broken(text: String) async throws {
    for pieces in [[Array(text.utf8)], Array(text.utf8).map { [$0] }] {
      let outcome = try await Self.exchange(PieceDialer(pieces))
      #expect(outcome.error != nil && outcome.header == nil, "\(text.prefix(40))")
    }
  }
}

/// A dialer whose stream returns exactly these pieces, one for each read, once a request was written.
private final class PieceDialer: Dialer {
  private let stream: PieceStream

  init(_ pieces: [[UInt8]]) { stream = PieceStream(pieces.filter { !$0.isEmpty }.map { Data($0) }) }

  var written: Data { stream.written }
  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { stream }
}

private final class PieceStream: ByteStream {
  let facts = StreamFacts()
  private let state: Lock<(pieces: [Data], written: Data)>
  private let wasWritten = EventRecorder<String>()

  init(_ pieces: [Data]) { state = Lock((pieces, Data())) }

  var written: Data { state.withLock { $0.written } }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    _ = try? await wasWritten.waitForEvents(count: 1)
    return state.withLock { state in state.pieces.isEmpty ? nil : state.pieces.removeFirst() }
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    state.withLock { $0.written += data }
    wasWritten.record("")
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {}
  func close() { wasWritten.record("") }
}
