// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// HTTP/2 connections that end or fall silent between two requests or during one.
@Suite("Faults: reused HTTP/2 connections", .overEachLink, .timeLimit(.minutes(15)))
struct HTTP2ReuseTests {
  /// The server's action on a connection without requests.
  enum Idle: String, CaseIterable, Sendable {
    case closeNotify, closeNotifyAndEnd, end, goAway, goAwayAndCloseNotify, settingsThenGoAway, pingThenCloseNotify

    func play(on http2: LoopbackHTTP2Connection) throws {
      switch self {
      case .closeNotify: http2.connection.closeNotify()
      case .closeNotifyAndEnd:
        http2.connection.closeNotify()
        http2.connection.halfClose()
      case .end: http2.connection.halfClose()
      case .goAway: try http2.write(.goAway(lastStream: 1))
      case .goAwayAndCloseNotify:
        try http2.write(.goAway(lastStream: 1))
        http2.connection.closeNotify()
      case .settingsThenGoAway:
        try http2.write(.settings([.init(3, 50)]))
        try http2.write(.goAway(lastStream: 1))
      case .pingThenCloseNotify:
        try http2.write(Self.ping)
        http2.connection.closeNotify()
      }
    }

    static let ping = LoopbackHTTP2Frame(.ping, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8])
  }

  /// Returns a server that answers one request on its first connection and then runs `idle`. It answers all requests on
  /// later connections.
  private func server(
    _ lab: HTTP2Servers, idle: @escaping @Sendable (LoopbackHTTP2Connection) throws -> Void, done: EventRecorder<String>
  ) throws -> LoopbackServer {
    try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      guard http2.connection.number == 1 else { return try http2.serve { _ in .text("fine") } }
      guard let request = try http2.readRequest() else { return }
      try http2.respond(to: request, with: .text("first"))
      try idle(http2)
      done.record("done")
      try http2.serve { _ in .text("again") }
    }
  }

  @Test(
    "A connection that the server closed while idle fails no request, not even a POST", arguments: Idle.allCases)
  func ended(_ idle: Idle) async throws {
    for method in [HTTPRequest.Method.get, .post] {
      let lab = try HTTP2Servers()
      let done = EventRecorder<String>()
      let server = try server(lab, idle: idle.play, done: done)
      #expect(await lab.outcome(server, "/first") == .answered(200, "first"))
      try await done.waitForEvents(count: 1)
      #expect(await server.waitForClosing())
      let second = await lab.outcome(server, "/second", method: method)
      #expect(second == .answered(200, "fine"))
      let third = await lab.outcome(server, "/third", method: method)
      #expect(third == .answered(200, "fine"))
      #expect(server.requests.map(\.connection) == [1, 2, 2], "nothing is sent over the dead connection")
      #expect(await eventually { lab.engine.activeTransfers == 0 })
    }
  }

  @Test(
    "Of many concurrent requests none is sent over a connection that has ended", arguments: [Idle.closeNotify, .goAway])
  func manyAtOnce(_ idle: Idle) async throws {
    let lab = try HTTP2Servers()
    let done = EventRecorder<String>()
    let server = try server(lab, idle: idle.play, done: done)
    #expect(await lab.outcome(server, "/first") == .answered(200, "first"))
    try await done.waitForEvents(count: 1)
    #expect(await server.waitForClosing())
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<30 { group.addTask { await lab.outcome(server, "/many", method: .post) } }
      for await outcome in group { #expect(outcome == .answered(200, "fine")) }
    }
    #expect(server.requests.count == 31)
    #expect(server.acceptedConnections <= 3, "\(server.acceptedConnections)")
  }

  @Test("A frame that ends nothing keeps the connection in use")
  func harmless() async throws {
    let frames: [LoopbackHTTP2Frame] = [Idle.ping, .windowUpdate(1_000, stream: 0), .settings([.init(3, 50)])]
    for frame in frames {
      let lab = try HTTP2Servers()
      let done = EventRecorder<String>()
      let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
        guard let stream = try http2.readRequest()?.stream else { return }
        // Both frames are in one record: libcurl stops reading at the announced length.
        try http2.write(
          .head(200, ["content-length": "5"], stream: stream), .data("first".utf8, stream: stream, ends: true))
        try http2.write(frame)
        done.record("done")
        try http2.serve { _ in .text("again") }
      }
      #expect(await lab.outcome(server, "/first") == .answered(200, "first"))
      try await done.waitForEvents(count: 1)
      #expect(await lab.outcome(server, "/second", method: .post) == .answered(200, "again"), "\(frame.kind)")
      #expect(server.requests.map(\.connection) == [1, 1])
    }
  }

  /// The ways in which a connection with an active request ends.
  enum Death: String, CaseIterable, Sendable {
    case closeNotify, end, goAway, goAwayAndEnd, reset, halfFrame

    func play(on http2: LoopbackHTTP2Connection) throws {
      // On the first connection, GOAWAY names the request that was answered.
      let last: UInt32 = http2.connection.number == 1 ? 1 : 0
      switch self {
      case .closeNotify: http2.connection.closeNotify()
      case .end: http2.connection.halfClose()
      case .goAway: try http2.write(.goAway(lastStream: last))
      case .goAwayAndEnd:
        try http2.write(.goAway(lastStream: last))
        http2.connection.closeNotify()
        http2.connection.halfClose()
      case .reset: http2.connection.reset()
      case .halfFrame:
        try http2.connection.write(LoopbackHTTP2Frame.head(200, stream: 3).bytes.prefix(10))
        http2.connection.closeNotify()
        http2.connection.halfClose()
      }
      _ = http2.connection.readToEnd()
    }
  }

  /// Returns a server that answers `/first`. Every other request kills its connection, for connections up to number
  /// `last`.
  private func dying(_ death: Death, upTo last: Int, _ lab: HTTP2Servers) throws -> LoopbackServer {
    try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      while let request = try http2.readRequest() {
        if request.path == "/first" || http2.connection.number > last {
          try http2.respond(to: request, with: .text("fine"))
        } else {
          return try death.play(on: http2)
        }
      }
    }
  }

  @Test("A request that may be resent is resent once if a reused connection dies", arguments: Death.allCases)
  func again(_ death: Death) async throws {
    let lab = try HTTP2Servers()
    let server = try dying(death, upTo: 1, lab)
    #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
    var request = TransferRequest.to(server, "/second")
    request.trust(lab.authority)
    request.deadline = .seconds(200)
    let response = try await lab.engine.execute(request)
    #expect(response.head.status == .ok)
    #expect(response.facts.resends == 1)
    #expect(server.requests.map(\.connection) == [1, 1, 2])
    #expect(await lab.outcome(server, "/third") == .answered(200, "fine"))
    #expect(await eventually { lab.engine.activeTransfers == 0 })
  }

  @Test("A body in memory is sent again with its request")
  func againWithBody() async throws {
    let lab = try HTTP2Servers()
    let server = try dying(.closeNotify, upTo: 1, lab)
    #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
    let outcome = await lab.outcome(server, "/second", method: .put) {
      $0.body = .raw("all of it")
      $0.allowsResend = true
    }
    #expect(outcome == .answered(200, "fine"))
    #expect(server.requests.last?.text == "all of it")
  }

  @Test("A request that may not be resent is sent once", arguments: Death.allCases)
  func onceOnly(_ death: Death) async throws {
    let lab = try HTTP2Servers()
    let server = try dying(death, upTo: 1, lab)
    #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
    if [.goAway, .goAwayAndEnd].contains(death) {
      // The server did not process the request.
      #expect(await lab.outcome(server, "/second", method: .post) == .answered(200, "fine"))
      #expect(server.requests.count { $0.path == "/second" } == 2)
      return
    }
    let error = try await lab.failure(server, "/second", method: .post)
    #expect(
      ["response", "send"].contains(error.stage.rawValue), "\(error)")
    #expect(error.requestSent)
    #expect(server.requests.count { $0.path == "/second" } == 1)
    #expect(await lab.outcome(server, "/third", method: .post) == .answered(200, "fine"))
  }

  @Test("A request is resent once, or three times if the server processed nothing, and not indefinitely")
  func onceAgainOnly() async throws {
    for death in [Death.closeNotify, .goAway] {
      let lab = try HTTP2Servers()
      let server = try dying(death, upTo: .max, lab)
      #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
      let error = try await lab.failure(server, "/second") { $0.allowsResend = true }
      let isUnprocessed = death == .goAway
      #expect(error.requestSent == !isUnprocessed)
      #expect(error.facts?.resends == (isUnprocessed ? 3 : 1))
      #expect(server.requests.count { $0.path == "/second" } == (isUnprocessed ? 4 : 2))
    }
  }

  @Test("A request refused on one reused connection and lost on another is resent only if unprocessed")
  func refusedAndLost() async throws {
    for death in [Death.closeNotify, .goAway] {
      let lab = try HTTP2Servers()
      var settings = LoopbackHTTP2Settings()
      settings.maximumConcurrentStreams = 1
      let held = EventRecorder<Int>(), tries = EventRecorder<Int>()
      let server = try LoopbackServer.http2Script(tls: lab.tls(), settings: settings) { http2 in
        while let request = try http2.readRequest(), let stream = request.stream {
          switch request.path {
          case "/held":
            // The two requests use two connections, because each connection allows one stream.
            held.record(http2.connection.number)
            while held.count < 2, http2.connection.pause(.milliseconds(10)) {}
          case "/second":
            let number = tries.record(http2.connection.number)
            if number == 0 {
              // Both frames are sent in one write, so that the request is sent again over the other connection.
              try http2.write(.resetStream(.refusedStream, stream: stream), .goAway(lastStream: stream))
              continue
            }
            if number == 1 { return try death.play(on: http2) }
          default: break
          }
          try http2.respond(to: request, with: .text("fine"))
        }
      }
      #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
      async let other = lab.outcome(server, "/held")
      #expect(await lab.outcome(server, "/held") == .answered(200, "fine"))
      #expect(await other == .answered(200, "fine"))
      if death == .goAway {
        #expect(await lab.outcome(server, "/second") == .answered(200, "fine"))
        #expect(tries.count == 3)
        continue
      }
      let error = try await lab.failure(server, "/second") { $0.allowsResend = true }
      #expect(error.requestSent && error.facts?.resends == 1, "\(error)")
      #expect(tries.count <= 2)
    }
  }

  @Test("The error says that bytes were sent even if the second connection cannot be established")
  func noSecondConnection() async throws {
    let lab = try HTTP2Servers()
    var broken = try lab.tls()
    broken.applicationProtocols = ["h2"]
    broken.handshakeFault = .resetInHandshake
    let servers = EventRecorder<LoopbackServer>()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { [broken] http2 in
      while let request = try http2.readRequest() {
        if request.path == "/first" {
          try http2.respond(to: request, with: .text("fine"))
        } else {
          for server in servers.events { try server.replaceTLS(broken) }
          return try Death.closeNotify.play(on: http2)
        }
      }
    }
    servers.record(server)
    #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
    let error = try await lab.failure(server, "/second") { $0.allowsResend = true }
    #expect(error.requestSent, "\(error)")
    #expect(error.facts?.resends == 1)
    #expect(server.acceptedConnections == 2)
    servers.removeAll()
  }

  @Test("A GOAWAY during many requests fails none that may be resent")
  func goAwayAmongMany() async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      guard http2.connection.number == 1 else { return try http2.serve { _ in .text("fine") } }
      // The server answers the first ten of the later requests, and declares the rest unprocessed.
      var later: [LoopbackRequest] = []
      while let request = try http2.readRequest() {
        if request.path == "/first" {
          try http2.respond(to: request, with: .text("fine"))
          continue
        }
        later.append(request)
        guard later.count == 30, let last = later[9].stream else { continue }
        try http2.write(.goAway(lastStream: last))
        for request in later.prefix(10) { try http2.respond(to: request, with: .text("fine")) }
        http2.connection.closeNotify()
        http2.connection.halfClose()
        _ = http2.connection.readToEnd()
      }
    }
    #expect(await lab.outcome(server, "/first") == .answered(200, "fine"))
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<30 { group.addTask { await lab.outcome(server, "/later") { $0.allowsResend = true } } }
      for await outcome in group { #expect(outcome == .answered(200, "fine")) }
    }
  }

  @Test("A request that may not be resent fails without disturbing others on its connection")
  func stoppedAlone() async throws {
    let lab = try HTTP2Servers()
    let (refusing, answering) = (try LoopbackGate(), try LoopbackGate())
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      var waiting: [UInt32] = []
      while let request = try http2.readRequest(), let stream = request.stream {
        switch request.path {
        case "/first": try http2.respond(to: request, with: .text("first"))
        case "/held", "/mark": waiting.append(stream)
        case "/refused" where http2.connection.number == 1:
          // No further request arrives here from now on. The answer to `mark` confirms this to the test.
          try http2.write(.goAway(lastStream: stream), .head(200, stream: waiting[1], ends: true))
          http2.connection.wait(for: refusing)
          try http2.write(.resetStream(.refusedStream, stream: stream))
          http2.connection.wait(for: answering)
          try http2.write(.head(200, stream: waiting[0], ends: true))
        case "/long":
          http2.connection.wait(for: answering)
          try http2.respond(to: request, with: .text("long"))
        default: try http2.respond(to: request, with: .text("fine"))
        }
      }
    }
    #expect(await lab.outcome(server, "/first") == .answered(200, "first"))
    async let held = lab.outcome(server, "/held")
    try await server.waitForRequests(count: 2)
    async let mark = lab.outcome(server, "/mark")
    try await server.waitForRequests(count: 3)
    async let refused = lab.outcome(server, "/refused", method: .post)
    #expect(await mark == .answered(200, ""))
    async let long = lab.outcome(server, "/long")
    try await server.waitForRequests(count: 5)
    refusing.open()
    answering.open()
    #expect(await refused == .answered(200, "fine"))
    #expect(await long == .answered(200, "long"))
    #expect(await held == .answered(200, ""))
    #expect(await lab.outcome(server, "/next", method: .post) == .answered(200, "fine"))
    // The server closes a connection on which the client resets a stream that it never opened (RFC 9113 §6.4).
    #expect(!server.errors.contains { if case LoopbackError.malformedRequest = $0 { true } else { false } })
  }

  // MARK: silence

  @Test("A connection that was silent for the idle limit is not reused, not even within a body")
  func silent() async throws {
    for isStreamed in [false, true] {
      let lab = try HTTP2Servers()
      let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
        while let request = try http2.readRequest(), let stream = request.stream {
          guard request.path == "/stalls" else {
            try http2.respond(to: request, with: .text("fine"))
            continue
          }
          try http2.write(
            .head(200, ["content-length": "100"], stream: stream),
            LoopbackHTTP2Frame(.data, stream: stream, payload: Array("half".utf8), length: 100))
          http2.connection.stall()
        }
      }
      #expect(await lab.outcome(server, "/before") == .answered(200, "fine"))
      let outcome = await lab.outcome(server, "/stalls") {
        $0.idleTimeout = .seconds(3)
        if isStreamed { $0.delivery = .streamed(maximumBytes: nil) }
      }
      #expect(outcome == .failed("timeout/idle_timeout"))
      #expect(await lab.outcome(server, "/after", method: .post) == .answered(200, "fine"))
      #expect(server.requests.map(\.connection) == [1, 1, 2])
    }
  }

  @Test("A silent connection that other requests wait on is left to them and not reused")
  func silentForOthers() async throws {
    let lab = try HTTP2Servers()
    let gate = try LoopbackGate()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      while let request = try http2.readRequest() {
        guard request.path == "/slow" else {
          if request.path != "/stalls" { try http2.respond(to: request, with: .text("fine")) }
          continue
        }
        guard let stalled = try http2.readRequest(), let stream = stalled.stream else { return }
        try http2.write(.head(200, ["content-length": "100"], stream: stream))
        http2.connection.wait(for: gate)
        try http2.respond(to: request, with: .text("slow"))
      }
    }
    async let slow = lab.outcome(server, "/slow")
    try await server.waitForRequests(count: 1)
    #expect(
      await lab.outcome(server, "/stalls") { $0.idleTimeout = .seconds(3) } == .failed("timeout/idle_timeout"))
    #expect(await lab.outcome(server, "/other", method: .post) == .answered(200, "fine"))
    gate.open()
    #expect(await slow == .answered(200, "slow"))
    #expect(server.requests.map(\.connection) == [1, 1, 2])
  }

  @Test("A connection whose other streams make progress is kept when one of them stalls")
  func moving() async throws {
    let lab = try HTTP2Servers()
    let gate = try LoopbackGate()
    let server = try LoopbackServer.http2Script(tls: lab.tls()) { http2 in
      guard let moving = try http2.readRequest()?.stream, let stalled = try http2.readRequest()?.stream else { return }
      try http2.write(.head(200, stream: moving), .head(200, ["content-length": "100"], stream: stalled))
      while !gate.isOpen, http2.connection.pause(.milliseconds(10)) {
        try http2.write(.data("x".utf8, stream: moving))
      }
      try http2.write(.data([], stream: moving, ends: true))
      try http2.serve { _ in .text("fine") }
    }
    async let moving = lab.outcome(server, "/moving")
    try await server.waitForRequests(count: 1)
    // The limit exceeds the delay that a busy machine adds to the active stream.
    #expect(
      await lab.outcome(server, "/stalls") { $0.idleTimeout = .seconds(3) } == .failed("timeout/idle_timeout"))
    gate.open()
    #expect(await lab.outcome(server, "/after", method: .post) == .answered(200, "fine"))
    _ = await moving
    #expect(server.acceptedConnections == 1)
  }
}
