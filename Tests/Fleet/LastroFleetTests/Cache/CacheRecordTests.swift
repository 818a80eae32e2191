// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import Testing

@testable import LastroFleet

@Suite("Records of a shared cache")
struct CacheRecordTests {
  private let url = CacheKey(url: [1, 2, 3])
  private let ann = CacheKey(url: [1, 2, 3], partition: [9])

  private func response(
    _ body: String, received: Duration = .seconds(5), _ selecting: [UInt8] = []
  ) -> CacheRecord.Response {
    let head = StoredHead(
      head: HTTPResponse(status: .ok, headerFields: [.eTag: "\"a\"", .cacheControl: "max-age=60"]),
      requested: .seconds(4), received: received, selecting: selecting, isCredentialed: true)
    return CacheRecord.Response(head: head, body: Data(body.utf8))
  }

  private var record: CacheRecord {
    var record = CacheRecord(generation: .max, end: .seconds(77))
    _ = record.add(response("first", [1]), maximumBytes: 100)
    _ = record.add(response("", [2]), maximumBytes: 100)
    return record
  }

  private func cipher(
    _ cache: String = "shop", _ policy: HTTPCachePolicy = HTTPCachePolicy()
  ) throws -> CacheCipher {
    try CacheCipher(SealingKey(base64: Secret(testKey)), cache: cache, policy)
  }

  @Test("A record is read back, with heads and bodies")
  func form() throws {
    let read = try #require(record.encoded().flatMap { CacheRecord($0) })
    #expect(read.generation == .max && read.end == .seconds(77))
    #expect(read.responses.map { String(decoding: $0.body, as: UTF8.self) } == ["", "first"])
    let head = read.responses[1].head
    #expect(head.head.headerFields == [.eTag: "\"a\"", .cacheControl: "max-age=60"] && head.head.status == .ok)
    #expect(head.requested == .seconds(4) && head.received == .seconds(5) && head.selecting == [1])
    #expect(head.isCredentialed && !head.isDecoded && head.length == 5)
  }

