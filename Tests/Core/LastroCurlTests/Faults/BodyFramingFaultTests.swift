// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Bodies that end too early or too late, or whose end is unclear.
@Suite("Faults: body framing", .overEachLink, .timeLimit(.minutes(15)))
struct BodyFramingFaultTests {
  private static let ok = "HTTP/1.1 200 OK\r\n"
  private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
  private static let truncated = Outcome.failed("response/truncated_body")
  private static let malformed = Outcome.failed("response/malformed_response")

  static let truncations = [
    Fault("Content-Length, half a body", ok + "Content-Length: 10\r\n\r\nhalf", truncated),
    Fault("Content-Length, no body", ok + "Content-Length: 10\r\n\r\n", truncated),
    Fault("chunked, no last chunk", chunked + "4\r\nhalf\r\n", truncated),
    Fault("chunked, within a chunk", chunked + "a\r\nhalf", truncated),
    Fault("chunked, within a size", chunked + "4", truncated),
    Fault("chunked, before the first size", chunked, truncated),
    Fault("chunked, after the last chunk's size", chunked + "4\r\nhalf\r\n0\r\n", truncated),
    Fault("chunked, within the trailers", chunked + "4\r\nhalf\r\n0\r\nX: y\r\n", truncated),
    // A body that breaks off does not hide the status.
    Fault("503, half a body", "HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nhalf", .answered(503, "half")),
  ]

  static let excesses = [
    Fault("more than Content-Length", ok + "Content-Length: 4\r\n\r\nbodyEXTRA", .answered(200, "body"), closes: false),
    Fault(
      "a second answer after the first",
      ok + "Content-Length: 4\r\n\r\nbody" + ok + "Content-Length: 4\r\n\r\nevil", .answered(200, "body"), closes: false
    ),
    Fault(
      "more than the chunks", chunked + "4\r\nbody\r\n0\r\n\r\nEXTRA", .answered(200, "body"), closes: false),
    Fault("204 with a body", "HTTP/1.1 204 No Content\r\n\r\nbody", .answered(204, ""), closes: false),
    Fault(
      "204 with Content-Length and a body", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody",
      .answered(204, ""),
      closes: false),
    Fault(
      "304 with a body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nbody", .answered(304, ""), closes: false
    ),
    Fault(
      "HEAD with a body", ok + "Content-Length: 4\r\n\r\nbody", .answered(200, ""), method: .head, closes: false),
    Fault(
      "HEAD with chunks", chunked + "4\r\nbody\r\n0\r\n\r\n", .answered(200, ""), method: .head, closes: false),
    Fault("Content-Length 0 with a body", ok + "Content-Length: 0\r\n\r\nbody", .answered(200, ""), closes: false),
  ]

