// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// HTTP/2 faults at chosen points of an answer.
@Suite("Faults: HTTP/2", .overEachLink, .timeLimit(.minutes(15)))
struct HTTP2FaultTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var fault: LoopbackHTTP2Fault
    var point: LoopbackHTTP2Fault.Point
    var expected: Set<String>
    /// Whether the server says that it did not process the request.
    var isUnprocessed: Bool { if case .goAway(.before, _) = fault { point == .beforeHeaders } else { false } }
    /// Whether the connection can carry further requests.
    var keepsConnection = false
    var testDescription: String { "\(fault) \(point)" }

    init(
      _ fault: LoopbackHTTP2Fault, _ point: LoopbackHTTP2Fault.Point, _ expected: String..., keeps: Bool = false
    ) {
      self.fault = fault
      self.point = point
      self.expected = Set(expected)
      keepsConnection = keeps
    }
  }

  private static let within = LoopbackHTTP2Fault.Point.body(after: 3)

  static let streamFaults: [Row] = [
    // No frame arrived at all, so the connection is no longer reused.
    Row(.stall, .beforeHeaders, "timeout/total_timeout"),
    Row(.stall, .afterHeaders, "timeout/total_timeout", keeps: true),
    Row(.stall, within, "timeout/total_timeout", keeps: true),
    Row(.resetStream(.cancel), .beforeHeaders, "response/http2_failure", keeps: true),
    Row(.resetStream(.internalError), .afterHeaders, "response/http2_failure", keeps: true),
    Row(.resetStream(.enhanceYourCalm), within, "response/http2_failure", keeps: true),
    Row(.resetStream(0xdead), within, "response/http2_failure", keeps: true),
    Row(.resetStream(.noError), .beforeHeaders, "response/http2_failure", keeps: true),
    Row(.resetStream(.noError), .afterHeaders, "response/truncated_body", keeps: true),
    Row(.resetStream(.noError), within, "response/truncated_body", keeps: true),
    // libcurl closes the connection with the stream.
    Row(.resetStream(.refusedStream), .afterHeaders, "response/truncated_body"),
    Row(.resetStream(.refusedStream), within, "response/truncated_body"),
    Row(.endStream, .afterHeaders, "response/http2_failure", keeps: true),
    Row(.endStream, within, "response/http2_failure", keeps: true),
  ]

  // If the connection ends before the head, libcurl 7.88 reports CURLE_PARTIAL_FILE, as it does within a body.
  static let connectionFaults: [Row] = [
    // libcurl 8 treats such a stream as refused. Before the head it would send the request again, which the engine
    // forbids; after the head it reports a reset.
    Row(
      .goAway(lastStream: .before, .noError), .beforeHeaders, "response/http2_failure", "send/connection_lost"),
    Row(
      .goAway(lastStream: .before, .internalError), .afterHeaders, "response/http2_failure", "response/truncated_body"),
    Row(
      .goAway(lastStream: .id(0), .enhanceYourCalm), within, "response/http2_failure", "response/truncated_body"),
    Row(.close, .beforeHeaders, "response/connection_lost", "response/truncated_body"),
    Row(.close, .afterHeaders, "response/truncated_body"),
    Row(.close, within, "response/truncated_body"),
    // The server closes its reading side as well, so one of our writes may meet a reset before a read sees the end.
    Row(
      .closeWithoutNotify, .beforeHeaders, "response/connection_lost", "response/truncated_body",
      "send/connection_lost"),
    Row(.closeWithoutNotify, within, "response/truncated_body", "send/connection_lost"),
    Row(.halfClose, .beforeHeaders, "response/connection_lost", "response/truncated_body"),
    Row(.halfClose, within, "response/truncated_body"),
    Row(.truncateFrame, .beforeHeaders, "response/connection_lost", "response/truncated_body"),
    Row(.truncateFrame, .afterHeaders, "response/truncated_body"),
    Row(.truncateFrame, within, "response/truncated_body", "response/http2_failure"),
    Row(.stallConnection, .beforeHeaders, "timeout/total_timeout"),
    Row(.stallConnection, within, "timeout/total_timeout"),
    // A reset may discard bytes that arrived before it, and a write may meet it before a read does.
    Row(.resetConnection, .beforeHeaders, "response/connection_lost", "send/connection_lost"),
    Row(
      .resetConnection, within, "response/connection_lost", "send/connection_lost", "response/truncated_body"),
  ]

  @Test("A stream error fails its request, which is sent once; the connection serves the next", arguments: streamFaults)
  func stream(_ row: Row) async throws { try await expectOutcome(row) }

  @Test(
    "A connection error fails the request, which is sent once; another connection serves the next",
    arguments: connectionFaults)
  func connection(_ row: Row) async throws { try await expectOutcome(row) }

  private static let dying: [Outcome] = [.failed("response/connection_lost"), .failed("send/connection_lost")]

  /// Runs all combinations concurrently, so that time limits pass in parallel.
  private func expectOutcome(_ row: Row) async throws {
    try await withThrowingTaskGroup { group in
      for (method, isReused) in [(HTTPRequest.Method.get, false), (.post, false), (.get, true), (.post, true)] {
        group.addTask { try await expectOutcome(row, method, isReused: isReused) }
      }
      try await group.waitForAll()
    }
  }

  private func expectOutcome(_ row: Row, _ method: HTTPRequest.Method, isReused: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try lab.faultServer(row.fault, at: row.point)
    if isReused { #expect(await lab.outcome(server, "/ok") == .answered(200, "fine")) }
    let error = try await lab.failure(server, "/fault", method: method) {
      if row.expected == ["timeout/total_timeout"] { $0.deadline = .seconds(6) }
    }
    // On a connection that has served requests, libcurl would resend a request that got no answer. The engine forbids
    // it.
    let expected =
      isReused && row.point == .beforeHeaders ? row.expected.union(["send/connection_lost"]) : row.expected
    #expect(expected.contains(error.words), "\(method) \(isReused) \(error)")
    let isAgain = row.isUnprocessed
    #expect(error.requestSent == !isAgain)
    #expect(await eventually { server.requests.contains { $0.path == "/fault" } })
    #expect(server.requests.count { $0.path == "/fault" } == (isAgain ? 4 : 1), "sent once if it may be processed")
    // libcurl keeps a connection that falls silent in the middle of an answer.
    if row.fault != .stallConnection || row.point == .beforeHeaders {
      var next = await lab.outcome(server, "/ok")
      // libcurl may hand out a dying connection once more before it detects the end.
      if !row.keepsConnection, Self.dying.contains(next) {
        next = await lab.outcome(server, "/ok")
      }
      #expect(next == .answered(200, "fine"), "\(method) \(isReused) the next request on the same host: \(next)")
    }
    if row.keepsConnection { #expect(server.acceptedConnections == 1) }
    #expect(await eventually { lab.engine.activeTransfers == 0 })
  }

  private static let broken: [LoopbackHTTP2Fault] = [
    .close, .closeWithoutNotify, .halfClose, .truncateFrame, .resetStream(.internalError),
  ]

  @Test("A broken error body does not hide the status", arguments: broken)
  func status(_ fault: LoopbackHTTP2Fault) async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { _ in
      var response = LoopbackResponse.text("12345", status: 503)
      response.fault = .http2(fault, at: Self.within)
      return response
    }
    for method in [HTTPRequest.Method.get, .post] {
      let outcome = await lab.outcome(server, method: method)
      let status: Int? = if case .answered(let status, _) = outcome { status } else { nil }
      #expect(status == 503, "\(method) \(outcome)")
    }
  }

  @Test("A graceful GOAWAY lets the request finish; the next uses another connection")
  func graceful() async throws {
    for point in [LoopbackHTTP2Fault.Point.beforeHeaders, .afterHeaders, Self.within] {
      let lab = try HTTP2Servers()
      let server = try lab.faultServer(.goAway(lastStream: .own, .noError), at: point)
      #expect(await lab.outcome(server, method: .post) == .answered(200, "12345"))
      #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
      #expect(server.requests.map(\.connection) == [1, 2])
    }
  }

  struct Illegal: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var frames: @Sendable (UInt32) -> [LoopbackHTTP2Frame]
    var expected: Set<String>

    init(
      _ name: String, _ expected: String...,
      frames: @escaping @Sendable (UInt32) -> [LoopbackHTTP2Frame]
    ) {
      testDescription = name
      self.frames = frames
      // libcurl 7.88 reports only that the connection ended.
      self.expected = Set(expected.isEmpty ? ["response/connection_lost"] : expected).union(["response/http2_failure"])
    }
  }

  private static func half(_ stream: UInt32) -> [LoopbackHTTP2Frame] {
    [.head(200, ["content-length": "9"], stream: stream), .data("half".utf8, stream: stream)]
  }

  static let illegal: [Illegal] = [
    Illegal("DATA before HEADERS") { [.data("half".utf8, stream: $0)] },
    Illegal("HEADERS on an idle stream") { [.head(200, stream: $0 + 100)] },
    Illegal("a push that was not allowed") {
      let block = LoopbackHTTP2Frame.headers([.init(name: ":method", value: "GET")], stream: $0).payload
      return [LoopbackHTTP2Frame(.pushPromise, flags: 4, stream: $0, payload: [0, 0, 0, 2] + block)]
    },
    Illegal("a frame too large") { [.oversized(stream: $0)] },
    Illegal("a frame too large within the body", "response/truncated_body") { half($0) + [.oversized(stream: $0)] },
    Illegal("a broken header block") { [.brokenHeaders(stream: $0)] },
    Illegal("broken trailers", "response/truncated_body") { half($0) + [.brokenHeaders(stream: $0)] },
    Illegal("CONTINUATION without HEADERS") { [LoopbackHTTP2Frame(.continuation, stream: $0)] },
    Illegal("a window update of nothing") { _ in [.windowUpdate(0, stream: 0)] },
    Illegal("settings out of range") { _ in [.settings([.init(4, .max)])] },
    Illegal("no status", "response/malformed_response") {
      [.headers([.init(name: "a", value: "b")], stream: $0, ends: true)]
    },
    Illegal("a status that is not a number", "response/http2_failure") {
      [.headers([.init(name: ":status", value: "2x0")], stream: $0, ends: true)]
    },
    Illegal("a name in capitals", "response/http2_failure") { [.head(200, ["A": "b"], stream: $0, ends: true)] },
    Illegal("a field of HTTP/1.1", "response/http2_failure") {
      [.head(200, ["connection": "close"], stream: $0, ends: true)]
    },
    Illegal("more body than announced", "response/http2_failure") {
      [.head(200, ["content-length": "2"], stream: $0), .data("half".utf8, stream: $0, ends: true)]
    },
    Illegal("a window that overflows", "response/http2_failure") {
      [.windowUpdate(0x7fff_ffff, stream: $0), .windowUpdate(0x7fff_ffff, stream: $0)]
    },
  ]

  @Test("Illegal frames fail the response, and the request is sent once", arguments: illegal)
  func illegalFrames(_ row: Illegal) async throws {
    for method in [HTTPRequest.Method.get, .post] {
      let lab = try HTTP2Servers()
      let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
        while let request = try http2.readRequest() {
          for frame in row.frames(request.stream ?? 1) { try http2.write(frame) }
        }
      }
      let error = try await lab.failure(server, method: method)
      #expect(row.expected.contains(error.words), "\(error)")
      #expect(error.requestSent)
      #expect(server.requests.count == 1, "nothing is sent twice")
      #expect(await eventually { lab.engine.activeTransfers == 0 })
    }
  }

  @Test("A body without a length is truncated when its connection ends", arguments: [false, true])
  func noLength(closesInOrder: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      guard let stream = try http2.readRequest()?.stream else { return }
      try http2.write(.head(200, stream: stream), .data("half".utf8, stream: stream))
      if closesInOrder { http2.connection.close() } else { http2.connection.closeWithoutNotify() }
    }
    #expect(await lab.outcome(server) == .failed("response/truncated_body"))
    #expect(server.requests.count == 1)
  }

  @Test("Faults leave no descriptor and no thread behind", .ownThread)
  func leaks() async {
    await #expect(processExitsWith: .success) { [links = LinkKind.current as LinkKind] in
      func round() async throws {
        let lab = try HTTP2Servers(over: links)
        for row in HTTP2FaultTests.streamFaults + HTTP2FaultTests.connectionFaults {
          let server = try lab.faultServer(row.fault, at: row.point)
          _ = await lab.outcome(server, "/fault", method: .post) {
            if row.expected == ["timeout/total_timeout"] { $0.deadline = .milliseconds(50) }
          }
        }
        #expect(await eventually { lab.engine.activeTransfers == 0 })
        // The engine's pool keeps connections for a while, including dead ones.
        await lab.engine.shutDown(cancelling: false)
      }
      try await round()
      let before = await Census.settled()
      for _ in 0..<4 { try await round() }
      #expect(await eventually { Census().growth(since: before) < 4 }, "\(before), then \(Census())")
    }
  }
}
