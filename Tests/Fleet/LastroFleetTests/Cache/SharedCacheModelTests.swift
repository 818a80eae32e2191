// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroFleet

/// Random histories of three instances, whose responses are compared with the resources of the server.
@Suite("Histories of a shared cache", .timeLimit(.minutes(15)))
struct SharedCacheModelTests {
  private static let lifetime = Duration.seconds(30)

  /// The resources of the server: a version for each URL, and the time until which it was the current one.
  private struct Resources {
    var versions: [String: Int] = [:]
    var ends: [String: [Int: Duration]] = [:]

    mutating func change(_ path: String, now: Duration) {
      let version = versions[path] ?? 0
      ends[path, default: [:]][version] = now
      versions[path] = version + 1
    }
  }

  /// Returns a fleet over a server whose responses name the URL, the sender and the version.
  private func fleet(_ resources: Lock<Resources>) -> CacheFleet {
    CacheFleet { (request, _) throws(TransportError) in
      let path = request.head.path ?? ""
      if request.head.method != .get { return .answer(204) }
      let version = resources.withLock { $0.versions[path] ?? 0 }
      let sender = request.head.headerFields[.authorization] ?? "nobody"
      let accept = request.head.headerFields[.accept] ?? ""
      let tag = "\"\(version) \(accept)\""
      let fields: HTTPFields = [
        .cacheControl: path.hasPrefix("/p") ? "public, max-age=30" : "max-age=30", .eTag: tag, .vary: "Accept",
      ]
      if request.head.headerFields[.ifNoneMatch] == tag { return .answer(304, fields: fields) }
      return .answer(200, fields: fields, body: "\(path) \(path.hasPrefix("/p") ? "all" : sender) \(accept) \(version)")
    }
  }

  @Test(
    "No response is another's, older than its freshness, or from before a change by the same instance",
    arguments: 0..<40)
  func histories(seed: UInt64) async throws {
    let random = RandomSource.seeded(seed)
    func below(_ bound: UInt64) -> Int { Int(random.next() % bound) }
    let resources = Lock(Resources())
    let fleet = fleet(resources)
    let instances = try [0, 1800, -1800].map { try fleet.instance(skew: .seconds($0)) }
    /// The least version that each instance may serve: the one after its own latest change or removal.
    var least: [[String: Int]] = Array(repeating: [:], count: instances.count)
    var hits = 0
    for _ in 0..<150 {
      let index = below(3)
      let instance = instances[index]
      let path = ["/a", "/b", "/pa", "/pb"][below(4)], url = "https://example.com\(path)"
      switch below(20) {
      case 0:
        resources.withLock { $0.change(path, now: fleet.clock.now) }
        try await instance.get(url, method: .put)
        least[index][path] = resources.withLock { $0.versions[path] }
      case 1:
        try await instance.cache.remove(url)
        least[index][path] = resources.withLock { $0.versions[path] ?? 0 }
      case 2:
        await instance.cache.removeAll()
        for path in ["/a", "/b", "/pa", "/pb"] { least[index][path] = resources.withLock { $0.versions[path] ?? 0 } }
      // The resource changes by itself.
      case 3: resources.withLock { $0.change(path, now: fleet.clock.now) }
      case 4: fleet.store.fail(fleet.store.isUp ? MemoryFleetStore.down : nil)
      case 5: fleet.store.refuseChanges(below(2) == 0 ? CacheFleet.full : nil)
      case 6: if let key = fleet.store.keys.randomElement(from: random) { fleet.store.evict(key) }
      case 7: if let key = fleet.store.keys.randomElement(from: random) { fleet.store.put([1], for: key) }
      // A record replaces another one.
      case 8:
        if let key = fleet.store.keys.randomElement(from: random),
          let other = fleet.store.values.randomElement(from: random)
        {
          fleet.store.put(other, for: key)
        }
      case 9, 10: fleet.clock.advance(by: .seconds(below(40)))
      case 11: await instance.shared?.settled()
      default:
        let senders = ["", "Bearer ann", "Bearer bob"]
        let sender = senders[below(3)], accept = ["a/a", "b/b"][below(2)]
        var fields: HTTPFields = [.accept: accept]
        if !sender.isEmpty { fields[.authorization] = sender }
        let got = try await instance.get(url, fields: fields)
        let words = got.body.split(separator: " ").map(String.init)
        let owner = path.hasPrefix("/p") ? "all" : sender.isEmpty ? "nobody" : sender
        #expect(words.dropLast().joined(separator: " ") == "\(path) \(owner) \(accept)")
        let version = try #require(words.last.flatMap { Int($0) })
        #expect(version >= least[index][path] ?? 0)
        if let end = resources.withLock({ $0.ends[path]?[version] }) {
          #expect(fleet.clock.now - end <= Self.lifetime + .seconds(1))
        }
        if got.outcome == .hit { hits += 1 }
      }
    }
    for instance in instances { await instance.shared?.settled() }
    #expect(hits > 0)
  }
}

extension Array {
  fileprivate func randomElement(from random: RandomSource) -> Element? {
    isEmpty ? nil : self[Int(random.next() % UInt64(count))]
  }
}
