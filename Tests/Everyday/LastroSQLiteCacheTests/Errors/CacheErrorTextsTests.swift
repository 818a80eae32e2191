// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSQLiteCache
import LastroSupport
import LastroTesting
import TestSupport
import Testing

/// What cache and store on disk say, as `CacheErrorTexts.txt` beside this file has it.
@Suite("Error texts of the cache", .timeLimit(.minutes(5)))
struct CacheErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "CacheErrorTexts.txt")

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() async throws {
    let folder = SQLiteCacheStoreTests.Folder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
    try Data().write(to: URL(filePath: folder.path + "/file"))
    var lines: [String] = []
    for (path, bytes) in [("", 0), ("", 1), ("/file", 1), ("/a/b", 1)] {
      let error = #expect(throws: ConfigurationError.self) {
        try SQLiteCacheStore(directory: folder.path + path, maximumBytes: bytes)
      }
      lines.append("ConfigurationError | \(error.map { "\($0)" } ?? "")".replacing(folder.path, with: "FOLDER"))
    }
    for error in [
      try await Self.tooLong(), try await Self.late(), try await Self.late(collapsing: RequestCollapsing()),
    ] { lines.append("HTTPFetchError | \(error)") }
    lines.append("TransportError | \(try await Self.stuck())")
    try expectGolden(lines.map { $0 + "\n" }.joined(), keptIn: Self.file)
  }

  private static func stack(
    _ clock: ManualClock, _ cache: HTTPCache = HTTPCache(), collapsing: RequestCollapsing? = nil,
    _ answer: @escaping ScriptedTransport.Handler
  ) -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.cache = cache
    if let collapsing { configuration.collapsing = collapsing }
    return TransportNetworkStack(
      transport: ScriptedTransport(time: clock.timeSource, handler: answer), configuration: configuration)
  }

  private static func answer() -> TransferResponse { .answer(200, fields: [.cacheControl: "max-age=60"], body: "body") }

  private static func tooLong() async throws -> HTTPFetchError<any Error> {
    let stack = stack(ManualClock()) { _ throws(TransportError) in answer() }
    _ = try await stack.fetch(.test())
    var options = RequestOptions()
    options.maximumBodyBytes = 3
    return try await stack.failure(of: try RawHTTPResource.test(options: options))
  }

  /// - Parameter collapsing: in the place of a cache.
  private static func late(collapsing: RequestCollapsing? = nil) async throws -> HTTPFetchError<any Error> {
    let (clock, gate) = (ManualClock(), Watched(false))
    let stack = stack(clock, collapsing: collapsing) { _ throws(TransportError) in
      _ = await gate.wait { $0 }
      return answer()
    }
    let leader = Task { try await stack.fetch(.test()) }
    #expect(await eventually { (collapsing?.waiting ?? stack.configuration.cache?.waiting) == 1 })
    var options = RequestOptions()
    options.timeouts = try Timeouts(total: .seconds(2))
    let resource = try RawHTTPResource.test(options: options)
    let follower = Task { try await stack.failure(of: resource) }
    // The leader's own, and this one.
    try await clock.waitForLimits(count: 2)
    clock.advance(by: .seconds(3))
    let error = try await follower.value
    gate.change { $0 = true }
    _ = try await leader.value
    return error
  }

  /// A store that tells of a body, and gives none of it.
  private static func stuck() async throws -> TransportError {
    let clock = ManualClock()
    let stack = stack(clock, HTTPCache(store: StuckStore())) { _ throws(TransportError) in answer() }
    _ = try await stack.fetch(.test())
    let body = try await stack.stream(RawHTTPResource.test()).value
    let reader = Task { try await transportError { try await body.collect(upTo: 10) } }
    try await clock.waitForLimits(count: 1)
    clock.advance(by: Timeouts.standard.idle ?? .zero)
    return try await reader.value
  }
}

/// Keeps answers in memory, but for their bodies.
private final class StuckStore: HTTPCacheStore {
  private final class Stuck: ResponseBodySource {
    let isCancelled = Watched(false)
    var finalFacts: TransferFacts? { nil }

    func next() async throws(TransportError) -> Data? {
      _ = await isCancelled.wait { $0 }
      return nil
    }

    func cancel() { isCancelled.change { $0 = true } }
  }

  private let memory = MemoryCacheStore()

  func digestKey() async -> [UInt8] { await memory.digestKey() }
  func heads(for key: CacheKey) async -> [StoredHead] { await memory.heads(for: key) }
  func body(of id: StoredHead.ID) async -> ResponseBody? { ResponseBody(source: Stuck()) }
  func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? { await memory.begin(head, for: key) }
  func freshen(_ head: StoredHead) async {}
  func remove(_ id: StoredHead.ID) async -> Bool { false }
  func removeAll(ofURL url: [UInt8]) async -> Bool { false }
  func removeAll() async -> Bool { false }
}
