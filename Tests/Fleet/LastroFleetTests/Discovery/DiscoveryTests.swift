// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroFleet
@testable import LastroResilience

private func members(_ set: EndpointSet) -> [String] {
  set.health().filter { !$0.isDraining }.map { "\($0.endpoint)" }.sorted()
}

/// A resolver whose answers a test changes.
private final class TableResolver: NameResolver {
  let answer = Watched<(result: Result<ResolvedName, TransportError>, asked: Int)>(
    (.failure(.init(stage: .resolve, code: .hostNotFound, message: "down")), 0))

  func set(_ addresses: [String], timeToLive: Duration? = nil) throws {
    let name = try ResolvedName(addresses: addresses, timeToLive: timeToLive)
    answer.change { $0.result = .success(name) }
  }

  func fail() {
    answer.change { $0.result = .failure(.init(stage: .resolve, code: .hostNotFound, message: "the server is down")) }
  }

  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    try answer.change { state in
      state.asked += 1
      return state.result
    }.get()
  }

  var asked: Int { answer.read { $0.asked } }
}

@Suite("Servers found by DNS", .timeLimit(.minutes(15)))
struct DNSDiscoveryTests {
  private let clock = ManualClock()
  private let resolver = TableResolver()

  private func set(every interval: Duration = .seconds(30)) async throws -> EndpointSet {
    let source = try EndpointSource.addresses(of: "https://notes.internal:8443", by: resolver, every: interval)
    return try await EndpointSet(following: source, time: clock.timeSource, random: .seeded(1))
  }

  /// Advances the clock to the next look-up, and returns the length of the wait.
  private func nextLookUp() async throws -> Duration {
    try await clock.waitForSleepers(count: 1)
    let asked = resolver.asked
    let moved = clock.advanceToNextSleeper() ?? .zero
    _ = await resolver.answer.wait { $0.asked > asked }
    return moved
  }

  @Test("All addresses of a name are members, and the name is asked again when their time to live is over")
  func timeToLive() async throws {
    try resolver.set(["10.0.0.1", "2001:db8::1"], timeToLive: .seconds(7))
    let set = try await set()
    #expect(members(set) == ["10.0.0.1", "2001:db8::1"])
    #expect(set.health().allSatisfy { "\($0.endpoint.origin)" == "https://notes.internal:8443" })
    try resolver.set(["10.0.0.2"], timeToLive: .seconds(7))
    #expect(try await nextLookUp() == .seconds(7))
    #expect(await eventually { members(set) == ["10.0.0.2"] })
  }

  @Test("A time to live is 1 s to 5 min, and without one the interval counts")
  func limits() async throws {
    try resolver.set(["10.0.0.1"], timeToLive: .zero)
    let set = try await set(every: .seconds(12))
    var waits: [Duration] = []
    for timeToLive in [Duration.seconds(86_400), nil, .milliseconds(1_500)] {
      try resolver.set(["10.0.0.1"], timeToLive: timeToLive)
      waits.append(try await nextLookUp())
    }
    waits.append(try await nextLookUp())
    #expect(waits == [.seconds(1), .seconds(300), .seconds(12), .milliseconds(1_500)])
    #expect(members(set) == ["10.0.0.1"])
  }

  @Test("After an empty or failed answer the last members stay, and the name is asked again after 5 s")
  func failures() async throws {
    try resolver.set(["10.0.0.1"], timeToLive: .seconds(60))
    let set = try await set()
    resolver.fail()
    #expect(try await nextLookUp() == .seconds(60))
    #expect(await eventually { set.discovery.failure == "a look-up has failed: the server is down" })
    try resolver.set([], timeToLive: .seconds(60))
    #expect(try await nextLookUp() == .seconds(5))
    #expect(await eventually { set.discovery.failure == "a list is empty" })
    #expect(members(set) == ["10.0.0.1"])
    try resolver.set(["10.0.0.3"], timeToLive: .seconds(60))
    #expect(try await nextLookUp() == .seconds(5))
    #expect(await eventually { members(set) == ["10.0.0.3"] && set.discovery.failure == nil })
  }

  @Test("A name that is not found at first is asked again until the set's limit")
  func late() async throws {
    let pending = Task { try await set() }
    // The clock serves the wait of the source and the limit of the set.
    try await clock.waitForSleepers(count: 1)
    try resolver.set(["10.0.0.1"])
    clock.advance(by: .seconds(5))
    let late = try await pending.value
    #expect(members(late) == ["10.0.0.1"])
  }

  @Test("Addresses and intervals out of range are refused, and so are names of services that DNS cannot express")
  func refused() throws {
    let stub = try StubResolver(dialer: try TestAuthority.engine(), servers: ["127.0.0.1"])
    let attempts: [() throws -> EndpointSource] = [
      { try .addresses(of: "https://192.0.2.1") }, { try .addresses(of: "notes.internal") },
      { try .addresses(of: "https://notes.internal", every: .zero) },
      { try .addresses(of: "https://notes.internal", every: .seconds(301)) },
      { try .services("_https..notes", by: stub) }, { try .services("_https._tcp.notes", scheme: "ftp", by: stub) },
      { try .file("") }, { try .file("servers\0") }, { try .file("servers", of: "notes") },
    ]
    for (number, attempt) in attempts.enumerated() {
      #expect(throws: ConfigurationError.self, "\(number)") { try attempt() }
    }
  }

