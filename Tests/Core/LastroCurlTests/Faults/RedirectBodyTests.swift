// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Redirects that are followed once their heads arrive, without waiting for their bodies.
@Suite("Faults: bodies of redirects", .overEachLink, .timeLimit(.minutes(15)))
struct RedirectBodyTests {
  /// The bytes that follow `HTTP/1.1 302 Found` and its `Location`.
  enum Rest: String, CaseIterable, Sendable {
    case shortThatNeverComes, longThatNeverComes, endless, endlessChunks, slowChunks, noLength

    func write(on connection: LoopbackConnection) throws {
      switch self {
      case .shortThatNeverComes:
        try connection.write("Content-Length: 10\r\n\r\nabc")
        connection.stall()
      case .longThatNeverComes:
        try connection.write("Content-Length: 1000000000000\r\n\r\nabc")
        connection.stall()
      case .endless:
        try connection.write("Content-Length: 1000000000000\r\n\r\n")
        while true { try connection.write(Array(repeating: 0x78, count: 65_536)) }
      case .endlessChunks:
        try connection.write("Transfer-Encoding: chunked\r\n\r\n")
        while true { try connection.write("1000\r\n" + String(repeating: "x", count: 4_096) + "\r\n") }
      case .slowChunks:
        try connection.write("Transfer-Encoding: chunked\r\n\r\n")
        while connection.pause(.milliseconds(20)) { try connection.write("1\r\nx\r\n") }
      case .noLength:
        try connection.write("\r\n")
        while true { try connection.write(Array(repeating: 0x78, count: 65_536)) }
      }
    }
  }

