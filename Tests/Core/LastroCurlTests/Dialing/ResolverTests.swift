// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Dispatch
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroEveryday
import LastroResilience
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// A resolver that returns configured addresses and records the names it was asked for.
private final class Table: NameResolver {
  private let state: Lock<(addresses: [String], asked: [String], unreachable: Int)>

  init(_ addresses: String...) { state = Lock((addresses, [], 0)) }

  var asked: [String] { state.withLock { $0.asked } }
  var unreachable: Int { state.withLock { $0.unreachable } }

  func move(to addresses: String...) { state.withLock { $0.addresses = addresses } }

  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    try ResolvedName(
      addresses: state.withLock { state in
        state.asked.append(name.text)
        return state.addresses
      })
  }

  func connectionFailed(to name: HostName, port: Int) { state.withLock { $0.unreachable += 1 } }
}

/// A resolver that never answers, and reports when its task is cancelled.
private final class Hanging: NameResolver {
  let asked = Watched(0)
  let cancelled = Watched(0)

  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    asked.change { $0 += 1 }
    let never = AsyncStream<Never>.makeStream()
    for await _ in never.stream {}
    cancelled.change { $0 += 1 }
    throw TransportError(stage: .resolve, code: .hostNotFound, message: "late")
  }
}

private struct Failing: NameResolver {
  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    throw TransportError(stage: .resolve, code: .hostNotFound, message: "the registry is down")
  }
}

/// A listener on an address of this machine that accepts nothing. The kernel completes connections, but no byte is ever
/// sent. If the listener's queue is full, the kernel does not complete connections either.
private final class SilentListener {
  private let listener: Int32
  private var fillers: [Int32] = []

  init(_ address: String, port: Int, isFull: Bool = false) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    try #require(Self.with(address, port) { bind(listener, $0, $1) } == 0)
    try #require(listen(listener, isFull ? 0 : 16) == 0)
    guard isFull else { return }
    for _ in 0..<4 {
      let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      _ = Self.with(address, port) { connect(filler, $0, $1) }
      fillers.append(filler)
    }
  }

  deinit { for descriptor in fillers + [listener] { close(descriptor) } }

  private static func with(
    _ address: String, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = in_port_t(port).bigEndian
    inet_pton(AF_INET, address, &name.sin_addr)
    return withUnsafePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// Waits for a connection, and returns its descriptor.
  func accept() async -> Int32 { await Self.blocking { [listener] in Glibc.accept(listener, nil, nil) } }

  /// Waits until the peer closes a connection.
  func waitForEnd(of connection: Int32) async {
    _ = await Self.blocking {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      while recv(connection, &bytes, bytes.count, 0) > 0 {}
      return close(connection)
    }
  }

  /// Runs a blocking call outside the threads of Swift's tasks, because there may be only one such thread.
  private static func blocking(_ call: @escaping @Sendable () -> Int32) async -> Int32 {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: call()) }
    }
  }
}

@Suite("Custom resolver", .timeLimit(.minutes(15)))
struct ResolverTests {
  private static func stack(
    _ resolver: any NameResolver, configuration: StackConfiguration = .patient,
    _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlNetworkStack {
    try .direct(
      {
        $0.connection.resolver = resolver
        edit(&$0)
      }, configuration: configuration)
  }

  private static func answer() throws -> LoopbackServer { try LoopbackServer.http { _ in .text("fine") } }

  @Test("If the first address refuses, the second is used, and the request keeps its host name")
  func firstRefuses() async throws {
    let server = try Self.answer()
    let table = Table("127.0.0.2", "127.0.0.1")
    let answer = try await Self.stack(table).send(.get, "http://far.test:\(server.port)/")
    #expect(answer.text == "fine")
    #expect(answer.response.facts.remoteAddress == "127.0.0.1")
    #expect(answer.response.facts.timings.connect != nil)
    #expect(server.requests.first?.head["Host"] == "far.test:\(server.port)")
    #expect(table.asked == ["far.test"])
    #expect(server.acceptedConnections == 1)
  }

  @Test("If the first address never answers, the second is used")
  func blackHole() async throws {
    let server = try Self.answer()
    let hole = try SilentListener("127.0.0.3", port: server.port, isFull: true)
    let stack = try Self.stack(Table("127.0.0.3", "127.0.0.1"))
    for _ in 0..<2 {
      #expect(try await stack.send(.get, "http://far.test:\(server.port)/").text == "fine")
    }
    withExtendedLifetime(hole) {}
  }

  @Test("The address that completes TLS first wins, and its certificate is checked against the host name")
  func tls() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer.http(tls: LoopbackTLS(try authority.issue(hosts: ["far.test"]))) { _ in
      .text("fine")
    }
    let silent = try SilentListener("127.0.0.3", port: server.port)
    let stack = try Self.stack(Table("127.0.0.3", "127.0.0.1")) {
      $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    }
    let answer = try await stack.send(.get, "https://far.test:\(server.port)/")
    #expect(answer.text == "fine" && answer.response.facts.remoteAddress == "127.0.0.1")
    // The connection that lost the race is closed.
    await silent.waitForEnd(of: silent.accept())
    let error = try await failure { try await stack.send(.get, "https://other.test:\(server.port)/") }
    #expect(error.words == "tls/host_mismatch")
  }

