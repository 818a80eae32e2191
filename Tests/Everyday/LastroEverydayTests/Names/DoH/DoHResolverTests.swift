// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

extension TransferRequest {
  /// An empty answer to the query that this request carries.
  fileprivate var draft: DNSAnswer {
    guard case .bytes(let bytes) = body.source else { return DNSAnswer(to: []) }
    return DNSAnswer(to: bytes)
  }
}

/// An operation that returns only by cancellation, and counts its calls and cancellations.
private struct Hanging {
  let begun = Watched(0)
  let cancelled = Watched(0)

  func hang() async throws(TransportError) -> Never {
    begun.change { $0 += 1 }
    let never = AsyncStream<Never>.makeStream()
    for await _ in never.stream {}
    cancelled.change { $0 += 1 }
    throw .cancelled()
  }
}

@Suite("DNS over HTTPS", .timeLimit(.minutes(15)))
struct DoHResolverTests {
  private typealias Handler = @Sendable (TransferRequest) async throws(TransportError) -> TransferResponse

  private let name: HostName
  private let clock = ManualClock()

  init() throws { name = try HostName("far.test") }

  /// Returns a resolver whose servers are a closure, and the transport that carries its queries.
  private func resolver(
    _ servers: [String] = ["https://dns.test/dns-query"], answer: @escaping Handler
  ) throws -> (resolver: DoHResolver, transport: ScriptedTransport) {
    var configuration = StackConfiguration()
    // The stack has another clock, because its limits are not under test.
    configuration.timeSource = ManualClock().timeSource
    let transport = ScriptedTransport(time: configuration.timeSource, handler: answer)
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    return (try DoHResolver(servers, over: stack, time: clock.timeSource), transport)
  }

  private func resolve(_ answer: @escaping Handler) async throws -> ResolvedName {
    try await resolver(answer: answer).resolver.resolve(name, port: 443)
  }

  /// Returns the error with which a look-up fails.
  private func failure(_ answer: @escaping Handler) async throws -> TransportError {
    try #require(await #expect(throws: TransportError.self) { try await resolve(answer) })
  }

  // MARK: Questions

  @Test("Two padded DNS messages with ID 0 are posted")
  func questions() async throws {
    let (resolver, transport) = try resolver(["https://dns.test/a/b?c=d{?dns}"]) { request in request.draft.response() }
    _ = try await resolver.resolve(name, port: 443)
    let requests = transport.requests
    #expect(requests.count == 2)
    #expect(Set(requests.map(\.draft.isIPv6)) == [true, false])
    for request in requests {
      #expect(request.head.method == .post && request.head.path == "/a/b?c=d" && request.head.authority == "dns.test")
      #expect(request.head.headerFields[.contentType] == "application/dns-message")
      #expect(request.head.headerFields[.accept] == "application/dns-message")
      let bytes = try #require({ if case .bytes(let bytes) = request.body.source { bytes } else { nil } }())
      #expect(bytes.count == 128 && bytes.prefix(2) == Data([0, 0]))
      #expect(request.draft.name == "far.test")
    }
  }

