// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroResilience

@Suite("Endpoint sets that follow a source", .timeLimit(.minutes(15)))
struct EndpointSourceTests {
  private let clock = ManualClock()

  private static func members(_ set: EndpointSet) -> [String] {
    set.health().filter { !$0.isDraining }.map { "\($0.endpoint)" }.sorted()
  }

  private func set(_ source: EndpointSource) async throws -> EndpointSet {
    try await EndpointSet(following: source, time: clock.timeSource, random: .seeded(1))
  }

  @Test("A set waits for the first list, and then has the members of the latest one")
  func lists() async throws {
    let (lists, feed) = AsyncStream.makeStream(of: [String].self)
    feed.yield([])
    feed.yield(["https://a.example", "https://b.example"])
    let set = try await set(EndpointSource(lists))
    #expect(Self.members(set) == ["https://a.example", "https://b.example"])
    feed.yield(["https://b.example", "https://c.example:8443"])
    #expect(await eventually { Self.members(set) == ["https://b.example", "https://c.example:8443"] })
  }

  @Test("A list that is empty, too long or unreadable changes nothing, and neither does the end of the source")
  func kept() async throws {
    let (lists, feed) = AsyncThrowingStream.makeStream(of: [String].self)
    feed.yield(["https://a.example"])
    let set = try await set(EndpointSource(lists))
    let bad: [([String], String)] = [
      ([], "a list is empty"),
      ((0...1000).map { "https://a\($0).example" }, "a list has 1001 servers, 1000 are allowed"),
      (["https://b.example", "ftp://c.example"], "a server in a list cannot be read: cannot read an origin: "),
    ]
    for (list, reason) in bad {
      feed.yield(list)
      #expect(await eventually { set.discovery.failure?.hasPrefix(reason) == true }, "\(reason)")
      #expect(Self.members(set) == ["https://a.example"])
    }
    feed.finish(throwing: URLError(.timedOut))
    #expect(await eventually { set.discovery.failure?.hasPrefix("the sequence has failed: ") == true })
    #expect(Self.members(set) == ["https://a.example"])
  }

  @Test("A set without a member in time is refused with the reason, and so is one whose source ends")
  func none() async throws {
    let (lists, feed) = AsyncStream.makeStream(of: [String].self)
    let source = EndpointSource(lists), time = clock.timeSource
    let pending = Task { try await EndpointSet(following: source, within: .seconds(3), time: time) }
    feed.yield([])
    try await clock.waitForLimits(count: 1)
    // The empty list is delivered before the time passes.
    #expect(await eventually { clock.nextLimit == .seconds(3) })
    clock.advance(by: .seconds(3))
    let late = await #expect(throws: TransportError.self) { try await pending.value }
    #expect(late?.stage == .resolve && late?.message.hasPrefix("a sequence has no servers within 3 s") == true)
    let ended = AsyncStream<[String]> { $0.finish() }
    let error = await #expect(throws: TransportError.self) { try await set(EndpointSource(ended)) }
    #expect(error?.code == .hostNotFound)
    let waiting = EndpointSource(AsyncStream<[String]> { _ in })
    let cancelled = Task { try await EndpointSet(following: waiting, time: time) }
    cancelled.cancel()
    #expect(await #expect(throws: TransportError.self) { try await cancelled.value }?.stage == .cancelled)
  }

  @Test("A set that is released stops following its source")
  func release() async throws {
    let ended = OneAnswer<Void>()
    let (lists, feed) = AsyncStream.makeStream(of: [String].self)
    feed.onTermination = { _ in ended.give(()) }
    feed.yield(["https://a.example"])
    do {
      let set = try await set(EndpointSource(lists))
      #expect(Self.members(set) == ["https://a.example"])
    }
    await ended.wait()
    #expect(ended.isGiven)
  }

  @Test("An instance follows its subset of the lists")
  func subset() async throws {
    let all = (0..<30).map { "https://api\($0).example" }
    let (lists, feed) = AsyncStream.makeStream(of: [String].self)
    feed.yield(all)
    let set = try await set(EndpointSource(lists).subset(of: 5, instance: 2))
    let before = Set(Self.members(set))
    #expect(before.count == 5)
    let gone = try #require(before.first)
    feed.yield(all.filter { $0 != gone })
    #expect(await eventually { !Self.members(set).contains(gone) })
    #expect(before.subtracting(Self.members(set)).count <= 2 && Self.members(set).count == 5)
    #expect(throws: ConfigurationError.self) { try EndpointSource(lists).subset(of: 0, instance: 0) }
  }