  @Test("An untrusted server ends the attempt: no other address is tried")
  func trust() async throws {
    let authority = try CertificateAuthority()
    let server = try LoopbackServer.http(tls: LoopbackTLS(try authority.issue(hosts: ["far.test"]))) { _ in
      .text("fine")
    }
    let policy = try PinningPolicy(
      "far.test",
      pins: [
        "\(try CertificateMint.selfSigned(hosts: ["far.test"]).pin)", TestAuthority.sparePin,
      ])
    let stack = try Self.stack(Table("127.0.0.1", "127.0.0.2")) {
      $0.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
      $0.connection.tls.trustJudge = try? ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy]))
    }
    let error = try await failure { try await stack.send(.get, "https://far.test:\(server.port)/") }
    #expect(error.words == "trust/pin_mismatch", "\(error)")
    #expect(server.receivedBytes == 0)
  }

  @Test("If all addresses fail, the error lists each of them")
  func allFail() async throws {
    let server = try Self.answer()
    let table = Table("127.0.0.2", "127.0.0.3")
    let error = try await failure { try await Self.stack(table).send(.get, "http://far.test:\(server.port)/") }
    #expect(error.words == "connect/connect_failed")
    let text = "127.0.0.2: Connection refused; 127.0.0.3: Connection refused"
    #expect("\(error)".contains(text), "\(error)")
    #expect(error.transportError?.systemCode == ECONNREFUSED)
    #expect(await eventually { table.unreachable == 1 })
    let one = try await failure {
      try await Self.stack(Table("127.0.0.2")).send(.get, "http://far.test:\(server.port)/")
    }
    #expect(one.words == "connect/connect_failed" && !"\(one)".contains("127.0.0.2"))
  }

  @Test("New connections follow a name to its new address")
  func moves() async throws {
    let server = try Self.answer()
    let table = Table("127.0.0.2")
    let stack = try Self.stack(table)
    let url = "http://far.test:\(server.port)/"
    #expect(try await failure { try await stack.send(.get, url) }.words == "connect/connect_failed")
    table.move(to: "127.0.0.1")
    for _ in 0..<3 { #expect(try await stack.send(.get, url).text == "fine") }
    // Reusing an open connection needs no address.
    #expect(table.asked.count == 2)
  }

  @Test("A resolver that fails, or returns no address, fails the request")
  func failures() async throws {
    let error = try await failure { try await Self.stack(Failing()).send(.get, "http://far.test/") }
    #expect(error.words == "resolve/host_not_found" && "\(error)".contains("the registry is down"))
    let none = try await failure { try await Self.stack(Table()).send(.get, "http://far.test/") }
    #expect(none.words == "resolve/host_not_found" && "\(none)".contains("far.test has no address"))
    let wrong = try await failure { try await Self.stack(Table("far.example")).send(.get, "http://far.test/") }
    #expect(wrong.words == "resolve/invalid_option")
    #expect("\(wrong)".contains("\"far.example\", which is not an IP address"))
  }

  @Test("A resolver that hangs is cancelled at the connect timeout")
  func hangs() async throws {
    var configuration = StackConfiguration.patient
    configuration.timeouts = try Timeouts(connect: .milliseconds(20), attempt: nil, idle: .seconds(600), total: nil)
    let resolver = Hanging()
    let stack = try Self.stack(resolver, configuration: configuration)
    let error = try await failure { try await stack.send(.get, "http://far.test/") }
    #expect(error.words == "timeout/connect_timeout", "\(error)")
    #expect(await resolver.cancelled.wait { $0 > 0 })
  }

  @Test("A cancelled task cancels the lookup and the connection attempts")
  func cancellation() async throws {
    let resolver = Hanging()
    let stack = try Self.stack(resolver)
    let resolving = Task { try await stack.send(.get, "http://far.test/") }
    #expect(await resolver.asked.wait { $0 == 1 })
    resolving.cancel()
    #expect(try await failure { try await resolving.value }.stage == .cancelled)
    #expect(await resolver.cancelled.wait { $0 == 1 })

    let server = try Self.answer()
    let silent = try SilentListener("127.0.0.3", port: server.port)
    let dialing = Task { try await Self.stack(Table("127.0.0.3")).send(.get, "https://far.test:\(server.port)/") }
    let connection = await silent.accept()
    dialing.cancel()
    #expect(try await failure { try await dialing.value }.stage == .cancelled)
    await silent.waitForEnd(of: connection)
  }

  @Test("A shutdown ends requests that wait for a resolver, and leaves nothing behind")
  func shutDown() async throws {
    let resolver = Hanging()
    let stack = try Self.stack(resolver)
    let resolving = Task { try await stack.send(.get, "http://far.test/") }
    #expect(await resolver.asked.wait { $0 == 1 })
    await stack.shutDown(cancelling: true)
    #expect(try await failure { try await resolving.value }.words == "cancelled/shut_down")
    #expect(await resolver.cancelled.wait { $0 == 1 })
  }

  @Test("A thousand requests share one lookup")
  func oneLookUp() async throws {
    let server = try Self.answer()
    let table = Table("127.0.0.1")
    let stack = try Self.stack(CachingResolver(over: table))
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<1_000 { group.addTask { try await stack.send(.get, "http://far.test:\(server.port)/").text } }
      for try await text in group { #expect(text == "fine") }
    }
    #expect(table.asked == ["far.test"])
  }

  @Test("Each resolved address is checked against the egress policy", arguments: [false, true])
  func egress(isMixed: Bool) async throws {
    let server = try Self.answer()
    var policy = EgressPolicy.publicInternet
    try policy.allow("127.0.0.1")
    policy.skipsDeniedAddresses = isMixed
    let stack = try Self.stack(Table("127.0.0.2", "127.0.0.1")) { $0.connection.egress = policy }
    let url = "http://far.test:\(server.port)/"
    if isMixed {
      #expect(try await stack.send(.get, url).text == "fine")
    } else {
      let error = try await failure { try await stack.send(.get, url) }
      #expect(error.words == "policy/egress_denied" && !"\(error)".contains("127.0.0"), "\(error)")
      #expect(server.acceptedConnections == 0)
    }
    let denied = try Self.stack(Table("127.0.0.2", "127.0.0.3")) { $0.connection.egress = policy }
    #expect(try await failure { try await denied.send(.get, url) }.words == "policy/egress_denied")
  }

  @Test("IP addresses, fixed resolutions and names with a rule bypass the resolver")
  func notAsked() async throws {
    let server = try Self.answer()
    let table = Table("127.0.0.9")
    let stack = try Self.stack(table) {
      $0.connection.resolutions = [.init(host: "fixed.test", port: server.port, addresses: ["127.0.0.1"])]
    }
    for host in ["127.0.0.1", "localhost", "fixed.test"] {
      #expect(try await stack.send(.get, "http://\(host):\(server.port)/").text == "fine", "\(host)")
    }
    for host in ["a.invalid", "abc.onion"] {
      #expect(try await failure { try await stack.send(.get, "http://\(host)/") }.words == "resolve/host_not_found")
    }
    #expect(table.asked.isEmpty)
  }

  @Test("Names are left to the proxy to resolve")
  func proxies() async throws {
    let proxy = try Self.answer()
    let table = Table("127.0.0.9")
    let stack = try Self.stack(table) { $0.connection.proxy = .url(proxy.baseURL) }
    #expect(try await stack.send(.get, "http://far.test/").text == "fine")
    #expect(table.asked.isEmpty)
  }

  @Test("A request's connection options use the engine's resolver, or bring their own")
  func ownOptions() async throws {
    let server = try Self.answer()
    let outer = Table("127.0.0.1"), inner = Table("127.0.0.1")
    let stack = try Self.stack(outer)
    let url = "http://far.test:\(server.port)/"
    _ = try await stack.send(.get, url, options: .connection { $0.httpVersion = .http1 })
    #expect(outer.asked.count == 1)
    _ = try await stack.send(.get, url, options: .connection { $0.resolver = inner })
    #expect(outer.asked.count == 1 && inner.asked.count == 1)
    // The same resolver shares the same connections.
    _ = try await stack.send(.get, url, options: .connection { $0.resolver = inner })
    #expect(inner.asked.count == 1 && server.acceptedConnections == 2)
  }

  private static func dialer(
    _ resolver: any NameResolver, _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    configuration.connection.resolver = resolver
    edit(&configuration)
    return try CurlTransport(configuration)
  }

  @Test("Cancelling a datagram dial cancels its lookup")
  func datagramLookUp() async throws {
    let resolver = Hanging()
    let dialer = try Self.dialer(resolver)
    let late = await words {
      try await dialer.dialDatagrams(DialRequest(host: "far.test", port: 9, connectTimeout: .milliseconds(50)))
    }
    #expect(late == "timeout/connect_timeout")
    #expect(await resolver.cancelled.wait { $0 == 1 })
    let dialing = Task {
      await words { try await dialer.dialDatagrams(DialRequest(host: "far.test", port: 9, connectTimeout: nil)) }
    }
    #expect(await resolver.asked.wait { $0 == 2 })
    dialing.cancel()
    #expect(await dialing.value == "cancelled/cancelled")
    #expect(await resolver.cancelled.wait { $0 == 2 })
    #expect(await eventually { dialer.activeStreams == 0 })
  }

  @Test("Datagrams go to an allowed address of a mixed answer, wherever it is listed")
  func egressOfDatagrams() async throws {
    var policy = EgressPolicy.publicInternet
    try policy.allow("127.0.0.1")
    let (denied, other) = ("127.0.0.2", "127.0.0.3")
    let mixed = [
      Table(denied, "127.0.0.1", denied), Table("127.0.0.1", denied), Table(denied, "127.0.0.1"),
      Table(denied, other, "127.0.0.1", other, denied),
    ]
    for skips in [true, false] {
      policy.skipsDeniedAddresses = skips
      let request = DialRequest(host: "far.test", port: 9)
      for table in mixed {
        let dialer = try Self.dialer(table) { $0.connection.egress = policy }
        if skips {
          let stream = try await dialer.dialDatagrams(request)
          #expect(stream.facts.remoteAddress == "127.0.0.1")
        } else {
          #expect(await words { try await dialer.dialDatagrams(request) } == "policy/egress_denied")
        }
      }
      let none = try Self.dialer(Table(denied, other, denied)) { $0.connection.egress = policy }
      #expect(await words { try await none.dialDatagrams(request) } == "policy/egress_denied")
    }
  }

  @Test("Byte streams and datagrams are dialed to the addresses that a resolver returns")
  func streams() async throws {
    let server = try LoopbackServer(handler: { try $0.echo() })
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    configuration.connection.resolver = Table("127.0.0.2", "127.0.0.1")
    let dialer = try CurlTransport(configuration)
    let stream = try await dialer.dial(DialRequest(host: "far.test", port: server.port))
    #expect(stream.facts.remoteAddress == "127.0.0.1")
    try await stream.write(Data("hello".utf8))
    #expect(try await stream.read() == Data("hello".utf8))
    stream.close()
    #expect(await eventually { dialer.activeStreams == 0 })
    let datagrams = try await dialer.dialDatagrams(DialRequest(host: "far.test", port: server.port))
    #expect(datagrams.facts.remoteAddress == "127.0.0.2")
    datagrams.close()
    await #expect(throws: TransportError.self) { try await dialer.dial(DialRequest(host: "a.invalid", port: 1)) }
    #expect(await eventually { dialer.activeStreams == 0 })
  }
}
