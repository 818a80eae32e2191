// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Requests that an HTTP/2 server declares unprocessed, and streams that share a connection.
@Suite("Faults: refused HTTP/2 streams", .overEachLink, .timeLimit(.minutes(15)))
struct HTTP2RefusalTests {
  /// Returns a server that refuses the first `count` requests.
  private func refusing(_ count: Int, _ lab: HTTP2Servers) throws -> LoopbackServer {
    let seen = EventRecorder<String>()
    return try lab.server { request in
      seen.record(request.method)
      if seen.count > count { return .text("fine") }
      return .fault(.http2(.resetStream(.refusedStream), at: .beforeHeaders))
    }
  }

  @Test("A refused GET is sent again over the same connection and answered")
  func refusedGet() async throws {
    let lab = try HTTP2Servers()
    let server = try refusing(1, lab)
    #expect(await lab.outcome(server) { $0.allowsResend = true } == .answered(200, "fine"))
    #expect(server.requests.map(\.connection) == [1, 1])
  }

  @Test("A refused POST is sent again")
  func refusedPost() async throws {
    let lab = try HTTP2Servers()
    let server = try refusing(1, lab)
    let response = try await lab.engine.execute(
      .to(server, method: .post) {
        $0.trust(lab.authority)
        $0.body = .raw("pay")
      })
    #expect(response.head.status == .ok && response.facts.resends == 1)
    #expect(server.requests.map(\.text) == ["pay", "pay"])
  }