  @Test("Addresses may have ports, and other texts are refused")
  func addresses() throws {
    for (text, shown) in [
      ("192.0.2.7", "192.0.2.7"), ("192.0.2.7:8443", "192.0.2.7:8443"), ("2001:DB8::7", "2001:db8::7"),
      ("[2001:db8::7]", "2001:db8::7"), ("[2001:db8::7]:80", "[2001:db8::7]:80"),
    ] { #expect(try MemberAddress(text).description == shown) }
    for text in [
      "", "a.example", "a.example:80", "192.0.2.7:", "192.0.2.7:0", "192.0.2.7:65536", "192.0.2.7:+1", "[::1]80",
    ] {
      #expect(throws: ConfigurationError.self, "\(text)") { try MemberAddress(text) }
    }
  }
}

@Suite("Servers that share a URL", .timeLimit(.minutes(15)))
struct SharedURLTests {
  private static let addresses = ["10.0.0.1", "10.0.0.2:8443", "10.0.0.3"]
  private let clock = ManualClock(autoAdvance: true)
  private let feed: AsyncStream<[String]>.Continuation
  private let source: EndpointSource

  init() throws {
    let (lists, feed) = AsyncStream.makeStream(of: [String].self)
    feed.yield(Self.addresses)
    self.feed = feed
    source = try EndpointSource(of: "https://notes.example", addresses: lists)
  }

  private func stack(
    _ transport: any Transport, _ set: EndpointSet, retries: Int = 0
  ) -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.resilience = Resilience(endpoints: set)
    if retries > 0 { configuration.interceptors = [.retry(.maxRetries(retries))] }
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  private func set() async throws -> EndpointSet {
    try await EndpointSet(following: source, time: clock.timeSource, random: .seeded(1))
  }

  private static func resource(_ url: String = "https://notes.example/") throws -> RawHTTPResource {
    RawHTTPResource.raw(try ResourceRequest(url: url))
  }