  static let badChunks = [
    Fault("no hexadecimal size", chunked + "zz\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("an empty size", chunked + "\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a negative size", chunked + "-4\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a size of 17 digits", chunked + "10000000000000000\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a size beyond 63 bits", chunked + "ffffffffffffffff\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a chunk longer than its size", chunked + "2\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a chunk extension", chunked + "4;name=value\r\nbody\r\n0\r\n\r\n", .answered(200, "body")),
    Fault("two sizes", chunked + "4 4\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a form feed after the size", chunked + "4\u{C}\r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a space after the size", chunked + "4 \r\nbody\r\n0\r\n\r\n", malformed),
    Fault("a field after the last size", chunked + "4\r\nbody\r\n0Location: /x\r\n\r\n", malformed),
    Fault("LF after a size", chunked + "4\nbody\r\n0\r\n\r\n", malformed),
    Fault("LF after the data", chunked + "4\r\nbody\n0\r\n\r\n", malformed),
    Fault("CR after the data", chunked + "4\r\nbody\r0\r\n\r\n", malformed),
    Fault(
      "an extension without end", [UInt8]((chunked + "4;").utf8) + [UInt8](repeating: 0x61, count: 8 << 20), malformed),
    Fault(
      "many extensions",
      [UInt8](chunked.utf8)
        + repeatElement(Array("1;\(String(repeating: "x", count: 999))\r\na\r\n".utf8), count: 2_000).joined(),
      malformed),
    Fault("a bad trailer", chunked + "4\r\nbody\r\n0\r\nno colon\r\n\r\n", malformed),
    Fault("a trailer without a name", chunked + "4\r\nbody\r\n0\r\n: x\r\n\r\n", malformed),
    Fault("a folded trailer", chunked + "4\r\nbody\r\n0\r\nX: y\r\n z\r\n\r\n", malformed),
    Fault("a trailer that ends in LF", chunked + "4\r\nbody\r\n0\r\nX: y\n\r\n", malformed),
    Fault(
      "trailers", chunked + "4\r\nbody\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n", .answered(200, "body"), closes: false
    ),
    Fault("invalid chunks", chunked + "body", malformed),
  ]

  static let conflicts = [
    Fault("two lengths", ok + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody!", malformed),
    Fault("two lengths in one field", ok + "Content-Length: 4, 5\r\n\r\nbody!", malformed),
    Fault("two equal lengths", ok + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody", .answered(200, "body")),
    Fault("a negative length", ok + "Content-Length: -4\r\n\r\nbody", malformed),
    Fault("a length with a sign", ok + "Content-Length: +4\r\n\r\nbody", malformed),
    Fault("a hexadecimal length", ok + "Content-Length: 0x4\r\n\r\nbody", malformed),
    Fault("an empty length", ok + "Content-Length:\r\n\r\nbody", malformed),
    Fault("a length beyond 63 bits", ok + "Content-Length: 9223372036854775808\r\n\r\nbody", malformed),
    Fault(
      "a length and chunks", ok + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
      malformed),
    Fault(
      "chunks and a length", ok + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
      malformed),
    Fault(
      "chunked twice", ok + "Transfer-Encoding: chunked, chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", malformed),
    Fault(
      "chunked before another coding", ok + "Transfer-Encoding: chunked, gzip\r\n\r\n4\r\nbody\r\n0\r\n\r\n", malformed),
    Fault(
      "chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", malformed),
  ]

  @Test("A body that ends early is truncated", arguments: truncations)
  func truncation(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("Bytes behind a body are ignored and never become part of the next response", arguments: excesses)
  func excess(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("Malformed chunks fail the response", arguments: badChunks)
  func badChunk(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("Malformed chunks fail a streamed response", arguments: badChunks)
  func badChunkStreamed(_ fault: Fault) async throws {
    let server = try faultServer(fault)
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server) { $0.delivery = .streamed(maximumBytes: nil) }
    #expect(outcome == fault.expected)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("Malformed chunks do not hide the status of an error")
  func badChunksOfErrors() async throws {
    for rest in ["4 4\r\nbody\r\n0\r\n\r\n", "4\r\nbody\r\n0x\r\n"] {
      let text = "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n" + rest
      let outcome = try await play(Fault("", text, Self.malformed))
      #expect(outcome == .answered(503, rest.hasPrefix("4 ") ? "" : "body"))
    }
  }

  @Test("Conflicting lengths are refused", arguments: conflicts)
  func conflict(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("A truncated streamed body fails after the bytes that arrived", arguments: [true, false])
  func truncatedStream(isChunked: Bool) async throws {
    let framing = isChunked ? "Transfer-Encoding: chunked\r\n\r\n4\r\n" : "Content-Length: 10\r\n\r\n"
    let server = try faultServer(Fault("", Self.ok + framing + "half", Self.truncated))
    let engine = try LinkKind.current.engine()
    let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    #expect(response.head.status == .ok)
    var failure: TransportError?
    do throws(TransportError) {
      for try await _ in response.body {}
    } catch {
      failure = error
    }
    #expect(failure?.words == "response/truncated_body")
    #expect(failure?.requestSent == true)
  }

  @Test("Bytes that arrive on an idle connection are not the next response", arguments: [true, false], [true, false])
  func unsolicitedAnswer(overTLS: Bool, ends: Bool) async throws {
    let gate = try LoopbackGate()
    let written = EventRecorder<String>()
    let authority = try CertificateAuthority()
    let tls = try overTLS ? LoopbackTLS(authority.issue(hosts: ["localhost"])) : nil
    let server = try LoopbackServer(tls: tls) { connection in
      while let request = try connection.readRequest() {
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        guard request.target == "/first", connection.wait(for: gate) else { continue }
        try connection.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nevil")
        if ends { connection.halfClose() }
        written.record("written")
      }
    }
    let engine = try LinkKind.current.engine()
    let first = await engine.outcome(server, "/first") { $0.trust(authority) }
    #expect(first == .answered(200, "fine"))
    gate.open()
    try await written.waitForEvents(count: 1)
    #expect(await server.waitForClosing())
    // The request is a POST, which must not be sent twice, and its body can be read only once.
    let chunks = AsyncStream<Data> {
      $0.yield(Data("hello".utf8))
      $0.finish()
    }
    let second = await engine.outcome(server, "/second", method: .post) {
      $0.trust(authority)
      $0.body = .stream(chunks)
    }
    #expect(second == .answered(200, "fine"))
    #expect(server.requests.map(\.connection) == [1, 2])
    #expect(server.requests.map(\.text) == ["", "hello"])
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 1 })
  }
}