  @Test("A POST that is refused three times in a row is answered at the fourth attempt")
  func refusedThrice() async throws {
    let lab = try HTTP2Servers()
    let server = try refusing(3, lab)
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server, method: .post) {
      $0.trust(lab.authority)
      $0.body = .raw("pay")
    }
    #expect(outcome == .answered(200, "fine"))
    #expect(server.requests.map(\.text) == ["pay", "pay", "pay", "pay"])
  }

  @Test("A request that is always refused fails after three resends, which its facts count")
  func refusedForEver() async throws {
    let lab = try HTTP2Servers()
    let server = try refusing(.max, lab)
    let error = try await lab.failure(server) { $0.allowsResend = true }
    let resends = try #require(error.facts?.resends)
    #expect(server.requests.count == resends + 1)
    #expect(error.words == "response/http2_failure" && resends == 3, "\(error)")
    #expect(!error.requestSent, "no attempt was processed")
  }

  @Test("A connection that became silent is not reused")
  func silentConnection() async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { request in
      request.connection == 1 && request.path == "/silent"
        ? .fault(.http2(.stallConnection, at: .beforeHeaders)) : .text("fine")
    }
    #expect(await lab.outcome(server, "/before") == .answered(200, "fine"))
    #expect(
      await lab.outcome(server, "/silent") { $0.deadline = .seconds(6) } == .failed("timeout/total_timeout"))
    #expect(await lab.outcome(server, "/after") == .answered(200, "fine"))
    #expect(server.requests.map(\.connection) == [1, 1, 2])
  }

  /// Returns a server that receives two requests on one connection and excludes the second with GOAWAY.
  private func excluding(_ lab: HTTP2Servers) throws -> LoopbackServer {
    try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      guard let first = try http2.readRequest() else { return }
      guard http2.connection.number == 1 else { return try http2.respond(to: first, with: .text("fine")) }
      guard let second = try http2.readRequest(), let last = first.stream else { return }
      try http2.write(.goAway(lastStream: last))
      try http2.respond(to: first, with: .text("first"))
      _ = second
      while try http2.readFrame() != nil {}
    }
  }

  @Test("Of two requests, the one that GOAWAY excludes is sent again, and the other is answered")
  func excluded() async throws {
    for method in [HTTPRequest.Method.get, .post] {
      let lab = try HTTP2Servers()
      let server = try excluding(lab)
      async let first = lab.outcome(server, "/first")
      try await server.waitForRequests(count: 1)
      async let second = lab.outcome(server, "/second", method: method) { $0.allowsResend = method == .get }
      #expect(await first == .answered(200, "first"))
      let outcome = await second
      let sent = server.requests.count { $0.path == "/second" }
      #expect(outcome == .answered(200, "fine") && sent == 2, "\(outcome)")
    }
  }

  @Test("A request is sent again over HTTP/1.1 after HTTP_1_1_REQUIRED")
  func http11Required() async throws {
    for method in [HTTPRequest.Method.get, .post] {
      let lab = try HTTP2Servers()
      var tls = try lab.tls()
      tls.applicationProtocols = ["h2", "http/1.1"]
      let server = try LoopbackServer.http2(tls: tls) { request in
        request.head.version == "HTTP/2"
          ? .fault(.http2(.resetStream(.http11Required), at: .beforeHeaders)) : .text(request.head.version)
      }
      let outcome = await lab.outcome(server, method: method) { $0.allowsResend = method == .get }
      #expect(outcome == .answered(200, "HTTP/1.1"))
      #expect(server.requests.count == 2)
    }
  }

  @Test("The server's stream limit is respected: none of many POSTs is refused")
  func concurrency() async throws {
    let lab = try HTTP2Servers()
    var settings = LoopbackHTTP2Settings()
    settings.maximumConcurrentStreams = 2
    let server = try lab.server(settings) { .text($0.text) }
    #expect(await lab.outcome(server, method: .post) == .answered(200, "pay"))
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<30 { group.addTask { await lab.outcome(server, method: .post) } }
      for await outcome in group { #expect(outcome == .answered(200, "pay")) }
    }
    #expect(server.requests.count == 31)
  }

  @Test("Bodies larger than all windows pass in both directions on many streams at once")
  func flowControl() async throws {
    let lab = try HTTP2Servers()
    var settings = LoopbackHTTP2Settings()
    settings.initialWindow = 1_000
    let server = try lab.server(settings) { LoopbackResponse(body: Array($0.body.reversed())) }
    let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let expected = Outcome.answered(200, String(decoding: body.reversed(), as: UTF8.self))
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<8 { group.addTask { await lab.outcome(server, method: .post) { $0.body = .raw(body) } } }
      for await outcome in group { #expect(outcome == expected) }
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test("An upload that gets no window from the server ends at the deadline")
  func noRoom() async throws {
    let lab = try HTTP2Servers()
    var settings = LoopbackHTTP2Settings()
    settings.replenishesWindows = false
    let server = try lab.server(settings) { _ in .text("never") }
    let error = try await lab.failure(server, method: .post) {
      $0.body = .raw([UInt8](repeating: 1, count: 200_000))
      $0.deadline = .seconds(10)
    }
    #expect(error.words == "timeout/total_timeout")
    #expect(await eventually { server.requests.map(\.isComplete) == [false] })
  }

  @Test("A response that arrives before the upload is complete is returned", arguments: [false, true])
  func earlyAnswer(endsWithReset: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2Script(tls: lab.tls(), settings: Self.early) { http2 in
      while let stream = try http2.readRequest()?.stream {
        try http2.write(
          .head(413, ["content-length": "3"], stream: stream), .data("big".utf8, stream: stream, ends: true))
        if endsWithReset { try http2.write(.resetStream(.noError, stream: stream)) }
      }
    }
    let outcome = await lab.outcome(server, method: .post) { $0.body = .raw([UInt8](repeating: 1, count: 2 << 20)) }
    // With RST_STREAM (RFC 9113 §8.1), libcurl 7.88 may fail before it has read the answer.
    #expect(outcome == .answered(413, "big") || (endsWithReset && outcome == .failed("response/http2_failure")))
    #expect(server.requests.count == 1)
  }

  private static var early: LoopbackHTTP2Settings {
    var settings = LoopbackHTTP2Settings()
    settings.answersEarly = true
    settings.replenishesWindows = false
    return settings
  }

  @Test("An upload that is reset midway fails, and is resent only if the server processed nothing")
  func resetUpload() async throws {
    for code in [LoopbackHTTP2Code.refusedStream, .cancel] {
      let lab = try HTTP2Servers()
      let server = try lab.server(Self.early) { _ in .fault(.http2(.resetStream(code), at: .beforeHeaders)) }
      let error = try await lab.failure(server, method: .post) { $0.body = .raw([UInt8](repeating: 1, count: 2 << 20)) }
      #expect(["send/connection_lost", "response/http2_failure"].contains(error.words), "\(error)")
      let isAgain = code == .refusedStream
      #expect(error.requestSent == !isAgain)
      #expect(server.requests.count == (isAgain ? 4 : 1))
    }
  }

  @Test("A cancelled request resets its stream and nothing else")
  func cancellation() async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { $0.path == "/ok" ? .text("fine") : .fault(.stall) }
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    let task = Task { await lab.outcome(server, "/stalled") }
    try await server.waitForRequests(count: 2)
    task.cancel()
    #expect(await task.value == .failed("cancelled/cancelled"))
    #expect(await lab.outcome(server, "/ok") == .answered(200, "fine"))
    #expect(await eventually { server.requests.last { $0.path == "/stalled" }?.resetCode != nil })
    #expect(server.acceptedConnections == 1)
  }

  @Test("Trailers are read, over TLS and in the clear with prior knowledge")
  func trailers() async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2 { _ in .text("fine").addingTrailer("x-sum", "9") }
    for secured in [server, try lab.server { _ in .text("fine").addingTrailer("x-sum", "9") }] {
      let outcome = await lab.outcome(secured) { $0.connection?.httpVersion = .http2 }
      #expect(outcome == .answered(200, "fine"))
      #expect(secured.requests.first?.head.version == "HTTP/2")
    }
  }

  /// Returns a server that plays a fault for the first request for `/work`.
  private func failingOnce(_ fault: LoopbackHTTP2Fault, _ lab: HTTP2Servers) throws -> LoopbackServer {
    let seen = EventRecorder<String>()
    return try lab.server { request in
      seen.record(request.path)
      return seen.count > 1 ? .text("fine") : .fault(.http2(fault, at: .beforeHeaders))
    }
  }

  static let passing: [LoopbackHTTP2Fault] = [
    .resetStream(.refusedStream), .resetStream(.internalError), .goAway(lastStream: .before, .noError), .close,
    .truncateFrame,
  ]

  @Test(
    "With a retry policy, idempotent requests are sent again, and a POST without a key is sent once", arguments: passing
  )
  func retries(_ fault: LoopbackHTTP2Fault) async throws {
    for (method, key) in [(HTTPRequest.Method.get, nil), (.post, "k1"), (.post, nil)] {
      let lab = try HTTP2Servers()
      let server = try failingOnce(fault, lab)
      var configuration = StackConfiguration()
      configuration.interceptors = [RetryInterceptor(policy: .maxRetries(3), eligibility: .any)]
      let stack = try LinkKind.current.stack(
        { $0.connection.tls.roots = .pem(Array(lab.authority.rootPEM.utf8)) }, configuration: configuration)
      var request = try ResourceRequest(
        method: method, url: server.baseURL + "/work", body: method == .post ? .raw("pay") : .empty)
      if let key { try request.setHeader("Idempotency-Key", key) }
      let sent = request
      // The engine itself sends the request again if the server did not process it.
      let isUnprocessed = fault == .resetStream(.refusedStream) || fault == .goAway(lastStream: .before, .noError)
      if method == .get || key != nil || isUnprocessed {
        let answer = try await stack.fetch(.raw(sent))
        #expect(answer.value == Data("fine".utf8))
        #expect(server.requests.count == 2)
        #expect(server.requests.map { $0.head["idempotency-key"] } == [key, key])
      } else {
        let error = try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.raw(sent)) }
        #expect(error.attempts.map(\.requestSent) == [true])
        #expect(server.requests.map(\.text) == ["pay"], "nothing is sent twice")
      }
    }
  }
}
