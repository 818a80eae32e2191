// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Lastro
import LastroFleet
import PeerSupport
import Testing

private let one = Array("one".utf8), two = Array("two".utf8)

@Suite("A folder as a store", .timeLimit(.minutes(15)))
struct FileStoreTests {
  private let directory: PeerDirectory
  private var folder: String { directory.file("fleet") }

  init() throws { directory = try PeerDirectory() }

  @Test("A value is changed only if it is the expected one, and repeating a change is a success")
  func compareAndSet() async throws {
    let (store, other) = (try FileStore(folder: folder), try FileStore(folder: folder))
    #expect(try await store.read("a").bytes == nil)
    #expect(try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await other.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await other.set("a", to: two, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await other.set("a", to: two, ifCurrently: one, expiresAfter: .seconds(60)).bytes == two)
    #expect(try await store.read("a").bytes == two)
    #expect(try await store.read("A").bytes == nil)
  }

  @Test("Values expire by the date, and an expired one counts as missing")
  func expiry() async throws {
    let early = TimeSource(now: { .zero }, sleep: { _ in }, sinceEpoch: { .seconds(1000) })
    let late = TimeSource(now: { .zero }, sleep: { _ in }, sinceEpoch: { .seconds(1060) })
    let (store, later) = (try FileStore(folder: folder, time: early), try FileStore(folder: folder, time: late))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    #expect(try await store.read("a") == StoredValue(bytes: one, time: .seconds(1000)))
    #expect(try await later.read("a") == StoredValue(bytes: nil, time: .seconds(1060)))
    #expect(try await later.set("a", to: two, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == two)
  }

  @Test("Only the owner may read folder and files, and keys stay in the folder")
  func modes() async throws {
    let store = try FileStore(folder: folder)
    for key in ["../../a", "token:b", ".", "lock"] {
      _ = try await store.set(key, to: one, ifCurrently: nil, expiresAfter: .seconds(60))
      #expect(try await store.read(key).bytes == one)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(Set(names) == ["lock", "1-%2E%2E%2F%2E%2E%2Fa", "1-token%3Ab", "1-%2E", "1-lock"])
    for name in names + ["."] {
      var status = stat()
      stat("\(folder)/\(name)", &status)
      #expect(status.st_mode & 0o777 == (name == "." ? 0o700 : 0o600), "\(name)")
    }
  }

  @Test("Of many changes at once, one succeeds")
  func atOnce() async throws {
    let stores = try (0..<8).map { _ in try FileStore(folder: folder) }
    let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<80 {
        group.addTask {
          let value = Array("\(number)".utf8)
          let after = try await stores[number % 8].set("a", to: value, ifCurrently: nil, expiresAfter: .seconds(60))
          return after.bytes == value
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(winners == 1)
  }

  @Test("A file that is not of the store, an unusable folder and invalid keys are reported")
  func failures() async throws {
    let store = try FileStore(folder: folder)
    for text in ["", "1", "1 a", "x YQ==\n", "1 !\n", "1 YQ==\n\n"] {
      try directory.write(text, to: "fleet/1-a")
      await #expect { try await store.read("a") } throws: { ($0 as? FleetStoreError)?.code == .unreadable }
    }
    for key in ["", "a b", String(repeating: "a", count: 81)] {
      await #expect { try await store.read(key) } throws: { ($0 as? FleetStoreError)?.code == .refused }
    }
    #expect(throws: ConfigurationError.self) { try FileStore(folder: "") }
    #expect(throws: ConfigurationError.self) { try FileStore(folder: directory.file("a/b")) }
  }
}