  @Test("The system's resolver finds the addresses of this machine")
  func system() async throws {
    let source = try EndpointSource.addresses(of: "http://localhost:8080")
    let set = try await EndpointSet(following: source)
    #expect(members(set).contains("127.0.0.1") || members(set).contains("::1"))
  }

  @Test("A stub resolver follows the answers of a DNS server whose records change")
  func server() async throws {
    let server = try LoopbackDNSServer()
    server.set("notes.internal", addresses: ["127.0.0.2", "127.0.0.3"], timeToLive: 1)
    let stub = try StubResolver(dialer: try TestAuthority.engine(), servers: [server.address])
    let set = try await EndpointSet(following: .addresses(of: "https://notes.internal", by: stub))
    #expect(members(set) == ["127.0.0.2", "127.0.0.3"])
    server.set("notes.internal", addresses: ["127.0.0.3", "127.0.0.4", "127.0.0.5"], timeToLive: 1)
    #expect(await eventually { members(set) == ["127.0.0.3", "127.0.0.4", "127.0.0.5"] })
    server.set("notes.internal", 1, .code(2))
    server.set("notes.internal", 28, .code(2))
    #expect(await eventually { set.discovery.failure != nil })
    #expect(members(set) == ["127.0.0.3", "127.0.0.4", "127.0.0.5"])
  }

  @Test("SRV records are servers of their own, with priorities as tiers, and weights")
  func services() async throws {
    let server = try LoopbackDNSServer()
    server.set(
      "_https._tcp.notes.internal", 33,
      .records(
        [
          .service(priority: 20, weight: 0, port: 8445, target: "n3.internal"),
          .service(priority: 10, weight: 60, port: 8443, target: "n1.internal"),
          .service(priority: 10, weight: 40, port: 8444, target: "n2.internal"),
          .service(priority: 10, weight: 40, port: 0, target: "."),
        ], timeToLive: 1))
    let stub = try StubResolver(dialer: try TestAuthority.engine(), servers: [server.address])
    let set = try await EndpointSet(following: .services("_https._tcp.notes.internal", by: stub))
    #expect(
      Set(set.health().map(\.endpoint))
        == Set([
          try Endpoint("https://n1.internal:8443", tier: 0, weight: 60),
          try Endpoint("https://n2.internal:8444", tier: 0, weight: 40),
          try Endpoint("https://n3.internal:8445", tier: 1, weight: 1),
        ]))
    #expect(await set.withEndpoint { $0.host } != "n3.internal")
    server.set(
      "_https._tcp.notes.internal", 33, .records([.service(priority: 0, weight: 0, port: 1, target: "n9.internal")]))
    #expect(await eventually { members(set) == ["https://n9.internal:1"] })
  }
}

@Suite("Servers listed in a file", .timeLimit(.minutes(15)))
struct FileDiscoveryTests {
  private let clock = ManualClock()
  private let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "servers-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appending(path: "servers").path
  }

  private func write(_ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
  }

  /// Lets the source look at the file again.
  private func look() async throws {
    try await clock.waitForSleepers(count: 1)
    #expect(clock.advanceToNextSleeper() == .seconds(1))
    try await clock.waitForSleepers(count: 1)
  }

  @Test("The servers of a file are members, and those of its next version replace them within a second")
  func changes() async throws {
    try write("# servers of the shop\nhttps://a.example\n\n  https://b.example:8443/ # the second\n")
    let set = try await EndpointSet(following: .file(path), time: clock.timeSource)
    #expect(members(set) == ["https://a.example", "https://b.example:8443"])
    try write("https://c.example\n")
    try await look()
    #expect(members(set) == ["https://c.example"])
  }

  @Test("A file that is missing, empty, too large or unreadable changes nothing")
  func kept() async throws {
    try write("10.0.0.1\n10.0.0.2:8443\n")
    let set = try await EndpointSet(following: .file(path, of: "https://notes.example"), time: clock.timeSource)
    #expect(members(set) == ["10.0.0.1", "10.0.0.2:8443"])
    for (text, reason) in [
      ("", "a list is empty"), ("# none\n", "a list is empty"),
      ("10.0.0.1\nnotes.example\n", "a server in a list cannot be read: \"notes.example\" is not an address"),
      (String(repeating: "#", count: 1_048_577), "the file is larger than 1 MiB"),
    ] {
      try write(text)
      try await look()
      #expect(set.discovery.failure?.hasPrefix(reason) == true, "\(set.discovery.failure ?? "")")
    }
    try FileManager.default.removeItem(atPath: path)
    try await look()
    #expect(set.discovery.failure?.hasPrefix("the file cannot be read: ") == true)
    // A directory can be opened, but not read.
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try await look()
    #expect(set.discovery.failure?.hasPrefix("the file cannot be read: Is a directory") == true)
    try FileManager.default.removeItem(atPath: path)
    #expect(members(set) == ["10.0.0.1", "10.0.0.2:8443"])
    try write("10.0.0.3")
    try await look()
    #expect(members(set) == ["10.0.0.3"])
  }
}