  private static func server(_ rest: Rest, location: String = "/end") throws -> LoopbackServer {
    try LoopbackServer { connection in
      while let head = try connection.readHead() {
        guard head.path != "/end" else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
          continue
        }
        try connection.write("HTTP/1.1 302 Found\r\nLocation: \(location)\r\n")
        // The write fails once the client closes the connection.
        try? rest.write(on: connection)
        return
      }
    }
  }

  /// Returns a stack without time limits, except for one that turns a hang into a failure.
  private static func stack(
    _ engine: any LinkedEngine, adapting adapt: (inout StackConfiguration) -> Void = { _ in }
  ) throws -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: .seconds(60))
    configuration.streamTimeouts = configuration.timeouts
    configuration.maximumBodyBytes = 1 << 40
    adapt(&configuration)
    return TransportNetworkStack(transport: engine, configuration: configuration.replayed)
  }

  @Test(
    "A redirect is followed when its head arrives, whatever its body does", arguments: Rest.allCases, [false, true])
  func followed(_ rest: Rest, isStream: Bool) async throws {
    let server = try Self.server(rest)
    let engine = try LinkKind.current.engine()
    let resource = RawHTTPResource.raw(try ResourceRequest(url: server.baseURL + "/start"))
    if isStream {
      let answer = try await Self.stack(engine).stream(resource)
      #expect(try await answer.value.collect(upTo: 10) == Data("fine".utf8))
      #expect(answer.response.redirects == [server.baseURL + "/end"])
    } else {
      let answer = try await Self.stack(engine).fetch(resource)
      #expect(answer.value == Data("fine".utf8))
      #expect(answer.response.redirects == [server.baseURL + "/end"])
    }
    #expect(server.requests.map(\.target) == ["/start", "/end"])
    // The redirect's connection is closed, at once or after a while.
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 1 })
  }

  @Test("One connection per host is enough", arguments: Rest.allCases)
  func oneConnection(_ rest: Rest) async throws {
    let server = try Self.server(rest)
    let engine = try LinkKind.current.engine { $0.connectionsPerHost = 1 }
    let stack = try Self.stack(engine)
    let url = server.baseURL
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let answer = try await stack.fetch(.raw(ResourceRequest(url: url + "/start")))
          #expect(answer.value == Data("fine".utf8))
        }
      }
      try await group.waitForAll()
    }
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections <= 1 })
  }

  @Test("The short rest of a redirect's body is read in the background, and the connection is kept")
  func drained() async throws {
    // The engine waits one second for the rest of the body. A busy machine may use up that second, so the test tries
    // again.
    var wasKept = false
    for _ in 0..<60 where !wasKept { wasKept = try await isKept() }
    #expect(wasKept)
  }

  /// Returns whether the engine kept a redirect's connection whose body ended only after the redirect had been
  /// followed.
  private func isKept() async throws -> Bool {
    let gate = try LoopbackGate()
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        switch head.path {
        case "/start":
          try connection.write("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 10\r\n\r\nabc")
          // The rest of the body is sent after the redirect has been followed.
          guard connection.wait(for: gate) else { return }
          try connection.write("defghij")
        default:
          gate.open()
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        }
      }
    }
    let engine = try LinkKind.current.engine()
    let answer = try await Self.stack(engine).fetch(.raw(ResourceRequest(url: server.baseURL + "/start")))
    #expect(answer.value == Data("fine".utf8))
    #expect(await eventually { engine.activeTransfers == 0 })
    #expect(server.acceptedConnections == 2)
    guard server.openConnections == 2 else { return false }
    // Both connections still serve requests.
    #expect(await engine.outcome(server, "/end") == .answered(200, "fine"))
    #expect(server.acceptedConnections == 2)
    return true
  }

  @Test("A short body that arrives with the head keeps the connection", arguments: [false, true])
  func cameAlong(overHTTP2: Bool) async throws {
    let lab = try HTTP2Servers()
    let respond: @Sendable (LoopbackRequest) -> LoopbackResponse = { request in
      guard request.path == "/start" else { return .text("fine") }
      return LoopbackResponse(status: 302, headers: ["Location": "/end"], body: Array("moved".utf8))
    }
    let server = overHTTP2 ? try lab.server(respond: respond) : try .http(respond: respond)
    let answer = try await Self.stack(lab.engine).fetch(
      .raw(ResourceRequest(url: server.baseURL + "/start", options: lab.options())))
    #expect(answer.value == Data("fine".utf8))
    #expect(server.acceptedConnections == 1)
  }

  /// A redirect's body that is short enough to be read, so that its connection carries the next hop.
  enum ShortRest: String, CaseIterable, Sendable {
    case chunked, long, longChunks, afterAMoment

    func write(on connection: LoopbackConnection) throws {
      let long = String(repeating: "x", count: 20_000)
      switch self {
      case .chunked: try connection.write("Transfer-Encoding: chunked\r\n\r\n5\r\nmoved\r\n0\r\n\r\n")
      case .long: try connection.write("Content-Length: 20000\r\n\r\n" + long)
      case .longChunks:
        try connection.write("Transfer-Encoding: chunked\r\n\r\n4e20\r\n\(long)\r\n1\r\nx\r\n0\r\n\r\n")
      case .afterAMoment:
        try connection.write("Content-Length: 5\r\n\r\n")
        // The pause is longer than opening another connection takes.
        _ = connection.pause(.milliseconds(40))
        try connection.write("moved")
      }
    }
  }

  @Test(
    "A short body keeps the connection, chunked or not, even if it arrives a moment later",
    arguments: ShortRest.allCases
  )
  func reused(_ rest: ShortRest) async throws {
    // A redirect waits 100 ms for its body. A busy machine may use up that time, so the test tries again.
    var connections = 0
    for _ in 0..<60 where connections != 1 { connections = try await numberOfConnections(rest) }
    #expect(connections == 1)
  }

  /// Returns the number of connections that four hops use.
  private func numberOfConnections(_ rest: ShortRest) async throws -> Int {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if let hop = Int(head.path.dropFirst()), hop < 4 {
          try connection.write("HTTP/1.1 302 Found\r\nLocation: /\(hop + 1)\r\n")
          try rest.write(on: connection)
        } else {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        }
      }
    }
    let answer = try await Self.stack(LinkKind.current.engine()).fetch(
      .raw(ResourceRequest(url: server.baseURL + "/0")))
    #expect(answer.value == Data("fine".utf8) && answer.response.redirects.count == 4)
    return server.acceptedConnections
  }

  @Test("A redirect whose connection breaks within its body is still followed", arguments: [5, 100_000])
  func broken(length: Int) async throws {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if head.path == "/end" {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        } else {
          return try connection.write("HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: \(length)\r\n\r\nabc")
        }
      }
    }
    let answer = try await Self.stack(LinkKind.current.engine()).fetch(
      .raw(ResourceRequest(url: server.baseURL + "/start")))
    #expect(answer.value == Data("fine".utf8))
    #expect(server.requests.map(\.target) == ["/start", "/end"])
  }

  @Test(
    "Over HTTP/2 the stream ends, and the connection serves further requests", arguments: [5, 100_000], [false, true])
  func http2(bytes: Int, isStream: Bool) async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { request in
      guard request.path == "/start" else { return .text("fine") }
      return LoopbackResponse(
        status: 302, headers: ["Location": "/end"], body: Array(repeating: 0x78, count: bytes),
        fault: .http2(.stall, at: .body(after: 3)))
    }
    let resource = RawHTTPResource.raw(try ResourceRequest(url: server.baseURL + "/start", options: lab.options()))
    if isStream {
      let answer = try await Self.stack(lab.engine).stream(resource)
      #expect(try await answer.value.collect(upTo: 10) == Data("fine".utf8))
    } else {
      #expect(try await Self.stack(lab.engine).fetch(resource).value == Data("fine".utf8))
    }
    #expect(await eventually { lab.engine.activeTransfers == 0 })
    #expect(server.acceptedConnections == 1 && server.openConnections == 1)
  }

  @Test("A POST that is redirected before its body was read is followed too", arguments: [303, 307])
  func early(status: Int) async throws {
    let server = try LoopbackServer { connection in
      while let head = try connection.readHead() {
        if head.path == "/end" {
          _ = try connection.readBody(for: head)
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        } else {
          try connection.write("HTTP/1.1 \(status) X\r\nLocation: /end\r\nContent-Length: 10\r\n\r\nabc")
          return connection.stall()
        }
      }
    }
    let body = String(repeating: "x", count: 900_000)
    let answer = try await Self.stack(LinkKind.current.engine()).fetch(
      .raw(ResourceRequest(method: .post, url: server.baseURL + "/start", body: .raw(body))))
    #expect(answer.value == Data("fine".utf8))
    #expect(server.requests.map(\.method) == ["POST", status == 303 ? "GET" : "POST"])
    #expect(server.requests.last?.body.count == (status == 303 ? 0 : body.utf8.count))
  }

  @Test("A redirect that may not be followed is refused when its head arrives")
  func refused() async throws {
    for (location, word) in [("ftp://a/", "redirect/invalid_redirect"), ("/start", "redirect/redirect_loop")] {
      let server = try Self.server(.endlessChunks, location: location)
      let engine = try LinkKind.current.engine()
      let stack = try Self.stack(engine)
      let error = try await #require(throws: HTTPFetchError<any Error>.self) {
        try await stack.fetch(.raw(ResourceRequest(url: server.baseURL + "/start")))
      }
      #expect(error.words == word && error.statusCode == .found)
      #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
    }
  }

  @Test("A redirect that is returned keeps its body: no Location, another status, or redirects not followed")
  func answers() async throws {
    let server = try LoopbackServer.http { request in
      let status = request.path == "/304" ? 304 : request.path == "/305" ? 305 : 302
      return LoopbackResponse(
        status: status, headers: request.path == "/nowhere" ? [:] : ["Location": "/end"], body: Array("moved".utf8))
    }
    for (path, policy, body) in [
      ("/nowhere", RedirectPolicy.follow(), "moved"), ("/305", .follow(), "moved"), ("/304", .follow(), ""),
      ("/start", .none, "moved"),
    ] {
      let stack = try Self.stack(LinkKind.current.engine()) { $0.redirects = policy }
      let error = try await #require(throws: HTTPFetchError<any Error>.self) {
        try await stack.fetch(.raw(ResourceRequest(url: server.baseURL + path)))
      }
      #expect(error.words == "http/unexpected_status" && error.body == .init(body.utf8), "\(path)")
    }
  }
}

extension HTTP2Servers {
  /// Returns options that trust the servers' authority.
  func options() -> RequestOptions {
    var options = RequestOptions()
    options.connection = ConnectionOptions()
    options.connection?.tls.roots = .pem(Array(authority.rootPEM.utf8))
    return options
  }
}