  @Test("A truncated or longer record, and one of another version, is rejected, and changed bytes do no harm")
  func hostile() throws {
    let bytes = try #require(record.encoded())
    for count in bytes.indices { #expect(CacheRecord(Array(bytes.prefix(count))) == nil) }
    #expect(CacheRecord(bytes + [0]) == nil)
    #expect(CacheRecord([2] + bytes.dropFirst()) == nil)
    #expect(CacheRecord([1] + Array(repeating: 255, count: 8) + bytes.dropFirst(9)) == nil)
    for index in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[index] ^= 1 << bit
        let bodies = CacheRecord(changed)?.responses.reduce(0) { $0 + $1.body.count } ?? 0
        #expect(bodies <= bytes.count)
      }
    }
  }

  @Test("No truncation and no changed bit of a sealed record can be opened")
  func sealed() throws {
    let cipher = try cipher()
    let place = try #require(cipher.place(.responses, 1, url))
    let sealed = try #require(cipher.sealed(Array("message".utf8), for: place))
    #expect(cipher.opened(sealed, of: place) == Array("message".utf8))
    for count in sealed.indices { #expect(cipher.opened(Array(sealed.prefix(count)), of: place) == nil) }
    for index in sealed.indices {
      for bit in 0..<8 {
        var changed = sealed
        changed[index] ^= 1 << bit
        #expect(cipher.opened(changed, of: place) == nil)
      }
    }
  }

  @Test("A record that was copied to another sender, URL, purpose, number or cache cannot be opened there")
  func replayed() throws {
    let cipher = try cipher()
    let place = try #require(cipher.place(.responses, 1, url))
    let sealed = try #require(cipher.sealed(Array("message".utf8), for: place))
    let others = [
      cipher.place(.responses, 1, ann), cipher.place(.responses, 1, CacheKey(url: [1, 2])),
      cipher.place(.responses, 1, CacheKey(url: [1, 2], partition: [3])), cipher.place(.lease, 1, url),
      cipher.place(.responses, 2, url), cipher.place(.responses, 1, url, "v"),
    ]
    for other in others {
      let other = try #require(other)
      #expect(other.name != place.name && cipher.opened(sealed, of: other) == nil)
    }
    let foreign = try self.cipher("other")
    #expect(foreign.opened(sealed, of: try #require(foreign.place(.responses, 1, url))) == nil)
    #expect(foreign.digestKey != cipher.digestKey)
  }

  @Test("Caches that disagree about whom a response is for have different names and keys")
  func partitioning() throws {
    var policies = [HTTPCache.Partitioning.byPrincipal, .common, .shared].map { HTTPCachePolicy(partitioning: $0) }
    policies += policies.map { policy in
      var policy = policy
      policy.storesPersonal = false
      return policy
    }
    let ciphers = try policies.map { try cipher("shop", $0) }
    #expect(Set(ciphers.map(\.digestKey)).count == 6)
    let places = try ciphers.map { try #require($0.place(.responses, 1, url)) }
    #expect(Set(places.map(\.name)).count == 6)
    var policy = HTTPCachePolicy(heuristicFraction: 0.5)
    policy.collapsesEqualRequests = false
    #expect(try cipher("shop", policy).digestKey == ciphers[0].digestKey)
  }

  @Test("A newer response replaces an older one with the same selection, and the oldest exceed the limits")
  func limits() {
    var record = CacheRecord(generation: 1)
    func bodies() -> [String] { record.responses.map { String(decoding: $0.body, as: UTF8.self) } }
    func adds(_ response: CacheRecord.Response, _ maximum: Int = 100) -> Bool {
      record.add(response, maximumBytes: maximum)
    }
    func removes(_ selecting: [UInt8], _ time: Duration) -> Bool { record.remove(selecting, notAfter: time) }
    #expect(adds(response("old", received: .seconds(1))))
    #expect(adds(response("new", received: .seconds(2))))
    #expect(!adds(response("late", received: .seconds(1))))
    #expect(!adds(response("same", received: .seconds(2))))
    #expect(bodies() == ["new"])
    #expect(adds(response("1234", [1]), 7) && bodies() == ["1234", "new"])
    #expect(adds(response("1", [2]), 7) && bodies() == ["1", "1234"])
    for selecting in 3..<20 { _ = adds(response("", [UInt8(selecting)]), 7) }
    #expect(record.responses.count == 8)
    #expect(!removes([19], .seconds(4)) && removes([19], .seconds(5)))
  }

  @Test("Heads of more than 256 KiB are not stored")
  func largeHeads() {
    var large = response("")
    large.head.head.headerFields[.location] = String(repeating: "a", count: 300 * 1024)
    var record = CacheRecord(generation: 1)
    _ = record.add(large, maximumBytes: 10)
    #expect(record.encoded() == nil)
  }

  @Test("A mark is read back, and every other length is rejected")
  func mark() {
    let mark = CacheMark(epoch: 1, generation: .max, time: .seconds(3), updated: .milliseconds(4))
    #expect(CacheMark(mark.bytes) == mark && mark.bytes.count == 33)
    #expect(CacheMark(mark.bytes.dropLast() + [1])?.isNew == true && CacheMark(mark.bytes.dropLast() + [2]) == nil)
    for count in 0..<33 { #expect(CacheMark(Array(mark.bytes.prefix(count))) == nil) }
    #expect(!mark.hasSameResponses(as: nil))
    #expect(!mark.hasSameResponses(as: CacheMark(epoch: 2, generation: .max, time: .zero, updated: .zero)))
    #expect(!mark.hasSameResponses(as: CacheMark(epoch: 1, generation: 1, time: .zero, updated: .zero)))
    #expect(mark.hasSameResponses(as: CacheMark(epoch: 1, generation: .max, time: .zero, updated: .zero)))
  }
}