  @Test("Each request goes to a member, and its host stays that of the URL")
  func spreading() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200)), set = try await set()
    let stack = stack(transport, set)
    for _ in 0..<300 { _ = try await stack.fetch(try Self.resource()) }
    let counts = Dictionary(grouping: transport.requests) { $0.member?.description ?? "" }.mapValues(\.count)
    #expect(Set(counts.keys) == Set(Self.addresses), "\(counts)")
    #expect(counts.values.allSatisfy { $0 > 60 }, "\(counts)")
    #expect(transport.requests.allSatisfy { $0.head.authority == "notes.example" })
    #expect(set.health().allSatisfy { $0.inUse == 0 })
  }

  @Test("Requests to other origins have no member")
  func others() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200))
    let stack = stack(transport, try await set())
    for url in ["http://notes.example/", "https://notes.example:8443/", "https://other.example/"] {
      let ledger = try await stack.fetch(try Self.resource(url)).response.ledger
      #expect(ledger.attempts.last?.facts?.notes.isEmpty == true)
    }
    #expect(transport.requests.allSatisfy { $0.member == nil })
  }

  @Test("A retry avoids the members with which the call has failed")
  func retries() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 503))
    let set = try await set()
    for call in 0..<20 {
      // Each stack has a quota of retries of its own.
      let stack = stack(transport, set, retries: 2)
      await #expect(throws: (any Error).self) { try await stack.fetch(try Self.resource()) }
      let members = transport.requests.suffix(3).compactMap { $0.member?.description }
      #expect(Set(members) == Set(Self.addresses), "call \(call): \(members)")
      // Ejected members would leave fewer to try.
      clock.advance(by: .seconds(1_000))
    }
  }

  @Test("The ledger names the member and the reason, and explain the members and their source")
  func telling() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200)), set = try await set()
    let stack = stack(transport, set)
    let ledger = try await stack.fetch(try Self.resource()).response.ledger
    let member = try #require(transport.requests.last?.member)
    let note = try #require(ledger.attempts.last?.facts?.notes.first)
    #expect(note.name == "endpoint" && note.detail == member.description)
    #expect(note.text.hasPrefix("member \(member) (less loaded than "), "\(note.text)")
    #expect(ledger.description.contains(note.text), "\(ledger)")
    clock.advance(by: .seconds(12))
    feed.yield([])
    #expect(await eventually { set.discovery.failure != nil })
    let page = await stack.explain(try Self.resource()).description
    #expect(
      page.contains(
        "  endpoint: the less loaded of two, for each attempt, of 3; 10.0.0.1: 0 under way; 10.0.0.2:8443: 0 under way; "
          + "10.0.0.3: 0 under way; from a sequence, 12 s ago; kept, because a list is empty\n"), "\(page)")
    #expect(!page.contains("resilience: none"))
  }

  @Test("A member that was removed gets no new requests while a running one ends")
  func draining() async throws {
    let begun = OneAnswer<TransferRequest>(), goOn = OneAnswer<Void>()
    let transport = ScriptedTransport { (request, index) throws(TransportError) in
      if index == 0 {
        begun.give(request)
        await goOn.wait()
      }
      return TransferResponse(head: .init(status: 200), body: ResponseBody(Data()))
    }
    let set = try await set(), stack = stack(transport, set)
    let running = Task { try await stack.fetch(try Self.resource()).response.status }
    let first = try #require(await begun.value().member)
    feed.yield(Self.addresses.filter { $0 != first.description })
    #expect(await eventually { set.health().contains(where: \.isDraining) })
    for _ in 0..<50 { _ = try await stack.fetch(try Self.resource()) }
    #expect(!transport.requests.dropFirst().contains { $0.member == first })
    #expect(await stack.explain(try Self.resource()).description.contains("; 1 removed, with 1 under way; "))
    goOn.give(())
    #expect(try await running.value == .ok)
    #expect(set.health().count == 2)
  }

  @Test("With an endpoint of its own, a call gets the shared origin, and the stack chooses")
  func origin() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200)), set = try await set()
    let stack = stack(transport, set)
    let origin = try await set.withEndpoint { origin in
      _ = try await stack.fetch(try Self.resource("\(origin)/notes"))
      return "\(origin)"
    }
    #expect(origin == "https://notes.example" && transport.requests.last?.member != nil)
  }

  @Test("A request with parts of its own still goes to a member")
  func ownParts() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200))
    let stack = stack(transport, try await set())
    for use in [StackPartUse<Resilience>.none, .with(Resilience(limiter: try ConcurrencyLimiter(limit: 2)))] {
      var options = RequestOptions()
      options.resilience = use
      _ = try await stack.fetch(
        RawHTTPResource.raw(try ResourceRequest(url: "https://notes.example/"), options: options))
      #expect(transport.requests.last?.member != nil)
    }
  }

  @Test("A chosen server with a URL of its own is in the ledger, with the reason")
  func ownURLs() async throws {
    let set = try EndpointSet(
      ["https://a.example", "https://b.example"], time: clock.timeSource, random: .seeded(1))
    let stack = stack(ScriptedTransport(repeatingLast: .respond(status: 200)), set)
    let ledger = try await set.withEndpoint { origin in
      try await stack.fetch(try Self.resource("\(origin)/")).response.ledger
    }
    #expect(ledger.description.contains(" (less loaded than https://"), "\(ledger)")
    let alone = try await stack.fetch(try Self.resource("https://a.example/")).response.ledger
    #expect(!alone.description.contains("less loaded"))
  }
}

@Suite("Members that a call has tried", .timeLimit(.minutes(15)))
struct TriedMembersTests {
  @Test("The members of the 1,024 latest calls are kept")
  func bound() {
    var tried = TriedMembers()
    for call in UInt64(1)...2_000 {
      tried.note(Int(call), of: call)
      tried.note(0, of: call)
    }
    #expect(tried.members(of: 2_000) == [2_000, 0] && tried.members(of: 977) == [977, 0])
    #expect(tried.members(of: 976).isEmpty && tried.members(of: 1).isEmpty)
  }
}