  @Test("IP addresses, names of this machine and names that never exist are not sent")
  func unasked() async throws {
    let (resolver, transport) = try resolver { request in request.draft.response() }
    for (text, expected) in [
      ("192.0.2.7", ["192.0.2.7"]), ("2001:db8::7", ["2001:db8::7"]), ("a.localhost", ["::1", "127.0.0.1"]),
      ("a.onion", []), ("invalid", []),
    ] {
      #expect(try await resolver.resolve(try HostName(text), port: 80).addresses == expected)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test("The name of its own server is refused in any form")
  func ownServer() async throws {
    let (resolver, transport) = try resolver(["https://1.2.3.4/", "https://DNS.test:8443/"]) { $0.draft.response() }
    let error = await #expect(throws: TransportError.self) {
      try await resolver.resolve(try HostName("dns.test."), port: 443)
    }
    #expect(error?.words == "resolve/invalid_option")
    #expect(transport.requests.isEmpty)
  }

  @Test(
    "Invalid servers are refused",
    arguments: [
      [], Array(repeating: "https://dns.test/", count: 5), ["http://dns.test/"], ["dns.test"], ["ftp://dns.test/"],
      ["https://user@dns.test/"], ["https://dns.test/", "https:///"],
    ])
  func servers(urls: [String]) {
    let stack = TransportNetworkStack(transport: ScriptedTransport())
    #expect(throws: ConfigurationError.self) { try DoHResolver(urls, over: stack) }
  }

  @Test("Without TLS only this machine may be the server, and limits must be positive")
  func limits() throws {
    let stack = TransportNetworkStack(transport: ScriptedTransport())
    for url in ["http://127.0.0.1:8053/dns-query", "http://[::1]/", "http://localhost/", "https://192.0.2.53/"] {
      _ = try DoHResolver([url], over: stack)
    }
    #expect(throws: ConfigurationError.self) { try DoHResolver(["https://dns.test/"], over: stack, timeout: .zero) }
  }

  // MARK: Answers

  @Test("Both families are found, IPv6 first, and an alias of the name is followed")
  func found() async throws {
    let answer = try await resolve { request in
      var draft = request.draft
      draft.records = [
        DNSAnswer.record(5, ttl: 70, DNSAnswer.name("cdn.test")), draft.address(1, of: "cdn.test"),
        draft.address(2, of: "cdn.test"),
      ]
      return draft.response("Application/DNS-Message ; q=1")
    }
    #expect(answer.addresses == ["2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"])
    #expect(answer.timeToLive == .seconds(70))
  }

  @Test(
    "The time to live is the record's minus the time in caches",
    arguments: [
      (300, nil, 300), (300, "100", 200), (300, "400", 0), (300, "99999999999999999999999", 0), (300, "x", 300),
      (300, "-1", 300), (300, "", 300), (0, nil, 0), (1, nil, 1), (0x7FFF_FFFF, nil, 0x7FFF_FFFF),
      (0x8000_0000, nil, 0), (0xFFFF_FFFF, "5", 0),
    ] as [(UInt32, String?, Int64)])
  func times(told: UInt32, age: String?, kept: Int64) async throws {
    let answer = try await resolve { request in
      var draft = request.draft
      draft.records = [draft.address(1, ttl: told)]
      return draft.response("application/dns-message", age.map { [.age: $0] } ?? [:])
    }
    #expect(answer.timeToLive == .seconds(kept))
  }

  @Test(
    "The absence of a name is an answer that lasts as long as its zone says",
    arguments: [
      (0x8183, "test", 40), (0x8180, "test", 40), (0x8183, "other.test", nil), (0x8180, "bank.example", nil),
    ] as [(UInt16, String, Int64?)])
  func absences(flags: UInt16, zone: String, kept: Int64?) async throws {
    let answer = try await resolve { request in
      var draft = request.draft
      draft.flags = flags
      draft.zones = [DNSAnswer.start(of: zone, ttl: draft.isIPv6 ? 90 : 50)]
      return draft.response("application/dns-message", [.age: "10"])
    }
    #expect(answer.addresses.isEmpty)
    #expect(answer.timeToLive == kept.map { .seconds($0) })
  }

  @Test("A name that one family denies is found in the other")
  func denied() async throws {
    let answer = try await resolve { request in
      var draft = request.draft
      if draft.isIPv6 { draft.flags = 0x8183 } else { draft.records = [draft.address(1)] }
      return draft.response()
    }
    #expect(answer.addresses == ["192.0.2.1"] && answer.timeToLive == .seconds(300))
  }

  /// A fault in a server's answer, by mistake or by intent.
  enum Lie: String, CaseIterable, Sendable {
    case serverFailure, refused, notImplemented, otherID, query, otherQuestion, otherFamily, otherName, loop, long
    case truncatedFlag, cut, trailing, empty, type, noType, status, redirect, noContent
  }

  private static func lie(_ lie: Lie, _ request: TransferRequest) -> TransferResponse {
    var draft = request.draft
    draft.records = [draft.address(1)]
    switch lie {
    case .serverFailure: draft.flags = 0x8182
    case .refused: draft.flags = 0x8185
    case .notImplemented: draft.flags = 0x8184
    case .otherID: draft.id = 1
    case .query: draft.flags = 0x0100
    case .otherQuestion: draft.question = DNSAnswer.name("bank.test") + draft.question.suffix(4)
    case .otherFamily: draft.question = draft.question.dropLast(3) + [draft.isIPv6 ? 1 : 28, 0, 1]
    case .otherName: draft.records = [draft.address(1, of: "bank.test")]
    case .loop: draft.records = [DNSAnswer.record(5, [0xC0, 12])]
    case .long: draft.records = (0..<513).map { _ in draft.address(1) }
    case .truncatedFlag: draft.flags = 0x8380
    case .type: return draft.response("application/json")
    case .noType: return draft.response(nil)
    case .cut, .trailing, .empty, .status, .redirect, .noContent: break
    }
    var response = draft.response()
    switch lie {
    case .cut: response.body = ResponseBody(Data(draft.bytes.dropLast()))
    case .trailing: response.body = ResponseBody(Data(draft.bytes + [0]))
    case .empty: response.body = ResponseBody(Data())
    case .status: response.head.status = .badGateway
    case .redirect:
      response.head.status = .temporaryRedirect
      response.head.headerFields[.location] = "https://elsewhere.test/"
    case .noContent: response.head.status = .noContent
    default: break
    }
    return response
  }

  @Test(
    "Invalid responses fail, records of other names are ignored, and no other server is contacted",
    arguments: Lie.allCases)
  func lies(lie: Lie) async throws {
    let (resolver, transport) = try resolver { request in Self.lie(lie, request) }
    if lie == .otherName {
      #expect(try await resolver.resolve(name, port: 443).addresses.isEmpty)
    } else {
      let error = await #expect(throws: TransportError.self) { try await resolver.resolve(name, port: 443) }
      #expect(error?.words == "resolve/host_not_found" && error?.requestSent == false)
      #expect(error?.message.contains("https://dns.test does not return the addresses of far.test") == true)
    }
    #expect(transport.requests.count == 2 && transport.requests.allSatisfy { $0.head.authority == "dns.test" })
  }

  @Test("No error shows the path of the server's URL, which may be secret")
  func secretPath() async throws {
    let (resolver, _) = try resolver(["https://dns.test/account-7"]) { Self.lie(.status, $0) }
    let error = await #expect(throws: TransportError.self) { try await resolver.resolve(name, port: 443) }
    #expect(error?.description.contains("account") == false)
    #expect(error?.message.contains("502") == true)
  }

  // MARK: Order in time

  @Test("IPv4 waits 50 ms for IPv6, whose query is then cancelled")
  func late() async throws {
    let hanging = Hanging()
    let (resolver, _) = try resolver { (request) throws(TransportError) in
      var draft = request.draft
      if draft.isIPv6 { try await hanging.hang() }
      draft.records = [draft.address(1)]
      return draft.response()
    }
    let done = Watched(false)
    async let answer = {
      defer { done.change { $0 = true } }
      return try await resolver.resolve(name, port: 443)
    }()
    try await clock.waitForLimits(count: 1)
    #expect(clock.nextLimit == .milliseconds(50))
    #expect(!done.read { $0 })
    clock.advance(by: .milliseconds(50))
    #expect(try await answer == ResolvedName(addresses: ["192.0.2.1"], timeToLive: .seconds(60)))
    #expect(hanging.cancelled.read { $0 } == 1)
  }

  @Test("An IPv6 answer that comes first waits for IPv4")
  func early() async throws {
    let gate = OneAnswer<Void>()
    let answered = Watched(false)
    let (resolver, _) = try resolver { request in
      var draft = request.draft
      draft.records = [draft.address(1)]
      if !draft.isIPv6 { await gate.value() } else { answered.change { $0 = true } }
      return draft.response()
    }
    async let answer = resolver.resolve(name, port: 443)
    #expect(await answered.wait { $0 })
    #expect(clock.nextLimit == nil)
    gate.give(())
    #expect(try await answer.addresses == ["2001:db8::1", "192.0.2.1"])
  }

  @Test("The second server is queried after 500 ms, and the first answer counts")
  func race() async throws {
    let hanging = Hanging()
    let (resolver, transport) = try resolver(["https://one.test/", "https://two.test/"]) {
      (request) throws(TransportError) in
      if request.head.authority == "one.test" { try await hanging.hang() }
      var draft = request.draft
      draft.records = [draft.address(1)]
      return draft.response()
    }
    async let answer = resolver.resolve(name, port: 443)
    try await clock.waitForLimits(count: 2)
    #expect(await hanging.begun.wait { $0 == 2 })
    clock.advance(by: .milliseconds(499))
    #expect(clock.nextLimit == .milliseconds(500))
    #expect(transport.requests.count == 2)
    clock.advance(by: .milliseconds(1))
    #expect(try await answer.addresses == ["2001:db8::1", "192.0.2.1"])
    #expect(hanging.cancelled.read { $0 } == 2)
  }

  @Test("The second server is queried at once if the first fails, and if both fail the first failure is reported")
  func failover() async throws {
    let servers = ["https://one.test/", "https://two.test/"]
    let (resolver, transport) = try resolver(servers) { request in
      Self.lie(request.head.authority == "one.test" ? .serverFailure : .otherName, request)
    }
    #expect(try await resolver.resolve(name, port: 443).addresses.isEmpty)
    #expect(transport.requests.count == 4)
    let (down, _) = try self.resolver(servers) { request in
      Self.lie(request.head.authority == "one.test" ? .serverFailure : .refused, request)
    }
    let error = await #expect(throws: TransportError.self) { try await down.resolve(name, port: 443) }
    #expect(error?.message.contains("https://one.test") == true && error?.message.contains("SERVFAIL") == true)
  }

  @Test("A cancelled task cancels its queries")
  func cancellation() async throws {
    let hanging = Hanging()
    let (resolver, _) = try resolver(["https://one.test/", "https://two.test/"]) { _ throws(TransportError) in
      try await hanging.hang()
    }
    let task = Task { try await resolver.resolve(name, port: 443) }
    #expect(await hanging.begun.wait { $0 == 2 })
    task.cancel()
    let error = await #expect(throws: TransportError.self) { try await task.value }
    #expect(error?.words == "cancelled/cancelled")
    #expect(hanging.begun.read { $0 } == 2 && hanging.cancelled.read { $0 } == 2)
  }

  @Test("4,096 lookups may run at once, the next is refused, and ended ones make room")
  func crowd() async throws {
    let gate = Watched(false)
    let (resolver, _) = try resolver { request in
      _ = await gate.wait { $0 }
      return request.draft.response()
    }
    try await withThrowingTaskGroup(of: ResolvedName.self) { group in
      for _ in 0..<DoHResolver.mostLookUps { group.addTask { try await resolver.resolve(name, port: 443) } }
      #expect(await eventually { resolver.lookUpsUnderWay == DoHResolver.mostLookUps })
      let error = await #expect(throws: TransportError.self) { try await resolver.resolve(name, port: 443) }
      #expect(error?.words == "limit/queue_full")
      gate.change { $0 = true }
      for try await answer in group { #expect(answer.addresses.isEmpty) }
    }
    #expect(resolver.lookUpsUnderWay == 0)
    #expect(try await resolver.resolve(name, port: 443).addresses.isEmpty)
  }
}

/// A server's answer to a query, correct or deliberately wrong.
struct DNSAnswer: Sendable {
  var id: UInt16 = 0
  /// The flags of a response without an error.
  var flags: UInt16 = 0x8180
  var question: [UInt8]
  var records: [[UInt8]] = []
  var zones: [[UInt8]] = []
  let isIPv6: Bool
  let name: String

  /// Creates the empty answer to a query.
  init(to query: some Collection<UInt8>) {
    let query = Array(query)
    var labels: [String] = []
    var at = 12
    while at < query.count, query[at] > 0 {
      labels.append(String(decoding: query[(at + 1)...].prefix(Int(query[at])), as: UTF8.self))
      at += 1 + Int(query[at])
    }
    question = Array(query[12..<min(at + 5, query.count)])
    isIPv6 = question.dropLast(2).last == 28
    name = labels.joined(separator: ".")
  }

  var bytes: [UInt8] {
    let counts = [1, records.count, zones.count, 0].flatMap { Self.number($0) }
    return Self.number(Int(id)) + Self.number(Int(flags)) + counts + question + (records + zones).flatMap(\.self)
  }

  static func number(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] }

  static func name(_ text: String) -> [UInt8] {
    text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }

  /// Returns a record of a name; by default, of the name in the question.
  static func record(_ type: Int, of owner: String? = nil, ttl: UInt32 = 300, _ data: [UInt8]) -> [UInt8] {
    (owner.map(name) ?? [0xC0, 12]) + number(type) + number(1) + number(Int(ttl >> 16)) + number(Int(ttl & 0xFFFF))
      + number(data.count) + data
  }

  /// Returns a record with the address of a number, in the family of the question: 192.0.2.1 or 2001:db8::1.
  func address(_ last: UInt8, of owner: String? = nil, ttl: UInt32 = 300) -> [UInt8] {
    isIPv6
      ? Self.record(28, of: owner, ttl: ttl, [0x20, 1, 0xD, 0xB8] + [UInt8](repeating: 0, count: 11) + [last])
      : Self.record(1, of: owner, ttl: ttl, [192, 0, 2, last])
  }

  static func start(of zone: String, ttl: UInt32) -> [UInt8] {
    record(6, of: zone, ttl: ttl, name("ns.test") + name("root.test") + [UInt8](repeating: 0xFF, count: 20))
  }

  /// Returns the answer as an HTTP response.
  func response(_ type: String? = "application/dns-message", _ fields: HTTPFields = [:]) -> TransferResponse {
    var fields = fields
    fields[.contentType] = type
    return TransferResponse(
      head: HTTPResponse(status: .ok, headerFields: fields), body: ResponseBody(Data(bytes)))
  }
}
