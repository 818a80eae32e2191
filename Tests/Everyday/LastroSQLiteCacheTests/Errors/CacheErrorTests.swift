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

/// Full texts of the errors of the cache and of its store on disk.
@Suite("Errors of the cache", .timeLimit(.minutes(15)))
struct CacheErrorTests {
  @Test("A store refuses a limit of nothing, and a folder that others may write, is a file, or cannot be made")
  func folders() throws {
    let folder = SQLiteCacheStoreTests.Folder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
    try Data().write(to: URL(filePath: folder.path + "/file"))
    let refusals = [
      ("", 0, "a limit of the cache is 0, below the minimum of 1 (give more than 0 bytes, or leave the cache out)"),
      (
        "", 1,
        """
        other users may read or write the cache's folder FOLDER (give it to this user alone: chmod 700, or name another one)
        """
      ),
      ("/file", 1, "FOLDER/file is not a folder (name one for the cache alone)"),
      (
        "/a/b", 1,
        """
        the cache's folder FOLDER/a/b cannot be created: No such file or directory (create its parent, or name a folder whose parent is writable)
        """
      ),
    ]
    for (path, bytes, text) in refusals {
      let error = #expect(throws: ConfigurationError.self) {
        try SQLiteCacheStore(directory: folder.path + path, maximumBytes: bytes)
      }
      #expect(error?.description.replacing(folder.path, with: "FOLDER") == text)
    }
  }

  @Test("A body from the cache is limited by the request's limit")
  func limits() async throws {
    #expect(
      try await Self.tooLong().description == """
        limit/body_too_large: the body from the cache exceeds 3 bytes; GET https://example.com/a (raise maximumBodyBytes, or stream the body)
        """)
  }

  @Test("A fetch that waits for the cache, or for an equal request, is limited by its total timeout")
  func timeouts() async throws {
    #expect(
      try await Self.late().description == """
        timeout/total_timeout: the total timeout of 2 s passed while waiting for the cache; GET https://example.com/a (raise Timeouts.total, or find the cause of the delay)
        """)
    #expect(
      try await Self.late(collapsing: RequestCollapsing()).description == """
        timeout/total_timeout: the total timeout of 2 s passed while waiting for an equal request; GET https://example.com/a (raise Timeouts.total, or find the cause of the delay)
        """)
  }

  @Test("A store that does not return the rest of a body fails the body, not the program")
  func stuckStore() async throws {
    #expect(
      try await Self.stuck().description == """
        response/truncated_body: the cache's store did not return the rest of the body; GET https://example.com/a (find what makes the store hang, or fetch without it: RequestOptions.cache = .noStore)
        """)
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

  /// Returns the error of a follower whose time limit passes before the leader's response arrives.
  ///
  /// - Parameter collapsing: used in place of a cache.
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
    // Two limits are pending: the leader's and the follower's.
    try await clock.waitForLimits(count: 2)
    clock.advance(by: .seconds(3))
    let error = try await follower.value
    gate.change { $0 = true }
    _ = try await leader.value
    return error
  }

  /// Returns the error of a body that its store announces and does not return.
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

/// A store that keeps responses in memory, except for their bodies.
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
