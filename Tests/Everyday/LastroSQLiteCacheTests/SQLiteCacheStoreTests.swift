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

@Suite("Cache store on disk", .timeLimit(.minutes(15)))
struct SQLiteCacheStoreTests {
  /// A folder that is removed at the end of the test.
  final class Folder {
    let path: String

    init() {
      path = NSTemporaryDirectory() + "/lastro-cache-\(UInt64.random(in: 0 ... .max))"
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var bodies: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path + "/bodies")) ?? [] }
    var database: String { path + "/cache.sqlite3" }
  }

  /// A body that is too large for the database. It is created each time, because LeakSanitizer does not see where the
  /// bytes of a global are kept.
  static var large: Data { Data(repeating: 7, count: 100_000) }
  static let small = Data("small".utf8)

  static func key(_ number: UInt8, _ partition: [UInt8] = []) -> CacheKey {
    CacheKey(url: [number], partition: partition)
  }

  static func head(_ fields: HTTPFields = [.eTag: "\"a\""], selecting: [UInt8] = []) -> StoredHead {
    StoredHead(
      head: HTTPResponse(status: .ok, headerFields: fields), requested: .seconds(1_000),
      received: .milliseconds(1_000_500), selecting: selecting, isDecoded: true)
  }

  @discardableResult
  static func add(
    _ store: some HTTPCacheStore, _ key: CacheKey, _ body: Data, _ head: StoredHead = head()
  ) async -> Bool {
    guard let writing = await store.begin(head, for: key), await writing.write(body) else { return false }
    return await writing.commit()
  }

  static func body(_ store: some HTTPCacheStore, _ key: CacheKey) async -> Data? {
    guard let head = await store.heads(for: key).first else { return nil }
    return await store.body(of: head.id)?.bytes
  }

  @Test("Stored responses are available when the folder is opened again, with the same digest key")
  func survives() async throws {
    let folder = Folder()
    let key: [UInt8]
    do {
      let store = try SQLiteCacheStore(directory: folder.path)
      key = await store.digestKey()
      #expect(await Self.add(store, Self.key(1), Self.small))
      #expect(await Self.add(store, Self.key(2), Self.large))
      #expect(await Self.add(store, Self.key(3), Data()))
    }
    #expect(folder.bodies.count == 1)
    let store = try SQLiteCacheStore(directory: folder.path)
    #expect(await store.digestKey() == key)
    for (number, body) in [(1, Self.small), (2, Self.large), (3, Data())] as [(UInt8, Data)] {
      let head = try #require(await store.heads(for: Self.key(number)).first)
      #expect(await store.body(of: head.id)?.bytes == body)
      var expected = Self.head()
      expected.id = head.id
      expected.length = Int64(body.count)
      #expect(head == expected)
    }
  }

  @Test("Responses to credentials, or with cookies, stay in memory unless configured")
  func credentialed() async throws {
    for persists in [false, true] {
      let folder = Folder()
      do {
        let store = try SQLiteCacheStore(directory: folder.path, persistsCredentialed: persists)
        await Self.add(store, Self.key(1, [9]), Self.small)
        await Self.add(store, Self.key(2), Self.small, Self.head([.setCookie: "s=1"]))
        var head = Self.head()
        head.isCredentialed = true
        await Self.add(store, Self.key(3), Self.small, head)
        #expect(await Self.body(store, Self.key(3)) == Self.small)
        // Without `persistsCredentialed`, an answer on the disk is not updated with a cookie, or with an answer to
        // credentials.
        await Self.add(store, Self.key(4), Self.small)
        for fields in [[.eTag: "\"a\"", .setCookie: "s=1"], [.eTag: "\"b\""]] as [HTTPFields] {
          var changed = try #require(await store.heads(for: Self.key(4)).first)
          changed.head.headerFields = fields
          changed.isCredentialed = fields[.setCookie] == nil
          await store.freshen(changed)
          #expect(
            await store.heads(for: Self.key(4)).first?.head.headerFields
              == (persists ? fields : Self.head().head.headerFields))
        }
        #expect(await Self.body(store, Self.key(1, [9])) == Self.small)
        #expect(await Self.body(store, Self.key(2)) == Self.small)
        let personal = try #require(await store.heads(for: Self.key(1, [9])).first)
        var fresh = personal
        fresh.received = .seconds(2_000)
        await store.freshen(fresh)
        #expect(await store.heads(for: Self.key(1, [9])).first?.received == .seconds(2_000))
      }
      let store = try SQLiteCacheStore(directory: folder.path, persistsCredentialed: persists)
      #expect(await Self.body(store, Self.key(1, [9])) == (persists ? Self.small : nil))
      for number in [2, 3] as [UInt8] {
        #expect(await Self.body(store, Self.key(number)) == (persists ? Self.small : nil))
      }
      #expect(await store.heads(for: Self.key(3)).first?.isCredentialed == (persists ? true : nil))
      // A store that opens the folder later with stricter settings does not return these answers.
      let careful = try SQLiteCacheStore(directory: folder.path)
      for number in [2, 3] as [UInt8] { #expect(await Self.body(careful, Self.key(number)) == nil) }
      await store.removeAll(ofURL: Self.key(1).url)
      #expect(await Self.body(store, Self.key(1, [9])) == nil)
    }
  }

  @Test(
    "Responses to credentials do not reach the disk if partitions do not separate them",
    arguments: [HTTPCache.Partitioning.common, .shared])
  func partitioned(partitioning: HTTPCache.Partitioning) async throws {
    let folder = Folder()
    let origin = ScriptedTransport { (request, _) throws(TransportError) in
      let control = request.head.path == "/open" ? "public, max-age=60" : "must-revalidate, max-age=60"
      return .answer(200, fields: [.cacheControl: control], body: "kept")
    }
    for (path, fields, isOnDisk) in [
      ("open", [.authorization: "ann"], true), ("token", [.authorization: "ann"], false),
      ("cookie", [.cookie: "s=ann"], false), ("anyone", [:], true),
    ] as [(String, HTTPFields, Bool)] {
      for isReopened in [false, false, true] {
        var configuration = StackConfiguration()
        // The clock does not advance, so that the store is waited for however slow the disk is.
        configuration.timeSource = ManualClock().timeSource
        configuration.cache = HTTPCache(
          store: try SQLiteCacheStore(directory: folder.path), policy: HTTPCachePolicy(partitioning: partitioning))
        let stack = TransportNetworkStack(transport: origin, configuration: configuration)
        let resource = try RawHTTPResource.test(url: "https://example.com/\(path)", fields: fields)
        if !isReopened { _ = try await stack.fetch(resource) }
        let hit = try await stack.fetch(resource).response.facts.cache == .hit
        #expect(hit == (isOnDisk || !isReopened), "\(path)")
      }
    }
  }

  @Test("Updating, replacing and removing stored responses works")
  func changes() async throws {
    let folder = Folder()
    let store = try SQLiteCacheStore(directory: folder.path)
    await Self.add(store, Self.key(1), Self.large)
    var head = try #require(await store.heads(for: Self.key(1)).first)
    head.head.headerFields[.cacheControl] = "max-age=5"
    head.received = .seconds(3_000)
    await store.freshen(head)
    #expect(await store.heads(for: Self.key(1)) == [head])
    await Self.add(store, Self.key(1), Self.small)
    #expect(await store.heads(for: Self.key(1)).count == 1)
    #expect(folder.bodies.isEmpty)
    await Self.add(store, Self.key(1), Self.large, Self.head(selecting: [1]))
    #expect(await store.heads(for: Self.key(1)).count == 2)
    await store.removeAll(ofURL: [1])
    #expect(await store.heads(for: Self.key(1)).isEmpty)
    #expect(folder.bodies.isEmpty)
    await Self.add(store, Self.key(2), Self.large)
    await store.removeAll()
    #expect(await store.heads(for: Self.key(2)).isEmpty)
    #expect(folder.bodies.isEmpty)
  }

  @Test(
    "An altered body file is never served, and is removed", arguments: ["flip", "cut", "longer", "gone", "link"])
  func poisonedFile(way: String) async throws {
    let folder = Folder()
    let store = try SQLiteCacheStore(directory: folder.path)
    await Self.add(store, Self.key(1), Self.large)
    let file = folder.path + "/bodies/" + (try #require(folder.bodies.first))
    var bytes = Self.large
    switch way {
    case "flip": bytes[50_000] = 8
    case "cut": bytes.removeLast()
    case "longer": bytes.append(7)
    default: break
    }
    try FileManager.default.removeItem(atPath: file)
    if way == "link" {
      let other = folder.path + "/other"
      try bytes.write(to: URL(filePath: other))
      try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: other)
    } else if way != "gone" {
      try bytes.write(to: URL(filePath: file))
    }
    #expect(await Self.body(store, Self.key(1)) == nil)
    #expect(await store.heads(for: Self.key(1)).isEmpty)
    #expect(folder.bodies.isEmpty)
  }

  @Test("On a full disk nothing is stored or fails, and after three errors writing pauses for a minute")
  func fullDisk() async throws {
    for step in BodyFiles.Step.allCases {
      let folder = Folder()
      let clock = ManualClock()
      let isFull = Lock(true)
      let asked = Lock(0)
      let events = Lock<[String]>([])
      let store = try SQLiteCacheStore(
        directory: folder.path, maximumBytes: 1 << 20, maximumEntryBytes: 1 << 20, persistsCredentialed: false,
        time: clock.timeSource, random: .system, onEvent: { event in events.withLock { $0.append(event) } },
        onStep: { now in
          guard now == step, isFull.withLock({ $0 }) else { return 0 }
          asked.withLock { $0 += 1 }
          return ENOSPC
        })
      let cache = HTTPCache(store: store)
      let origin = ScriptedTransport { (_, _) throws(TransportError) in
        TransferResponse(
          head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), body: ResponseBody(Self.large))
      }
      var configuration = StackConfiguration()
      configuration.cache = cache
      configuration.timeSource = clock.timeSource
      let stack = TransportNetworkStack(transport: origin, configuration: configuration)
      for _ in 0..<5 { #expect(try await stack.fetch(.test()).value == Self.large) }
      #expect(origin.requests.count == 5 && asked.withLock { $0 } == 3, "\(step)")
      #expect(events.withLock { $0.last?.hasPrefix("the cache writes nothing for 60 s, ") } == true)
      #expect(folder.bodies.isEmpty, "\(step)")
      isFull.withLock { $0 = false }
      clock.advance(by: .seconds(60))
      _ = try await stack.fetch(.test())
      #expect(try await stack.fetch(.test()).response.facts.cache == .hit)
    }
  }

  @Test("The latest twenty variants of a URL are kept with their files")
  func variants() async throws {
    let folder = Folder()
    let store = try SQLiteCacheStore(directory: folder.path)
    for selecting in 0..<30 {
      await Self.add(store, Self.key(1), Self.large, Self.head(selecting: [UInt8(selecting)]))
    }
    #expect(await store.heads(for: Self.key(1)).map { $0.selecting[0] } == (10..<30).reversed().map { UInt8($0) })
    #expect(folder.bodies.count == 20)
  }

  @Test("Over the limit the least recently used responses are evicted down to 90 %")
  func limit() async throws {
    let folder = Folder()
    let clock = ManualClock()
    let store = try SQLiteCacheStore(
      directory: folder.path, maximumBytes: 1_000_000, time: clock.timeSource)
    for number in 0..<9 {
      await Self.add(store, Self.key(UInt8(number)), Self.large)
      clock.advance(by: .seconds(1))
    }
    #expect(await Self.body(store, Self.key(0)) == Self.large)
    clock.advance(by: .seconds(1))
    await Self.add(store, Self.key(9), Self.large)
    #expect(await Self.body(store, Self.key(0)) == Self.large)
    #expect(await Self.body(store, Self.key(1)) == nil)
    #expect(await Self.body(store, Self.key(9)) == Self.large)
    #expect(folder.bodies.count == 8)
    #expect(await Self.add(store, Self.key(20), Data(count: 1_000_001)) == false)
  }

  @Test("Fields that a validation adds to a head count towards the size")
  func growingHead() async throws {
    let folder = Folder()
    let clock = ManualClock()
    let store = try SQLiteCacheStore(directory: folder.path, maximumBytes: 200_000, time: clock.timeSource)
    for number in 1...2 {
      await Self.add(store, Self.key(UInt8(number)), Data(count: 50_000))
      clock.advance(by: .seconds(1))
    }
    var head = try #require(await store.heads(for: Self.key(2)).first)
    head.head.headerFields[.contentLanguage] = String(repeating: "a", count: 120_000)
    await store.freshen(head)
    #expect(await Self.body(store, Self.key(1)) == nil)
    #expect(await Self.body(store, Self.key(2)) != nil)
    // Answers that another process removed no longer count when room is made.
    head.head.headerFields[.contentLanguage] = nil
    await store.freshen(head)
    let other = try SQLiteCacheStore(directory: folder.path, maximumBytes: 200_000, time: clock.timeSource)
    await Self.add(store, Self.key(3), Data(count: 60_000))
    await other.removeAll(ofURL: Self.key(3).url)
    for number in 4...5 { await Self.add(store, Self.key(UInt8(number)), Data(count: 50_000)) }
    for number in [2, 4, 5] as [UInt8] { #expect(await Self.body(store, Self.key(number)) != nil) }
  }

  @Test("Two stores on one folder see each other's responses, and both write")
  func twoProcesses() async throws {
    let folder = Folder()
    let stores = [try SQLiteCacheStore(directory: folder.path), try SQLiteCacheStore(directory: folder.path)]
    #expect(await stores[0].digestKey() == (await stores[1].digestKey()))
    await withTaskGroup(of: Void.self) { group in
      for (index, store) in stores.enumerated() {
        group.addTask {
          for number in 0..<40 {
            await Self.add(store, Self.key(UInt8(number * 2 + index)), number % 4 == 0 ? Self.large : Self.small)
          }
        }
      }
    }
    var kept = 0
    for number in 0..<80 {
      let bodies = (
        await Self.body(stores[0], Self.key(UInt8(number))), await Self.body(stores[1], Self.key(UInt8(number)))
      )
      #expect(bodies.0 == bodies.1)
      if bodies.0 != nil { kept += 1 }
    }
    // A write may have failed because the database was busy for too long.
    #expect(kept >= 40)
  }

  @Test("A folder that others may write to, or that is not a folder, is refused with the remedy")
  func refused() async throws {
    let folder = Folder()
    try FileManager.default.createDirectory(
      atPath: folder.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
    let error = #expect(throws: ConfigurationError.self) { try SQLiteCacheStore(directory: folder.path) }
    #expect(error?.hint?.contains("chmod 700") == true)
    // Others may not even have read access.
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
    #expect(throws: ConfigurationError.self) { try SQLiteCacheStore(directory: folder.path) }
    #expect(throws: ConfigurationError.self) { try SQLiteCacheStore(directory: folder.path + "/a/b") }
    try Data().write(to: URL(filePath: folder.path + "/file"))
    #expect(throws: ConfigurationError.self) { try SQLiteCacheStore(directory: folder.path + "/file") }
    #expect(throws: ConfigurationError.self) { try SQLiteCacheStore(directory: folder.path, maximumBytes: 0) }
    // A symbolic link may be part of the path, but the folder itself must not be a link.
    let above = Folder()
    try FileManager.default.createDirectory(atPath: above.path, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: above.path)
    let events = Lock(0)
    let linked = try SQLiteCacheStore(directory: folder.path + "/link/cache/") { _ in events.withLock { $0 += 1 } }
    #expect(await Self.add(linked, Self.key(1), Self.small))
    #expect(events.withLock { $0 } == 0)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: above.path)
    for suffix in ["", "/", "//"] {
      #expect(throws: ConfigurationError.self) { try SQLiteCacheStore(directory: folder.path + "/link" + suffix) }
    }
    let own = Folder()
    _ = try SQLiteCacheStore(directory: own.path)
    let mode = try FileManager.default.attributesOfItem(atPath: own.path)[.posixPermissions] as? Int
    #expect(mode == 0o700)
  }
}
