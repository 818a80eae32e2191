// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHTTP

@Suite("Dialer transport, pool", .timeLimit(.minutes(15)))
struct ConnectionPoolTests {
  @Test("A hundred requests share four connections in the order in which they were queued")
  func concurrency() async throws {
    let paths = EventRecorder<String>()
    let server = MemoryServer { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        paths.record(String(head.split(separator: " ")[1]))
        try await far.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
      }
    }
    let transport = try server.transport { $0.connectionsPerHost = 4 }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<100 {
        group.addTask { try await transport.execute(.to("/\(number)")).body.bytes == Data("hi".utf8) }
      }
      for try await isWhole in group { #expect(isWhole) }
    }
    #expect(Set(paths.events).count == 100)
    #expect(server.dials.count <= 4)
  }

  @Test("Requests to other origins, or with other options, share no connection")
  func keys() async throws {
    let server = MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n")
    let transport = try server.transport()
    var options = ConnectionOptions()
    for _ in 0..<2 {
      _ = try await transport.execute(.to(authority: "a"))
      _ = try await transport.execute(.to(authority: "A:80"))
      _ = try await transport.execute(.to(authority: "a:81"))
      _ = try await transport.execute(.to(authority: "b"))
      options.httpVersion = .http1
      _ = try await transport.execute(.to(authority: "a") { [options] in $0.connection = options })
    }
    #expect(server.dials.events.map(\.host) == ["a", "a", "b", "a"])
  }

  @Test("An idle connection is closed at its idle limit, when too many are idle, and when bytes arrive")
  func idle() async throws {
    let clock = ManualClock()
    let closed = EventRecorder<Int>()
    let gate = EventRecorder<Int>()
    let server = MemoryServer { far, number in
      while case let head = try await far.readHead(), !head.isEmpty {
        try await far.write("HTTP/1.1 204 No\r\n\r\n")
        if head.contains("/stray") {
          _ = try await gate.waitForEvents(count: 1)
          try await far.write("HTTP/1.1 408 Late\r\n\r\n")
        }
      }
      closed.record(number)
    }
    let transport = try server.transport {
      $0.timeSource = clock.timeSource
      $0.idleConnections = 2
      $0.idleLifetime = .seconds(10)
    }
    for host in ["a", "b", "c"] {
      _ = try await transport.execute(.to(authority: host))
      clock.advance(by: .seconds(1))
    }
    #expect(try await closed.waitForEvents(count: 1) == [1])
    try await clock.waitForLimits(count: 1)
    let closedOnes = try await clock.moving(by: .seconds(10)) { try await closed.waitForEvents(count: 3) }
    #expect(Set(closedOnes) == [1, 2, 3])
    _ = try await transport.execute(.to("/stray", authority: "d"))
    gate.record(1)
    _ = try await closed.waitForEvents(count: 4)
    _ = try await transport.execute(.to(authority: "d"))
    #expect(server.dials.count == 5)
  }

  @Test(
    "With no idle connections allowed a released one is closed, even if requests with other options wait",
    arguments: [1, 3])
  func noIdle(connectionsPerHost: Int) async throws {
    let closed = EventRecorder<Int>()
    let server = MemoryServer { far, number in
      var heads = 0
      while case let head = try await far.readHead(), !head.isEmpty {
        heads += 1
        let isFirst = head.contains("/start")
        try await far.write(
          "HTTP/1.1 \(isFirst ? "302 Found\r\nLocation: /end" : "200 OK")\r\nContent-Length: 0\r\n\r\n")
      }
      closed.record(heads)
    }
    let transport = try server.transport {
      $0.idleConnections = 0
      $0.connectionsPerHost = connectionsPerHost
    }
    let stack = TransportNetworkStack(transport: transport, configuration: .patient)
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { _ = try await stack.fetch(.raw(ResourceRequest(url: "http://h/start"))) }
      }
      try await group.waitForAll()
    }
    // If requests shared connections, the wait below would not end.
    try #require(server.dials.count == 16)
    #expect(try await closed.waitForEvents(count: 16) == Array(repeating: 1, count: 16))
  }

  @Test(
    "A connection whose server is about to close it takes no request",
    arguments: [("timeout=0", 3), ("max=5, Timeout=0", 3), ("timeout=600", 1), ("timeout=x", 1)])
  func keepAlive(field: String, dials: Int) async throws {
    let server = MemoryServer(answering: "HTTP/1.1 204 No\r\nKeep-Alive: \(field)\r\n\r\n")
    let transport = try server.transport()
    for _ in 0..<3 { _ = try await transport.execute(.to()) }
    #expect(server.dials.count == dials)
  }

  @Test("A connection takes no request after its lifetime")
  func lifetime() async throws {
    let clock = ManualClock()
    let server = MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n")
    let transport = try server.transport {
      $0.timeSource = clock.timeSource
      $0.connectionLifetime = .seconds(30)
      $0.idleLifetime = .seconds(60)
    }
    for _ in 0..<2 { _ = try await transport.execute(.to()) }
    clock.advance(by: .seconds(30))
    for _ in 0..<2 { _ = try await transport.execute(.to()) }
    #expect(server.dials.count == 2)
  }

  @Test("Requests to servers that share a name have connections of their own, whose TLS name is the shared one")
  func members() async throws {
    let server = MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n")
    let transport = try server.transport()
    let members = [nil, MemberAddress(host: "10.0.0.1", port: nil), MemberAddress(host: "10.0.0.2", port: 8443)]
    for _ in 0..<3 {
      for member in members {
        for scheme in ["http", "https"] {
          _ = try await transport.execute(.to(scheme: scheme, authority: "h.example") { $0.member = member })
        }
      }
    }
    let dials = server.dials.events.map {
      "\($0.host):\($0.port) \($0.tls.map { $0.serverName ?? $0.applicationProtocols.joined() } ?? "-")"
    }
    #expect(
      dials == [
        "h.example:80 -", "h.example:443 h2http/1.1", "10.0.0.1:80 -", "10.0.0.1:443 h.example", "10.0.0.2:8443 -",
        "10.0.0.2:8443 h.example",
      ])
  }

  @Test("A failed dial fails the requests waiting for it, which share it if it may become HTTP/2")
  func failingDials() async throws {
    struct Refusing: Dialer {
      let dials = EventRecorder<Int>()
      func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
        dials.record(1)
        throw TransportError(stage: .connect, code: .connectFailed, message: "refused", requestSent: true)
      }
    }
    let dialer = Refusing()
    let transport = try DialerTransport(over: dialer)
    await withTaskGroup(of: TransportError?.self) { group in
      for _ in 0..<10 {
        group.addTask {
          await failure { () async throws(TransportError) in try await transport.execute(.to(scheme: "https")) }
        }
      }
      for await error in group { #expect(error?.code == .connectFailed && error?.requestSent == false) }
    }
    #expect((1...10).contains(dialer.dials.count))
  }

  /// A dialer, one of whose dials hangs until it is cancelled.
  private struct HangingDialer: Dialer {
    let below: any Dialer
    /// The number of the dial that hangs.
    var number = 1
    /// Whether that dial still opens a stream when it is cancelled.
    var standsAtLast = false
    let dials = EventRecorder<String>()
    let cancelled = EventRecorder<String>()

    func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
      guard dials.record(request.host) + 1 == number else { return try await below.dial(request) }
      do { try await Task.sleep(for: .seconds(1_000_000)) } catch {}
      cancelled.record(request.host)
      if standsAtLast { return try await below.dial(request) }
      throw .cancelled()
    }
  }

  @Test(
    "A dial that no request needs any more is cancelled, and the next request dials again", arguments: [false, true])
  func givenUpDial(standsAtLast: Bool) async throws {
    let ended = EventRecorder<Int>()
    let server = MemoryServer { far, number in
      while case let head = try await far.readHead(), !head.isEmpty { try await far.write("HTTP/1.1 204 No\r\n\r\n") }
      ended.record(number)
    }
    let dialer = HangingDialer(below: server.dialer, standsAtLast: standsAtLast)
    let transport = try DialerTransport(over: dialer)
    let first = Task { try await transport.execute(.to { $0.deadline = nil }) }
    _ = try await dialer.dials.waitForEvents(count: 1)
    first.cancel()
    _ = await first.result
    for _ in 0..<2 {
      let answer = try await transport.execute(.to { $0.connectTimeout = .seconds(60) })
      #expect(answer.head.status == .noContent)
    }
    #expect(dialer.dials.count == 2)
    _ = try await dialer.cancelled.waitForEvents(count: 1)
    // A stream that opens despite the cancellation is closed, and carries no request.
    if standsAtLast { _ = try await ended.waitForEvents(count: 1) }
    await transport.shutDown()
  }

  @Test("A dial whose request found another connection ends with the transport", arguments: [false, true])
  func leftDial(shutsDown: Bool) async throws {
    let arrived = EventRecorder<Int>()
    let gate = EventRecorder<Int>()
    let server = MemoryServer { far, number in
      while case let head = try await far.readHead(), !head.isEmpty {
        arrived.record(number)
        _ = try await gate.waitForEvents(count: 1)
        try await far.write("HTTP/1.1 204 No\r\n\r\n")
      }
    }
    let dialer = HangingDialer(below: server.dialer, number: 2)
    do {
      let transport = try DialerTransport(over: dialer)
      let first = Task { try await transport.execute(.to()).head.status }
      _ = try await arrived.waitForEvents(count: 1)
      let second = Task { try await transport.execute(.to()).head.status }
      _ = try await dialer.dials.waitForEvents(count: 2)
      gate.record(1)
      #expect(try await [first.value, second.value] == [.noContent, .noContent])
      #expect(dialer.cancelled.count == 0)
      if shutsDown { await transport.shutDown() }
    }
    _ = try await dialer.cancelled.waitForEvents(count: 1)
  }

  @Test("After a connection dies, a GET is sent again and a POST is not", arguments: [true, false])
  func resending(isGET: Bool) async throws {
    let posts = EventRecorder<String>()
    let server = MemoryServer { far, number in
      for turn in 0... {
        guard case let head = try await far.readHead(), !head.isEmpty else { return }
        posts.record(head)
        // The first connection receives its second request, and closes without an answer.
        if number == 1, turn == 1 { return }
        try await far.write("HTTP/1.1 204 No\r\n\r\n")
      }
    }
    let transport = try server.transport()
    _ = try await transport.execute(.to())
    let request = TransferRequest.to("/", isGET ? .get : .post) { $0.allowsResend = isGET }
    if isGET {
      let answer = try await transport.execute(request)
      #expect(answer.facts.resends == 1 && !answer.facts.connectionReused)
    } else {
      let error = await failure { () async throws(TransportError) in try await transport.execute(request) }
      #expect(error?.code == .connectionLost && error?.requestSent == true)
    }
    #expect(posts.events.count == (isGET ? 3 : 2))
  }

  @Test(
    "If one idle connection was closed the others are not trusted: a GET is resent on a fresh one", arguments: [2, 8])
  func resendingAfresh(limit: Int) async throws {
    let both = EventRecorder<Int>()
    let heads = EventRecorder<String>()
    let server = MemoryServer { far, number in
      _ = try await far.readHead()
      both.record(number)
      if number <= 2 { _ = try await both.waitForEvents(count: 2) }
      try await far.write("HTTP/1.1 204 No\r\n\r\n")
      if number <= 2, case let head = try await far.readHead(), !head.isEmpty { heads.record(head) }
    }
    let transport = try server.transport { $0.connectionsPerHost = limit }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 { group.addTask { _ = try await transport.execute(.to()) } }
      try await group.waitForAll()
    }
    let answer = try await transport.execute(.to("/again") { $0.allowsResend = true })
    #expect(answer.facts.resends == 1 && !answer.facts.connectionReused)
    #expect(heads.events.count == 1 && server.dials.count == 3)
  }

  @Test("When an idle close races with reuse, no POST is sent twice and no GET is lost")
  func races() async throws {
    let served = EventRecorder<String>()
    let server = MemoryServer { far, _ in
      guard case let head = try await far.readHead(), !head.isEmpty else { return }
      served.record(String(head.split(separator: " ")[1]))
      try await far.write("HTTP/1.1 204 No\r\n\r\n")
      // The server closes the connection at once, while the next request may be in flight.
    }
    let transport = try server.transport()
    for number in 0..<600 {
      let isGET = number % 2 == 0
      do {
        let answer = try await transport.execute(
          .to("/\(number)", isGET ? .get : .post) { $0.allowsResend = isGET })
        #expect(answer.head.status == .noContent)
      } catch {
        #expect(!isGET && error.code == .connectionLost)
      }
    }
    let asked = Set(served.events)
    #expect(asked.count == served.events.count)
    #expect((0..<300).allSatisfy { asked.contains("/\($0 * 2)") })
  }

  @Test("A slow reader of a body is not flooded, and dropping a body releases its connection")
  func backPressure() async throws {
    let written = EventRecorder<Int>()
    let server = MemoryServer(.init(capacity: 1 << 16)) { far, _ in
      while case let head = try await far.readHead(), !head.isEmpty {
        let pieces = head.contains("/small") ? 1 : 64
        try await far.write("HTTP/1.1 200 OK\r\nContent-Length: \(pieces << 16)\r\n\r\n")
        for piece in 0..<pieces {
          try await far.write([UInt8](repeating: 7, count: 1 << 16))
          written.record(piece)
        }
      }
    }
    let transport = try server.transport { $0.streamBufferBytes = 1 << 17 }
    let answer = try await transport.execute(.to { $0.delivery = .streamed(maximumBytes: nil) })
    var reader = answer.body.makeAsyncIterator()
    var taken = 0
    while let piece = try await reader.next() {
      taken += piece.count
      // At most our buffer, the bytes of one read, and the pipe's buffer are filled.
      #expect(written.count <= taken >> 16 + 5)
    }
    #expect(taken == 64 << 16)
    #expect(answer.body.finalFacts?.bytesReceived == 64 << 16)
    do { _ = try await transport.execute(.to { $0.delivery = .streamed(maximumBytes: nil) }) }
    #expect(try await transport.execute(.to("/small")).body.bytes?.count == 1 << 16)
    #expect(server.dials.count == 2)
  }

  @Test("A redirect whose body is not wanted keeps its connection")
  func redirects() async throws {
    let server = MemoryServer(answering: "HTTP/1.1 302 No\r\nLocation: /b\r\nContent-Length: 3\r\n\r\nabc")
    let transport = try server.transport()
    for _ in 0..<3 {
      let answer = try await transport.execute(.to { $0.dropsRedirectBodies = true })
      #expect(answer.head.status == .found && answer.body.bytes == Data())
    }
    #expect(server.dials.count <= 2)
  }

  @Test("Changed trust rules close pooled connections, and rules are checked before each request")
  func trust() async throws {
    struct Ruled: Dialer {
      let below: PinnedHostsDialer
      let judge: ScriptedJudge
      func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
        var plain = request
        plain.tls = nil
        return try await below.below.dial(plain)
      }
      func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }
      func trustRevisions(for request: DialRequest) -> [UInt64] { [judge.revision] }
    }
    let server = MemoryServer(answering: "HTTP/1.1 204 No\r\n\r\n")
    let judge = ScriptedJudge(accepts: { _ in true })
    let pinned = PinnedHostsDialer(below: server.dialer, pinned: ["pinned"])
    let transport = try DialerTransport(over: Ruled(below: pinned, judge: judge))
    for _ in 0..<2 { _ = try await transport.execute(.to()) }
    #expect(pinned.checked.count == 2 && server.dials.count == 1)
    judge.changeRules()
    for _ in 0..<2 { _ = try await transport.execute(.to()) }
    #expect(server.dials.count == 2)
    let error = await failure { () async throws(TransportError) in
      try await transport.execute(.to(authority: "pinned"))
    }
    #expect(error?.code == .plaintextRefused && error?.requestSent == false)
  }

  @Test(
    "After shutdown the transport accepts no requests, and waits for running ones unless it cancels them",
    arguments: [true, false])
  func shutDown(cancels: Bool) async throws {
    let gate = EventRecorder<Int>()
    let server = MemoryServer { far, _ in
      _ = try await far.readHead()
      gate.record(1)
      _ = try await gate.waitForEvents(count: 2)
      try? await far.write("HTTP/1.1 204 No\r\n\r\n")
      _ = try? await far.readToEnd()
      gate.record(3)
    }
    let transport = try server.transport()
    let running = Task { () -> String in
      do throws(TransportError) {
        return "\(try await transport.execute(.to()).head.status.code)"
      } catch {
        return "\(error.code)"
      }
    }
    _ = try await gate.waitForEvents(count: 1)
    let ending = Task { await transport.shutDown(cancelling: cancels) }
    if cancels { await ending.value }
    gate.record(2)
    #expect(await running.value == (cancels ? "shut_down" : "204"))
    await ending.value
    _ = try await gate.waitForEvents(count: 3)
    let error = await failure { () async throws(TransportError) in try await transport.execute(.to()) }
    #expect(error?.code == .shutDown)
  }

  @Test("A full queue refuses requests")
  func queue() async throws {
    let gate = EventRecorder<Int>()
    let server = MemoryServer { far, _ in
      gate.record(1)
      _ = try await far.readToEnd()
    }
    let transport = try server.transport {
      $0.connectionsPerHost = 1
      $0.maximumQueuedRequests = 0
    }
    let first = Task { try await transport.execute(.to()) }
    _ = try await gate.waitForEvents(count: 1)
    let error = await failure { () async throws(TransportError) in try await transport.execute(.to()) }
    #expect(error?.code == .queueFull)
    first.cancel()
    _ = await first.result
  }
}
