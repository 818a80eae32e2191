// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Requests from before a change get and store nothing after it", .timeLimit(.minutes(15)))
struct ChangeTests {
  static let fields: HTTPFields = [.cacheControl: "max-age=60"]

  /// A change that invalidates the responses stored for a URL.
  enum Change: CaseIterable {
    case put, remove, removeAll

    func make(in world: CacheWorld) async throws {
      switch self {
      case .put: try await world.get(method: .put)
      case .remove: try await world.cache.remove("https://example.com/a")
      case .removeAll: await world.cache.removeAll()
      }
    }
  }

  @Test("A request after the change joins no flight from before it", arguments: Change.allCases)
  func flights(change: Change) async throws {
    let gate = Watched(false)
    let world = CacheWorld { (request, number) throws(TransportError) in
      if number == 0 { _ = await gate.wait { $0 } }
      return .answer(200, fields: Self.fields, body: "\(number)")
    }
    let early = Task { try await world.get() }
    #expect(await eventually { world.transfers == 1 })
    try await change.make(in: world)
    let late = try await world.get()
    #expect(late.body == "\(world.transfers - 1)" && late.report?.isCollapsed == false)
    gate.change { $0 = true }
    let got = try await early.value
    #expect(got.body == "0" && got.report?.isStored == false)
    #expect(try await world.get().body == late.body)
  }

  @Test("A streamed body that began before the change is not stored", arguments: Change.allCases)
  func streams(change: Change) async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      request.head.method == .put
        ? .answer(200)
        : TransferResponse(
          head: HTTPResponse(status: .ok, headerFields: Self.fields),
          body: ResponseBody(source: ChunkSource([Data("\(number)".utf8)])))
    }
    let body = try await world.stack.stream(RawHTTPResource.test()).value
    try await change.make(in: world)
    #expect(try await body.collect(upTo: 10) == Data("0".utf8))
    #expect((world.cache.store as? MemoryCacheStore)?.count == 0)
  }

  @Test("A validation that makes a response private, or public no longer, removes it from the store")
  func validation() async throws {
    for partitioning in [HTTPCache.Partitioning.shared, .byPrincipal] {
      let world = CacheWorld(policy: HTTPCachePolicy(partitioning: partitioning)) {
        (request, number) throws(TransportError) in
        let control = number == 0 ? "public, max-age=60" : "private, max-age=60"
        let fields: HTTPFields = [.cacheControl: control, .eTag: "\"v\""]
        return request.head.headerFields[.ifNoneMatch] == nil
          ? .answer(200, fields: fields, body: "\(number)") : .answer(304, fields: fields)
      }
      try await world.get()
      world.clock.advance(by: .seconds(61))
      let got = try await world.get(fields: [.authorization: "ann"])
      #expect(got.body == "0" && got.outcome == .revalidated && got.report?.isStored == false)
      #expect((world.cache.store as? MemoryCacheStore)?.count == 0)
      #expect(try await world.get().body == "2")
    }
  }
}

@Suite(
  "A body is served in the requested coding, even if the server omits it in Vary",
  .timeLimit(.minutes(15)))
struct CodingTests {
  static let fields: HTTPFields = [.cacheControl: "max-age=60", .contentEncoding: "gzip"]

  /// Responds without decoding if the request names a coding or a range, as the engine does.
  static func answer(_ request: TransferRequest) -> TransferResponse {
    let isRaw = request.head.headerFields[.acceptEncoding] != nil || request.head.headerFields[.range] != nil
    return .answer(200, fields: fields, body: isRaw ? "raw" : "plain")
  }

  @Test(
    "Successive requests get the requested coding",
    arguments: [
      [("plain", [:]), ("raw", [.acceptEncoding: "gzip"]), ("raw", [.acceptEncoding: "gzip"]), ("plain", [:])],
      [("raw", [.range: "bytes=0-"]), ("plain", [:]), ("raw", [.range: "lines=0-1"])],
      [("plain", [:]), ("raw", [.range: "bytes="])],
    ] as [[(String, HTTPFields)]])
  func inTurn(requests: [(String, HTTPFields)]) async throws {
    let world = CacheWorld { (request, _) throws(TransportError) in Self.answer(request) }
    for (body, fields) in requests { #expect(try await world.get(fields: fields).body == body) }
    #expect(world.transfers < requests.count || requests.count < 4)
  }

  @Test("Concurrent requests get the requested coding")
  func atOnce() async throws {
    let gate = Watched(false)
    let world = CacheWorld { (request, _) throws(TransportError) in
      _ = await gate.wait { $0 }
      return Self.answer(request)
    }
    async let plain = world.get()
    async let raw = world.get(fields: [.acceptEncoding: "gzip"])
    #expect(await eventually { world.transfers == 2 })
    gate.change { $0 = true }
    #expect(try await plain.body == "plain")
    #expect(try await raw.body == "raw")
  }
}
