// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroHTTP

/// HTTP/2 over TLS over the engine's plain streams, with loopback servers.
@Suite("Dialer transport, HTTP/2", .timeLimit(.minutes(15)))
struct HTTP2ConnectionTests {
  private let authority: TestAuthority

  init() throws { authority = try TestAuthority() }

  private func server(
    settings: LoopbackHTTP2Settings = .init(), protocols: [String] = [],
    _ respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws -> LoopbackServer {
    var tls = try authority.tls()
    tls.applicationProtocols = protocols
    return try LoopbackServer.http2(tls: tls, settings: settings, respond: respond)
  }

  private func transport(
    _ edit: (inout DialerTransport.Configuration) -> Void = { _ in }
  ) throws -> DialerTransport {
    var configuration = DialerTransport.Configuration()
    edit(&configuration)
    return try DialerTransport(over: authority.dialer(), configuration: configuration)
  }

  private func to(
    _ server: LoopbackServer, _ path: String = "/", _ method: HTTPRequest.Method = .get, body: RequestBody = .empty,
    _ edit: (inout TransferRequest) -> Void = { _ in }
  ) -> TransferRequest {
    .to(
      path, method, scheme: server.isTLS ? "https" : "http", authority: "localhost:\(server.port)", body: body,
      limit: 8 << 20, edit)
  }

  @Test("A GET is answered, and an upload is echoed")
  func echo() async throws {
    let server = try server { LoopbackResponse(body: $0.body) }
    let transport = try transport()
    let get = try await transport.execute(to(server))
    #expect(get.facts.httpVersion == "2" && get.facts.trust == .validated && get.body.bytes == Data())
    let bytes = Data((0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let post = try await transport.execute(to(server, "/", .post, body: RequestBody(source: .bytes(bytes))))
    #expect(post.body.bytes == bytes && post.facts.connectionReused && post.facts.bytesSent >= 3 << 20)
    #expect(server.acceptedConnections == 1)
  }

  @Test("A hundred requests share one connection, even if the server allows fewer at a time", arguments: [100, 3])
  func concurrency(streams: Int) async throws {
    var settings = LoopbackHTTP2Settings()
    settings.maximumConcurrentStreams = UInt32(streams)
    let server = try server(settings: settings) { .text($0.path) }
    let transport = try transport()
    _ = try await transport.execute(to(server, "/warm"))
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<100 {
        let request = to(server, "/\(number)")
        group.addTask { try await transport.execute(request).body.bytes == Data("/\(number)".utf8) }
      }
      for try await isWhole in group { #expect(isWhole) }
    }
    #expect(server.acceptedConnections <= 100 / streams + 1)
    if streams == 100 { #expect(server.acceptedConnections == 1) }
  }

  @Test("HTTP/1.1 is used if the server selects it or the options require it")
  func versions() async throws {
    let server = try server(protocols: ["http/1.1"]) { .text($0.path) }
    let transport = try transport()
    #expect(try await transport.execute(to(server)).facts.httpVersion == "1.1")
    let both = try self.server(protocols: ["h2", "http/1.1"]) { .text($0.path) }
    #expect(try await transport.execute(to(both)).facts.httpVersion == "2")
    var options = authority.options()
    options.httpVersion = .http1
    let answer = try await transport.execute(to(both) { [options] in $0.connection = options })
    #expect(answer.facts.httpVersion == "1.1")
  }

  @Test("HTTP/2 works without TLS, by prior knowledge")
  func priorKnowledge() async throws {
    let server = try LoopbackServer.http2 { .text($0.path) }
    let transport = try transport()
    var options = authority.options()
    options.httpVersion = .http2
    let answer = try await transport.execute(to(server, "/a") { [options] in $0.connection = options })
    #expect(answer.facts.httpVersion == "2" && answer.body.bytes == Data("/a".utf8))
  }

  @Test("A request that was certainly not processed is sent again, also a POST", arguments: [true, false])
  func unprocessed(isRefused: Bool) async throws {
    let count = EventRecorder<Int>()
    let server = try server(protocols: ["h2", "http/1.1"]) { request in
      guard count.record(1) == 1 else { return LoopbackResponse(body: request.body) }
      return .fault(
        .http2(
          isRefused ? .resetStream(.refusedStream) : .goAway(lastStream: .before, .noError), at: .beforeHeaders))
    }
    let transport = try transport()
    _ = try await transport.execute(to(server))
    let body = RequestBody(source: .bytes(Data("hello".utf8)))
    let answer = try await transport.execute(to(server, "/", .post, body: body))
    #expect(answer.body.bytes == Data("hello".utf8) && answer.facts.resends == 1)
    #expect(count.count == 3)
  }

  @Test("Connections that receive GOAWAY delay no request, however many there are")
  func goingAway() async throws {
    let server = try LoopbackServer.http2Script(tls: authority.tls()) { http2 in
      while let request = try http2.readRequest(), let stream = request.stream {
        guard request.path == "/long" else {
          try http2.respond(to: request, with: .text("fine"))
          continue
        }
        // A client that has read the head has read the GOAWAY before it.
        try http2.write(.goAway(lastStream: stream), .head(200, stream: stream))
      }
    }
    let transport = try transport()
    var open: [TransferResponse] = []
    for _ in 1...4 {
      open.append(try await transport.execute(to(server, "/long") { $0.delivery = .streamed(maximumBytes: nil) }))
    }
    let answer = try await transport.execute(to(server) { $0.deadline = .seconds(200) })
    #expect(answer.body.bytes == Data("fine".utf8))
    #expect(server.acceptedConnections == open.count + 1)
  }

  @Test("A server that requires HTTP/1.1 gets it, now and later")
  func http1Required() async throws {
    let server = try server(protocols: ["h2", "http/1.1"]) { request in
      request.stream != nil
        ? .fault(.http2(.resetStream(.http11Required), at: .beforeHeaders)) : LoopbackResponse(body: request.body)
    }
    let transport = try transport()
    let body = RequestBody(source: .bytes(Data("hello".utf8)))
    for resends in [1, 0] {
      let answer = try await transport.execute(to(server, "/", .post, body: body))
      #expect(answer.facts.httpVersion == "1.1" && answer.facts.resends == resends)
    }
  }

  @Test("A stream that is reset fails, and the others continue")
  func resets() async throws {
    let server = try server { request in
      request.path == "/reset" ? .fault(.http2(.resetStream(.internalError), at: .beforeHeaders)) : .text("fine")
    }
    let transport = try transport()
    for _ in 0..<3 {
      let error = try await transportError {
        try await transport.execute(to(server, "/reset"))
      }
      #expect(error.code == .http2Failure && error.requestSent == true)
      #expect(try await transport.execute(to(server)).body.bytes == Data("fine".utf8))
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test("A connection that ended is not reused, and a GET on it is sent once more")
  func lost() async throws {
    let count = EventRecorder<Int>()
    let server = try server { _ in
      count.record(1) == 1 ? .fault(.http2(.close, at: .beforeHeaders)) : .text("fine")
    }
    let transport = try transport()
    _ = try await transport.execute(to(server))
    let answer = try await transport.execute(to(server) { $0.allowsResend = true })
    #expect(answer.body.bytes == Data("fine".utf8) && answer.facts.resends == 1)
    #expect(server.acceptedConnections == 2)
  }

  @Test("A reader that reads nothing does not hold up the others")
  func slowReader() async throws {
    let server = try server { request in
      LoopbackResponse(body: [UInt8](repeating: 7, count: request.path == "/slow" ? 4 << 20 : 100_000))
    }
    let transport = try transport { $0.streamBufferBytes = 1 << 16 }
    let slow = try await transport.execute(to(server, "/slow") { $0.delivery = .streamed(maximumBytes: nil) })
    for _ in 0..<10 { #expect(try await transport.execute(to(server)).body.bytes?.count == 100_000) }
    #expect(try await slow.body.collect(upTo: 8 << 20).count == 4 << 20)
    #expect(server.acceptedConnections == 1)
  }

  @Test("A cancelled task, and a dropped body, reset a stream and keep the connection")
  func cancellation() async throws {
    let server = try server { request in
      switch request.path {
      case "/stall": .fault(.http2(.stall, at: .beforeHeaders))
      case "/large": LoopbackResponse(body: [UInt8](repeating: 7, count: 8 << 20))
      default: .text("fine")
      }
    }
    let transport = try transport()
    _ = try await transport.execute(to(server))
    let stalled = to(server, "/stall")
    let task = Task { try await transportError { try await transport.execute(stalled) } }
    _ = try await server.waitForRequests(count: 2)
    task.cancel()
    #expect(try await task.value.code == .cancelled)
    do { _ = try await transport.execute(to(server, "/large") { $0.delivery = .streamed(maximumBytes: nil) }) }
    #expect(try await transport.execute(to(server)).body.bytes == Data("fine".utf8))
    #expect(server.acceptedConnections == 1)
  }

  @Test("A limit that is exceeded ends its own stream")
  func limits() async throws {
    let server = try server { request in
      request.path == "/stall" ? .fault(.http2(.stall, at: .afterHeaders)) : .text("fine")
    }
    let transport = try transport()
    let error = try await transportError {
      try await transport.execute(
        to(server, "/stall") {
          $0.deadline = .milliseconds(50)
          $0.deadlineCode = .attemptTimeout
        })
    }
    #expect(error.code == .attemptTimeout)
    #expect(try await transport.execute(to(server)).body.bytes == Data("fine".utf8))
  }

  @Test("An error response while the body is sent is returned")
  func earlyRefusal() async throws {
    let server = try LoopbackServer.http2(tls: try authority.tls()) { request in
      LoopbackResponse(status: 413, body: Array("no".utf8))
    }
    let transport = try transport()
    let answer = try await transport.execute(
      to(server, "/", .post, body: RequestBody(source: .bytes(Data(count: 1 << 20)))))
    #expect(answer.head.status.code == 413 && answer.body.bytes == Data("no".utf8))
  }

  @Test("Pins are enforced, and changed rules open another connection")
  func pins() async throws {
    let server = try server { .text($0.path) }
    let judge = ScriptedJudge(accepts: { $0.host.text != "127.0.0.1" })
    var configuration = DialerTransport.Configuration()
    configuration.connection = authority.options { $0.tls.trustJudge = judge }
    let transport = try DialerTransport(over: TLSDialer(over: authority.base), configuration: configuration)
    for _ in 0..<2 { #expect(try await transport.execute(to(server)).facts.httpVersion == "2") }
    judge.changeRules()
    for _ in 0..<2 { _ = try await transport.execute(to(server)) }
    #expect(server.acceptedConnections == 2 && judge.asked.count == 2)
    var refused = to(server)
    refused.head.authority = "127.0.0.1:\(server.port)"
    let error = try await transportError { [refused] in try await transport.execute(refused) }
    #expect(error.stage == .trust && error.requestSent == false)
  }
}
